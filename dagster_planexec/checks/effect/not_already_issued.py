"""What was credited for the period before is still due, key by key and to the cent."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_shape, currency_of, effect_scope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.credits import IssuedAgainst

NAME = "not_already_issued"


def not_already_issued(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """A known key with its amount is fine, it is not issued again; with another amount, or no longer due, it is not."""
    issued_in, _ = effect_scope(scope.task)
    currency = currency_of(scope.task)

    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        differing = f"{seen['other_amount']} with another amount, {seen['not_due']} no longer due"
        if not seen["other_amount"] and not seen["not_due"]:
            text = f"{seen['same']} lines are issued already, {seen['to_issue']} are not"
            return Finding("passed", 0, 0, text)
        text = (
            f"of the credits issued for {scope.period}, {differing}: the result asks for {seen['delta']:+,} {currency}"
            f" against them; first {seen['example']}"
        )
        return Finding("failed", 0, differing, text, "EFFECT_DIFFERS")

    probe = IssuedAgainst(issued_in, scope.period.text, scope.args.source, credit_shape(scope.task))
    stated = Stated(0, scope.stated_by_task("effect_scope: one amount for each line key"))
    return (Check(NAME, phase, probe, stated, judge, absent_code="TABLE_GONE"),)
