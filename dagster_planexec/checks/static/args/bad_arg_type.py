"""An argument that is not what the tool takes."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import Structure


def bad_arg_type(structure: Structure) -> Iterator[StaticFinding]:
    """Every argument is of the type that the tool's arguments declare; a reference counts as what it stands for."""
    for view in structure.steps:
        for error in view.errors:
            if error.type in {"missing", "extra_forbidden"}:
                continue
            yield StaticFinding(
                "bad-arg-type",
                view.name,
                f"args.{error.path}" if error.path else "args",
                error.message,
                quoted(error.seen),
                _hint(error.seen),
                arg=error.argument,
            )


def _hint(seen: object) -> str:
    if isinstance(seen, dict) and "ref" in seen:
        return 'a reference is exactly {"ref": "step.field"}'
    if isinstance(seen, dict) and set(seen) == {"param"}:
        return "parameters are filled in before a plan is checked; write the value"
    return "write a value of that type"
