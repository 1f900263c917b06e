"""The credits of a result are sound line by line and together at most the cap."""

from __future__ import annotations

from decimal import Decimal

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.effect.credits.judged_credits import credits_to_issue
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_cap_of, currency_of, lower_cap
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.subject import Subject

NAME = "within_cap"

_UNSOUND = (
    ("keyless", "NULL_KEY", "have no key"),
    ("repeated", "DUPLICATE_KEY", "repeat the key of another"),
    ("unpriced", "IDENTITY_BROKEN", "have no amount"),
    ("inexact", "SCALE_OVERFLOW", "have more decimals than the currency"),
)


def within_cap(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Everything that the period would be credited in all, what was issued before included, against the cap.

    The cap is the task's, or the plan's argument or claim where that is lower.
    """
    currency = currency_of(scope.task)
    cap = lower_cap(scope.task, scope.args.cap)
    lowered = cap < credit_cap_of(scope.task)
    source = Source(Subject("plan", scope.step), "cap") if lowered else scope.stated_by_task("credit_cap")
    claimed = scope.claimed_decimal(NAME, "cap")
    if claimed is not None and claimed < cap:
        cap, source = claimed, scope.stated_by_claim(NAME, "cap")

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        for fact, code, words in _UNSOUND:
            if seen[fact]:
                text = f"{seen[fact]} lines to be credited {words}, so their sum means nothing"
                return Finding("failed", cap, f"{seen[fact]} lines {words}", text, code)
        amount, issued = Decimal(str(seen["amount"])), Decimal(str(seen["issued_amount"]))
        before = f", {issued:,} {currency} issued before" if issued else ""
        said = f"{seen['count']} credits of {amount:,} {currency}{before}, cap {cap:,} {currency}"
        if not seen["count"]:
            return Finding("passed", cap, amount, f"nothing is left to credit{before}, cap {cap:,} {currency}")
        amount += issued
        if amount <= cap:
            return Finding("passed", cap, amount, said)
        return Finding("failed", cap, amount, f"cap exceeded: {said}", "CAP_EXCEEDED")

    return (Check(NAME, phase, credits_to_issue(scope), Stated(cap, source), judge, absent_code="TABLE_GONE"),)
