"""A plan beside the tools it may use: names, arguments and graph, read once so that every rule is a short loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from dagster_planexec.checks.static.arg_shape import ANY, Segment, Shape, sample, shape_at, shape_of_model
from dagster_planexec.contract.tool import ToolContract, ToolRegistry
from dagster_planexec.plan.graph import Ancestry, graph_of
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.reference import Reference, as_reference

Segments = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Writing:
    """How a plan was written before it was imported, so that findings speak of what its author knows."""

    ids: Mapping[str, str] = field(default_factory=dict)
    """Ids of steps to the ids as they were written, where they differ."""
    dependencies: str = "depends_on"
    """What its author calls the list of steps that a step waits for."""
    is_complete: bool = False
    """Whether that list has to name every step that a step refers to; else it is enough that it leads there."""


OURS = Writing()
"""Plans of this package are as they were written."""


@dataclass(frozen=True, slots=True)
class Use:
    """A reference in a step's arguments, and what is taken there."""

    reference: Reference
    argument: str
    """The top-level argument it is part of."""
    taker: Shape | None
    """None if the tool has no such argument, or is unknown."""


@dataclass(frozen=True, slots=True)
class Text:
    """A literal string in a step's arguments, and what is taken there."""

    value: str
    path: str
    argument: str
    """The top-level argument it is part of."""
    taker: Shape | None


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """One reason why the tool would not take the arguments."""

    type: str
    """pydantic's name of it: `missing`, `extra_forbidden`, `string_type`, ..."""
    argument: str | None
    """The top-level argument it is about; None if it is about them all."""
    path: str
    message: str
    seen: Any


@dataclass(frozen=True, slots=True)
class StepView:
    """A step with its contract and what stands in its arguments."""

    index: int
    name: str
    """The step's id as its author wrote it."""
    step: Step
    contract: ToolContract | None
    uses: tuple[Use, ...]
    texts: tuple[Text, ...]
    errors: tuple[ArgumentError, ...]

    @property
    def id(self) -> str:
        """The step's id."""
        return self.step.id

    @property
    def is_irreversible(self) -> bool:
        """Whether its tool cannot be undone."""
        return self.contract is not None and self.contract.effect == "irreversible"


@dataclass(frozen=True, slots=True)
class Named:
    """A place where a step names a step."""

    field: str
    """`args.sources[0]` or `depends_on[1]`."""
    id: str
    argument: str | None
    """The top-level argument; None of a dependency."""
    shown: str
    """As it stands there."""


class Structure:
    """What can be asked of a plan without a task: which tools, which arguments, who needs whom."""

    def __init__(self, plan: Plan, registry: ToolRegistry, *, writing: Writing = OURS) -> None:
        self.plan = plan
        self.registry = registry
        self.writing = writing
        self.steps = tuple(_view(at, step, self.name_of(step.id), registry) for at, step in enumerate(plan.steps))
        self.by_id: dict[str, StepView] = {}
        """The first step of each id."""
        for view in self.steps:
            self.by_id.setdefault(view.id, view)
        self.last = {view.id: view for view in self.steps}
        """The last step of each id."""

    @cached_property
    def allowed_tools(self) -> tuple[str, ...]:
        """The tools a step may use."""
        return tuple(self.registry)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The ids of the steps as they were written, each once."""
        return tuple(view.name for view in self.by_id.values())

    def name_of(self, step_id: str) -> str:
        """An id, of a step that exists or not, as it was written."""
        return self.writing.ids.get(step_id, step_id)

    def shown(self, reference: Reference) -> str:
        """A reference, with the id as it was written."""
        return f"{self.name_of(reference.step)}.{reference.field}"

    def named_by(self, view: StepView) -> list[Named]:
        """Every place where a step names a step, references first."""
        named = [
            Named(f"args.{use.reference.path}", use.reference.step, use.argument, self.shown(use.reference))
            for use in view.uses
        ]
        words = self.writing.dependencies
        for at, name in enumerate(view.step.depends_on):
            named.append(Named(f"{words}[{at}]", name, None, self.name_of(name)))
        return named

    @cached_property
    def graph(self) -> dict[str, tuple[str, ...]]:
        """What each step needs, by dependency or reference; itself too if it says so."""
        # The same as `plan.graph.edges`, from references that were read once already.
        return graph_of((v.id, (*v.step.depends_on, *(use.reference.step for use in v.uses))) for v in self.steps)

    @cached_property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """What each step needs, by dependency or reference, but for itself."""
        return {name: tuple(other for other in found if other != name) for name, found in self.graph.items()}

    @cached_property
    def ancestry(self) -> Ancestry:
        """Who precedes whom by dependencies and references."""
        return Ancestry(self.needs)

    @cached_property
    def declared_ancestry(self) -> Ancestry:
        """Who precedes whom by dependencies alone."""
        return Ancestry(graph_of((view.id, view.step.depends_on) for view in self.steps))

    def is_declared(self, view: StepView, needed: str) -> bool:
        """Whether a step's dependencies say that it waits for another."""
        if self.writing.is_complete:
            return needed in view.step.depends_on
        return needed == view.id or self.declared_ancestry.precedes(needed, view.id)

    def given(self, reference: Reference) -> Shape | None:
        """What the referenced result field gives; None if step, tool or field is unknown."""
        source = self.by_id.get(reference.step)
        if source is None or source.contract is None:
            return None
        return shape_at(shape_of_model(source.contract.result), tuple(reference.field.split(".")))


