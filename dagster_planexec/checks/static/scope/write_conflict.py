"""Two steps write one thing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dagster_planexec.checks.static.proposal import Proposal, Target
from dagster_planexec.checks.static.rule import StaticFinding, quoted, shown_name
from dagster_planexec.checks.static.structure import StepView


def write_conflict(proposal: Proposal) -> Iterator[StaticFinding]:
    """One step creates a target and others write it in order, by reference; what cannot be undone has one step."""
    spent: dict[str, StepView] = {}
    for view in proposal.steps:
        if view.is_irreversible:
            first = spent.setdefault(view.step.tool, view)
            if first is not view:
                yield StaticFinding(
                    "write-conflict",
                    view.id,
                    "tool",
                    f"one step of {view.step.tool}, which cannot be undone",
                    f"{quoted(first.id)} uses it already",
                    "put everything into one step",
                )
    for (kind, name), found in proposal.writers.items():
        if len(found) > 1:
            yield from _conflicts(proposal, kind, name, found)


def _conflicts(
    proposal: Proposal, kind: str, name: str, found: list[tuple[StepView, Target]]
) -> Iterator[StaticFinding]:
    creators = [view for view, target in found if not target.by_reference]
    for other in creators[1:]:
        yield StaticFinding(
            "write-conflict",
            other.id,
            _field(other),
            f"a {kind} that no other step creates",
            f"{quoted(name)}, which {quoted(creators[0].id)} creates",
            f"refer to the result of {shown_name(creators[0].id)}, or write another target",
        )
    # In run order it is enough that neighbours are ordered: then all are.
    fillers = sorted((v for v, t in found if t.by_reference), key=lambda view: proposal.position[view.id])
    for first, second in pairwise(fillers):
        if not proposal.ancestry.precedes(first.id, second.id):
            yield StaticFinding(
                "write-conflict",
                second.id,
                "depends_on",
                f"an order of the steps that write {kind} {quoted(name)}",
                f"{quoted(first.id)} writes it too, before or after",
                f"add {shown_name(first.id)} to depends_on of {shown_name(second.id)}, or load once",
            )


def _field(view: StepView) -> str | None:
    return f"args.{view.contract.writes}" if view.contract is not None else None
