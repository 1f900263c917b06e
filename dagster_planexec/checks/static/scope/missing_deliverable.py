"""Something the task makes is not made."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.contract.task import Deliverable


def missing_deliverable(proposal: Proposal) -> Iterator[StaticFinding]:
    """A plan has a step that finishes each of the task's deliverables, unless it ends at a checkpoint."""
    if proposal.task.checkpoints and any(view.step.checkpoint for view in proposal.steps):
        return  # the plan after it, or the one after that, has them; the last one may not end so
    for made in proposal.task.deliverables:
        if made.tools and not _is_made(proposal, made):
            final = made.tools[-1]
            about = f" of input {made.input}" if made.input is not None else ""
            yield StaticFinding(
                "missing-deliverable",
                None,
                "steps",
                f"a step of {final}{about}, which makes {made.name}",
                "none",
                f"add a step of {final}{about}",
            )


def _is_made(proposal: Proposal, made: Deliverable) -> bool:
    makers = proposal.makers(made.tools[-1:])
    contract = next((i.contract for i in proposal.task.inputs if i.name == made.input), None)
    if contract is None:
        return bool(makers)
    # A maker whose file contract cannot be told may be the one; another contract's load is not.
    return any(not (names := proposal.file_contracts(view)) or contract in names for view in makers)
