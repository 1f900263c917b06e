"""A step whose result nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted


def unused_step(proposal: Proposal) -> Iterator[StaticFinding]:
    """What a step reads is used by another step, shown to the planner at a checkpoint, or itself a deliverable."""
    finals = {made.tools[-1] for made in proposal.task.deliverables if made.tools}
    for view in proposal.steps:
        reads = view.contract is not None and view.contract.effect == "read"
        if reads and not (view.step.checkpoint or view.step.tool in finals or view.id in proposal.used):
            yield StaticFinding(
                "unused-step",
                view.id,
                None,
                "a step that refers to its result",
                f"none refers to {quoted(view.id)}",
                "remove the step, or use what it reads",
                "warning",
            )
