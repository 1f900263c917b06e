"""Two steps have one id."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted


def duplicate_id(proposal: Proposal) -> Iterator[StaticFinding]:
    """Each step has an id of its own: references, dependencies and the run's ops are named by it."""
    for view in proposal.steps:
        first = proposal.by_id[view.id]
        if first is not view:
            yield StaticFinding(
                "duplicate-id",
                view.id,
                "id",
                "an id that no other step has",
                f"{quoted(view.id)} at steps {first.index + 1} and {view.index + 1}",
                "give the later step another id and correct what refers to it",
            )
