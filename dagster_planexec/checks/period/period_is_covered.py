"""A table has rows of the period asked for, and of each of its months if the contract says so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.table.period import PeriodOfTable
from dagster_planexec.world.probes.table.tables import CountTable

NAME = "period_is_covered"


def period_is_covered(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Dates in the table against the period. Rows outside it are named, not judged: bills correct earlier months."""
    contract = contract_of(scope.task, scope.args)
    table = target_of(scope)
    if contract.date is None:
        return (_undated(scope, phase, contract, table),)
    period = scope.period
    wanted = Stated(period.text, scope.stated_by_task(f"period, in {scope.task.zone}"))
    seen = PeriodOfTable(table, contract.date, period.start, period.end)
    return (Check(NAME, phase, seen, wanted, _judge(period, contract), absent_code="TABLE_GONE"),)


def _undated(scope: StepScope, phase: Phase, contract: FileContract, table: str) -> BoundCheck:
    drop = scope.task.drop
    if (
        drop is not None
        and scope.task.inputs
        and scope.task.contracts.get(scope.task.input(drop.input).contract) is contract
        and "{period}" in drop.pattern
    ):
        reason = "there is no date column; the period is declared by name, and the drop's pattern holds it"
        return NotApplicable(NAME, phase, reason, scope.stated_by_task("drop.pattern"))
    return Check(
        NAME, phase, CountTable(table), Stated(None, stated(contract, "date")), _undecided, absent_code="TABLE_GONE"
    )


def _undecided(observed: Observation, _: Observation | Stated) -> Finding:
    text = f"nothing says which period the {observed['rows']} rows belong to: the contract declares no date column"
    return Finding("not-evaluated", "a date column", f"{observed['rows']} rows", text, "BAD_CONTRACT")


def _judge(period: Period, contract: FileContract) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        by_month = observed["by_month"]
        assert isinstance(by_month, Mapping)  # noqa: S101 - what the probe promises
        seen = f"{observed['in_period']} rows in {period.text}"
        beside = _beside(observed)
        expected = f"rows in {period.text}"
        if observed["in_period"] == 0:
            return Finding("failed", expected, seen, f"no row lies in {period.text}{beside}", "STALE_PERIOD")
        empty = [first for first, _ in period.months if f"{first:%Y-%m}" not in by_month]
        if empty and contract.every_month:
            verb = "has" if len(empty) == 1 else "have"
            text = f"{_months(empty)} {verb} no rows{beside}"
            return Finding("failed", f"{expected}, in every month", seen, text, "PERIOD_INCOMPLETE")
        return Finding("passed", expected, seen, f"{seen}{beside}")

    return judge


def _beside(observed: Observation) -> str:
    parts = [
        f"{observed[fact]} {words}"
        for fact, words in (("before", "before it"), ("after", "after it"), ("null", "without a date"))
        if observed[fact]
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _months(months: list[date]) -> str:
    names = [f"{_ENGLISH[month.month - 1]} {month.year}" for month in months]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# Not strftime: it speaks the language of the machine.
_ENGLISH = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
