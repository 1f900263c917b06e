"""Steps that wait for one another for ever."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, shown_name
from dagster_planexec.plan.graph import cycles

_SHOWN = 12


def cycle(proposal: Proposal) -> Iterator[StaticFinding]:
    """The steps can be put in an order in which each follows what it needs."""
    for path in cycles(proposal.needs):
        names = [shown_name(name) for name in path]
        middle = [*names[:_SHOWN], "..."] if len(names) > _SHOWN else names
        yield StaticFinding(
            "cycle",
            path[0],
            "depends_on",
            "an order of the steps",
            f"{' needs '.join([*middle, names[0]])} ({len(names)} steps)",
            f"remove one of these dependencies, e.g. {names[0]} on {names[1]}",
        )
