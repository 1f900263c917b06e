"""Something follows what cannot be undone."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, shown_name


def irreversible_not_last(proposal: Proposal) -> Iterator[StaticFinding]:
    """What cannot be undone comes last: no other step depends on it or runs after it."""
    final = [view for view in proposal.steps if view.is_irreversible]
    for last in final:
        for view in proposal.steps:
            if view.is_irreversible:
                continue
            depends = proposal.ancestry.precedes(last.id, view.id)
            if depends or proposal.position[view.id] > proposal.position[last.id]:
                yield StaticFinding(
                    "irreversible-not-last",
                    view.id,
                    "depends_on" if depends else None,
                    f"before {shown_name(last.id)}, which cannot be undone",
                    f"{'depends on it' if depends else 'runs after it'}",
                    f"list {shown_name(view.id)} before {shown_name(last.id)}"
                    + (" and remove the dependency" if depends else ""),
                )
