"""An id that cannot name an op."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import Structure
from dagster_planexec.plan.naming import LONGEST, problem_of, suggestion


def bad_id(structure: Structure) -> Iterator[StaticFinding]:
    """A step's id names an op: letters, digits and underscores only, and no word that Python or Dagster reserves."""
    for view in structure.steps:
        problem = problem_of(view.id)
        if problem is not None:
            yield StaticFinding(
                "bad-id",
                view.name,
                "id",
                f"1 to {LONGEST} of A-Z a-z 0-9 _, not reserved",
                f"{quoted(view.name)} {problem}",
                f"write {suggestion(view.id)!r}",
            )
