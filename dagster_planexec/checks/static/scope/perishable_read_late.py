"""Something that may be deleted by others is read later than it could be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed

_SHOWN = 5


def perishable_read_late(proposal: Proposal) -> Iterator[StaticFinding]:
    """What others may delete is read first: not behind steps whose results the read does not need."""
    slow: list[str] = []
    for view in sorted(proposal.by_id.values(), key=lambda view: proposal.position[view.id]):
        if view.contract is None:
            continue
        if not view.contract.perishable:
            if view.contract.effect != "read":
                slow.append(view.id)
            continue
        behind = (other for other in slow if not proposal.data_ancestry.precedes(other, view.id))
        waits_for = list(islice(behind, _SHOWN))
        if waits_for:
            yield StaticFinding(
                "perishable-read-late",
                view.id,
                "depends_on",
                "to be read before anything it does not need",
                f"behind {listed(waits_for)}{' and maybe more' if len(waits_for) == _SHOWN else ''}",
                "list it first, and depend only on what it uses",
                "warning",
            )
