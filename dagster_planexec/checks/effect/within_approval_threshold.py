"""No more credit lines than may be issued without a person."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_lines_threshold_of, credit_shape
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.credits import CreditLines

NAME = "within_approval_threshold"


def within_approval_threshold(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The exact number of credit lines against the task's threshold, or the plan's claim where that is lower."""
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

    probe = CreditLines(scope.args.source, credit_shape(scope.task))
    return (Check(NAME, phase, probe, Stated(threshold, source), judge, absent_code="TABLE_GONE"),)
