"""Steps that wait for one another for ever."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, shown_name
from dagster_planexec.checks.static.structure import Structure
from dagster_planexec.plan.graph import cycles

_SHOWN = 12


def cycle(structure: Structure) -> Iterator[StaticFinding]:
    """The steps can be put in an order in which each follows what it needs; none needs itself."""
    for path in cycles(structure.graph):
        names = [shown_name(structure.name_of(name)) for name in path]
        middle = [*names[:_SHOWN], "..."] if len(names) > _SHOWN else names
        what = "one of these dependencies, e.g." if len(names) > 1 else "the dependency of"
        yield StaticFinding(
            "cycle",
            structure.name_of(path[0]),
            structure.writing.dependencies,
            "an order of the steps",
            f"{' needs '.join([*middle, names[0]])} ({len(names)} step{'s' if len(names) > 1 else ''})",
            f"remove {what} {names[0]} on {names[1 % len(names)]}",
        )
