"""A plan that could cost more than the task has for it."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding


def budget_exceeded(proposal: Proposal) -> Iterator[StaticFinding]:
    """The calls of a plan, each for as long as its contract lets it, end within the task's `run_deadline_s`."""
    # One after the other, as the default executor runs them, and each once: retries have a budget of their own.
    limit = proposal.task.limits.run_deadline_s
    worst = 0.0
    for view in proposal.steps:
        worst += view.contract.deadline_s if view.contract is not None else 0.0
        if worst > limit:
            whole = sum(v.contract.deadline_s for v in proposal.steps if v.contract is not None)
            yield StaticFinding(
                "budget-exceeded",
                view.name,
                None,
                f"at most {limit:g} s for all steps (run_deadline_s of task {proposal.task.name})",
                f"{whole:g} s if every call takes until its deadline; the limit is passed here",
                "do the same with fewer calls, or have the task's run_deadline_s raised",
            )
            return
