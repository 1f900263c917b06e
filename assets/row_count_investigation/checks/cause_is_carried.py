"""The numbers carry the cause: measured anew, it accounts for most of the missing rows."""

from __future__ import annotations

from assets.row_count_investigation.places import A_DROP, CARRIES
from assets.row_count_investigation.tools.conclude import explained
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "cause_is_carried"


def cause_is_carried(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Rows that the cause accounts for against the bound. Without a cause there is only the drop to state."""
    cause = scope.args.cause
    stated = Stated(f"at least {CARRIES} of the missing rows", scope.stated_by_contract("share of a cause"))
    return (Check(NAME, phase, explained(cause, scope.period), stated, _judge(cause), absent_code="TABLE_GONE"),)


def _judge(cause: str) -> Judge:
    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        usual, missing, found = (int(str(seen[name])) for name in ("usual", "missing", "explained"))
        dropped = missing > usual * A_DROP
        if cause == "not_found":
            said = f"{missing} of {usual} usual rows are missing, and no cause is claimed" if dropped else "no drop"
            return Finding("passed", "no cause", said, said if dropped else f"there is no drop: {missing} of {usual}")
        least = int(missing * CARRIES)
        text = f"{cause} accounts for {found} of {missing} missing rows"
        if not dropped:
            text = f"nothing has to be explained: {missing} of {usual} usual rows are missing"
            return Finding("failed", f"a drop of more than {A_DROP}", missing, text, "EXPECTATION_FAILED")
        if found < least:
            return Finding("failed", f"at least {least} rows", found, text, "EXPECTATION_FAILED")
        return Finding("passed", f"at least {least} rows", found, text)

    return judge
