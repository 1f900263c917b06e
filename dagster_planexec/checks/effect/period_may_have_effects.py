"""Nothing irreversible happens by itself for a period long past, or on a bill that its manifest calls an estimate."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.effect.credits.judged_credits import credits_to_issue
from dagster_planexec.checks.manifest.final import bill_is_final
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import effect_scope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.subject import Subject

NAME = "period_may_have_effects"


def period_may_have_effects(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Before `effects_from` nothing may be credited by anybody; in a backfill, nothing without a person.

    Where the vendor's manifest says whether the bill is final, nothing is credited before it does.

    The harness does not even begin a step that cannot be undone before `effects_from`; this is the second lock.
    """
    _, text = effect_scope(scope.task)
    first = Period.parse(text, scope.task.granularity)
    clause = scope.stated_by_task("effects_from")
    if scope.period < first:
        code, why, how = (
            "EFFECTS_NOT_DUE",
            f"{scope.period} is before {first}, from which effects count",
            "stay unissued",
        )
    elif scope.backfill is not None:
        # Whoever selects a year of partitions wants reports; a year of payments is not asked for by the same click.
        code, why, how = (
            "APPROVAL_REQUIRED",
            f"{scope.period} is part of backfill {scope.backfill}",
            "wait; a run of that period alone issues them",
        )
        clause = Source(Subject("backfill", scope.backfill), "run tag")
    else:
        reason = f"effects count from {first}, {scope.period} is not before it, and it was asked for by itself"
        return (NotApplicable(NAME, phase, reason, clause), *bill_is_final(NAME, scope, phase))

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        count = seen["count"]
        if count == 0:
            return Finding("passed", 0, 0, "nothing is left to credit")
        words = f"{why}: {count} credit lines {how}"
        return Finding("failed", 0, count, words, code)

    due = Check(NAME, phase, credits_to_issue(scope), Stated(0, clause), judge, absent_code="TABLE_GONE")
    return (due, *bill_is_final(NAME, scope, phase))
