"""A later plan of an attempt that can do more than the plans before it could."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, quoted


def revision_gains_tool(proposal: Proposal) -> Iterator[StaticFinding]:
    """A revision uses no tool that no plan of the attempt used before; at checkpoints it may, but never to pay."""
    if not proposal.earlier:
        return
    used = dict.fromkeys(step.tool for plan in proposal.earlier for step in plan.steps)
    for view in proposal.steps:
        # A tool that the task does not allow is unknown-tool's finding.
        if view.step.tool in used or view.step.tool not in proposal.allowed_tools:
            continue
        if view.is_irreversible or not proposal.task.checkpoints:
            yield StaticFinding(
                "revision-gains-tool",
                view.id,
                "tool",
                f"one that an earlier plan of this attempt used: {listed(used)}",
                quoted(view.step.tool),
                "do it with these, or have the period planned anew by a person (replan)",
            )
