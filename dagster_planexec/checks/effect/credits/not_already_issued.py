"""What was credited for the period before is still due, key by key and to the cent."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.effect.credits.judged_credits import credits_to_issue
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import currency_of
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "not_already_issued"


def not_already_issued(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """A known key with its amount is fine; with another amount, or no longer due, people decide.

    Released, what is missing is issued on top; what was issued beyond what is due cannot be taken back here, and stays.
    """
    currency = currency_of(scope.task)

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        raised, lowered, not_due = (int(str(seen[fact])) for fact in ("raised", "lowered", "not_due"))
        differing = f"{raised + lowered} with another amount, {not_due} no longer due"
        if not raised and not lowered and not not_due:
            text = f"{seen['same']} lines are issued already, {seen['count']} are not"
            return Finding("passed", 0, 0, text)
        text = (
            f"of the credits issued for {scope.period}, {differing}: the result asks for {seen['delta']:+,} {currency}"
            f" against them; first {seen['example']}"
        )
        if lowered or not_due:
            text += f"; {seen['over_amount']:,} {currency} issued beyond what is due cannot be taken back here"
        return Finding("failed", 0, differing, text, "EFFECT_DIFFERS")

    stated = Stated(0, scope.stated_by_task("effect_scope: one amount for each line key"))
    return (Check(NAME, phase, credits_to_issue(scope), stated, judge, absent_code="TABLE_GONE"),)