def _view(index: int, step: Step, name: str, registry: ToolRegistry) -> StepView:
    tool = registry.get(step.tool)
    contract = tool.contract if tool is not None else None
    shape = shape_of_model(contract.args) if contract is not None else None
    uses: list[Use] = []
    texts: list[Text] = []
    places: dict[Segments, Any] = {}

    def read(value: Any, segments: Segments, path: str) -> Any:  # noqa: ANN401 - any JSON
        """The value with samples in place of references; notes what it meets. The model bounds the depth."""
        if isinstance(value, str):
            texts.append(Text(value, path, str(segments[0]), shape_at(shape, segments) if shape else None))
            return value
        if isinstance(value, dict):
            found = as_reference(value, path) if segments else None
            if found is None:
                return {k: read(v, (*segments, k), f"{path}.{k}" if path else k) for k, v in value.items()}
            taker = shape_at(shape, segments) if shape else None
            uses.append(Use(found, str(segments[0]), taker))
            places[segments] = value
            return sample(taker or ANY)
        if isinstance(value, list | tuple):
            return [read(child, (*segments, at), f"{path}[{at}]") for at, child in enumerate(value)]
        return value

    filled = read(step.args, (), "")
    errors = _errors(contract, filled, places) if contract is not None else ()
    return StepView(index, name, step, contract, tuple(uses), tuple(texts), errors)


def _errors(
    contract: ToolContract, args: Mapping[str, Any], places: Mapping[Segments, Any]
) -> tuple[ArgumentError, ...]:
    try:
        contract.args.model_validate(args)
    except ValidationError as error:
        out = []
        for item in error.errors(include_url=False, include_context=False):
            where, seen = item["loc"], item.get("input")
            if item["type"] == "extra_forbidden":
                seen = places.get(where, seen)
            elif (places and not where) or any(_leads_to(place, where) for place in places):
                continue  # about the sample that stands for a reference; ref-type-mismatch judges the reference
            argument = str(where[0]) if where else None
            out.append(ArgumentError(item["type"], argument, _path(where), item["msg"], seen))
        return tuple(out)
    except Exception as error:  # noqa: BLE001 - a tool's own validator may raise anything on hostile arguments
        text = f"the arguments cannot be validated: {type(error).__name__}: {str(error)[:100]}"
        return (ArgumentError("validator", None, "", text, None),)
    return ()


def _leads_to(place: Segments, where: tuple[Segment, ...]) -> bool:
    """Whether an error's location lies at or below a place; pydantic puts names of union members in between."""
    rest = iter(where)
    return all(segment in rest for segment in place)


def _path(where: tuple[Segment, ...]) -> str:
    out = ""
    for part in where[:12]:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out
