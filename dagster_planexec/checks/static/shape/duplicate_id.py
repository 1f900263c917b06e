"""Two steps have one id."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import Structure


def duplicate_id(structure: Structure) -> Iterator[StaticFinding]:
    """Each step has an id of its own: references, dependencies and the run's ops are named by it."""
    for view in structure.steps:
        first = structure.by_id[view.id]
        if first is not view:
            yield StaticFinding(
                "duplicate-id",
                view.name,
                "id",
                "an id that no other step has",
                f"{quoted(view.name)} at steps {first.index + 1} and {view.index + 1}",
                "give the later step another id and correct what refers to it",
            )
