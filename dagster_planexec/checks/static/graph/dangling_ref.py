"""A step that is named but does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.structure import Structure


def dangling_ref(structure: Structure) -> Iterator[StaticFinding]:
    """References and depends_on name steps of this plan."""
    for view in structure.steps:
        for named in structure.named_by(view):
            if named.id in structure.by_id:
                continue
            name = structure.name_of(named.id)
            near = nearest(name, structure.names)
            yield StaticFinding(
                "dangling-ref",
                view.name,
                named.field,
                f"a step of the plan: {listed(structure.names)}",
                quoted(name),
                f"write {near!r}" if near else "name a step that exists, or add the step",
                arg=named.argument,
                ref=name,
            )
