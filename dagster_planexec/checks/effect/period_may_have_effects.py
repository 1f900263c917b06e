"""Nothing irreversible happens by itself for a period long past: not before `effects_from`, not in a backfill."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_shape, effect_scope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditLines
from dagster_planexec.world.subject import Subject

NAME = "period_may_have_effects"


def period_may_have_effects(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Before `effects_from`, and in a backfill, no line may be credited without a person."""
    _, text = effect_scope(scope.task)
    first = Period.parse(text, scope.task.granularity)
    clause = scope.stated_by_task("effects_from")
    if scope.period < first:
        why, how = f"{scope.period} is before {first}, from which effects count", "wait for a person"
    elif scope.backfill is not None:
        # Whoever selects a year of partitions wants reports; a year of payments is not asked for by the same click.
        why, how = (
            f"{scope.period} is part of backfill {scope.backfill}",
            "wait; a run of that period alone issues them",
        )
        clause = Source(Subject("backfill", scope.backfill), "run tag")
    else:
        reason = f"effects count from {first}, {scope.period} is not before it, and it was asked for by itself"
        return (NotApplicable(NAME, phase, reason, clause),)

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        count = seen["count"]
        if count == 0:
            return Finding("passed", 0, 0, "there is nothing to credit")
        words = f"{why}: {count} credit lines {how}"
        return Finding("failed", 0, count, words, "APPROVAL_REQUIRED")

    probe = CreditLines(scope.args.source, credit_shape(scope.task))
    return (Check(NAME, phase, probe, Stated(0, clause), judge, absent_code="TABLE_GONE"),)
