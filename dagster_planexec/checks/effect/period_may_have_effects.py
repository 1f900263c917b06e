"""Nothing irreversible happens for a period before the one from which the task's effects count."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_shape, effect_scope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditLines

NAME = "period_may_have_effects"


def period_may_have_effects(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Before `effects_from` no line may be credited without a person; a later period is not limited by this."""
    _, text = effect_scope(scope.task)
    first = Period.parse(text, scope.task.granularity)
    clause = scope.stated_by_task("effects_from")
    if scope.period >= first:
        reason = f"effects count from {first}, and {scope.period} is not before it"
        return (NotApplicable(NAME, phase, reason, clause),)

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        count = seen["count"]
        if count == 0:
            return Finding("passed", 0, 0, "there is nothing to credit")
        words = f"{scope.period} is before {first}, from which effects count: expected no credit line, saw {count}"
        return Finding("failed", 0, count, words, "APPROVAL_REQUIRED")

    probe = CreditLines(scope.args.source, credit_shape(scope.task))
    return (Check(NAME, phase, probe, Stated(0, clause), judge, absent_code="TABLE_GONE"),)
