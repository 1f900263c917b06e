"""No more credit lines than may be issued without a person."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.effect.credits.judged_credits import credits_to_issue
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_lines_threshold_of
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "within_approval_threshold"


def within_approval_threshold(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The exact number of lines that would be issued now against the task's threshold, or the plan's lower claim.

    What was issued before is not counted again: an interrupted batch goes on. The cap counts everything.
    """
    threshold, source = credit_lines_threshold_of(scope.task), scope.stated_by_task("credit_lines_threshold")
    claimed = scope.claimed_count(NAME, "threshold")
    if claimed is not None and claimed < threshold:
        threshold, source = claimed, scope.stated_by_claim(NAME, "threshold")

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        count = int(str(seen["count"]))
        if count <= threshold:
            return Finding("passed", threshold, count, f"{count} credit lines, at most {threshold} without a person")
        text = f"{count:,} credit lines wait for a person: more than {threshold} are not issued without one"
        return Finding("failed", threshold, count, text, "APPROVAL_REQUIRED")

    return (Check(NAME, phase, credits_to_issue(scope), Stated(threshold, source), judge, absent_code="TABLE_GONE"),)
