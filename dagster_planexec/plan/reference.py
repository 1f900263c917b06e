"""References between steps: `{"ref": "fetch_export.landed"}` stands for a field of an earlier step's result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagster_planexec.plan.model import Step, walk


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of another step's result."""

    step: str
    field: str
    path: str
    """Where in the arguments it stands, e.g. `sources[0]`."""

    def __str__(self) -> str:
        """`step.field`, as the plan writes it."""
        return f"{self.step}.{self.field}"


def as_reference(value: Any, path: str = "") -> Reference | None:  # noqa: ANN401 - plan arguments are any JSON
    """The reference that a value is, or None if it is anything else. `{"ref": "a"}` refers to field '' of a."""
    if isinstance(value, Mapping) and set(value) == {"ref"} and isinstance(value["ref"], str):
        step, _, field = value["ref"].partition(".")
        return Reference(step, field, path)
    return None


def references(step: Step) -> Iterator[Reference]:
    """Every reference anywhere in a step's arguments, in the order of the text.

    The arguments as a whole are none, whatever they are called: `{"ref": "main"}` gives an argument named `ref`.
    """
    for name, argument in step.args.items():
        for path, value in walk(argument, name):
            found = as_reference(value, path)
            if found is not None:
                yield found


def resolve(args: Mapping[str, Any], look_up: Callable[[Reference], Any]) -> dict[str, Any]:
    """The arguments of a step with every reference inside them replaced by what `look_up` answers."""
    return {name: _resolved(value, look_up) for name, value in args.items()}


def _resolved(value: Any, look_up: Callable[[Reference], Any]) -> Any:  # noqa: ANN401 - plan arguments are any JSON
    found = as_reference(value)
    if found is not None:
        return look_up(found)
    if isinstance(value, Mapping):
        return {key: _resolved(child, look_up) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_resolved(child, look_up) for child in value]
    return value
