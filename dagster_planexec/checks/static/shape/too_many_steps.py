"""A plan longer than the task allows."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding


def too_many_steps(proposal: Proposal) -> Iterator[StaticFinding]:
    """A plan has at least one step and no more than the task allows."""
    count, limit = len(proposal.steps), proposal.task.limits.max_steps
    if count > limit:
        yield StaticFinding(
            "too-many-steps",
            None,
            "steps",
            f"at most {limit} (max_steps of task {proposal.task.name})",
            f"{count}",
            "write the shortest plan that makes the deliverables",
        )
    if count == 0:
        yield StaticFinding(
            "too-many-steps", None, "steps", "at least one", "0", "write the steps that make the deliverables"
        )
