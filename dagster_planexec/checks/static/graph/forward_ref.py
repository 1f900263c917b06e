"""A step is needed before it is listed."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, quoted, shown_name
from dagster_planexec.checks.static.structure import Structure


def forward_ref(structure: Structure) -> Iterator[StaticFinding]:
    """A step refers to results of steps listed before it, and depends on no other."""
    for view in structure.steps:
        for named in structure.named_by(view):
            # Of steps that share an id the last counts: only then are they all made.
            source = structure.last.get(named.id)
            if source is not None and source.index > view.index:
                yield StaticFinding(
                    "forward-ref",
                    view.name,
                    named.field,
                    f"a step listed before step {view.index + 1}",
                    f"{quoted(named.shown)}, made by step {source.index + 1}",
                    f"list {shown_name(source.name)} before {shown_name(view.name)}",
                    arg=named.argument,
                    ref=source.name,
                )
