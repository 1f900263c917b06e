"""A table has rows of the period asked for, of each of its months or days, and none outside its window, as declared."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.table.contents.period import PeriodOfTable
from dagster_planexec.world.probes.table.tables import CountTable

NAME = "period_is_covered"
_NAMED = 10


def period_is_covered(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Dates in the table against the period. Rows outside it are named: bills correct earlier months.

    They are judged only where the contract declares a window.
    """
    contract = contract_of(scope.task, scope.args)
    table = target_of(scope)
    if contract.date is None:
        return (_undated(scope, phase, contract, table),)
    period = scope.period
    wanted = Stated(period.text, scope.stated_by_task(f"period, in {scope.task.zone}"))
    first, last = _window(period, contract)
    amount = None if first is None else contract.amount
    seen = PeriodOfTable(table, contract.date, period.start, period.end, amount, first, last, contract.every_day)
    return (Check(NAME, phase, seen, wanted, _judge(period, contract), absent_code="TABLE_GONE"),)


def _window(period: Period, contract: FileContract) -> tuple[date, date] | tuple[None, None]:
    """The first and the last day that a row may be dated on; none where any may."""
    if contract.window is None:
        return None, None
    before, after = timedelta(days=contract.window.days_before), timedelta(days=contract.window.days_after - 1)
    return period.start - before, period.end + after


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
        if observed.facts.get("outside"):
            count, worth, days = observed["outside"], observed["outside_worth"], observed["outside_days"]
            assert isinstance(days, tuple)  # noqa: S101 - what the probe promises
            text = f"{count} rows worth {worth} are dated outside the window, from {days[0]} to {days[-1]}{beside}"
            return Finding("failed", f"{expected}, none outside the window", seen, text, "OUT_OF_PERIOD")
        empty = [first for first, _ in period.months if f"{first:%Y-%m}" not in by_month]
        if empty and contract.every_month:
            verb = "has" if len(empty) == 1 else "have"
            text = f"{_months(empty)} {verb} no rows{beside}"
            return Finding("failed", f"{expected}, in every month", seen, text, "PERIOD_INCOMPLETE")
        days = observed.facts.get("empty_days")
        if isinstance(days, tuple) and days:
            text = f"{len(days)} days have no rows: {_days(days)}{beside}"
            return Finding("failed", f"{expected}, on every day", seen, text, "PERIOD_INCOMPLETE")
        return Finding("passed", expected, seen, f"{seen}{beside}")

    return judge


def _beside(observed: Observation) -> str:
    parts = [
        f"{observed[fact]} {words}"
        for fact, words in (("before", "before it"), ("after", "after it"), ("null", "without a date"))
        if observed[fact]
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _days(days: tuple[Fact, ...]) -> str:
    more = f" and {len(days) - _NAMED} more" if len(days) > _NAMED else ""
    return ", ".join(str(one) for one in days[:_NAMED]) + more


def _months(months: list[date]) -> str:
    names = [f"{_ENGLISH[month.month - 1]} {month.year}" for month in months]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# Not strftime: it speaks the language of the machine.
_ENGLISH = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
