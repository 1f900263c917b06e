"""The measuring tools. Each reads, decides nothing, and says in one word what the next question may be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from assets.row_count_investigation.explained import is_low
from assets.row_count_investigation.measuring import (
    LoadsOfPeriod,
    Look,
    RowsByDay,
    RowsByValue,
    RowsFiltered,
    RowsRepeated,
)
from assets.row_count_investigation.places import A_DROP, usual_from
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Kind, Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.period import Period
from dagster_planexec.world.probe import Probe

Measurement = Annotated[str, Kind("measurement")]
"""One sentence of numbers that a measuring step has made; what a conclusion cites as evidence."""

Days = tuple[Any, Any, Any]


class TableArgs(Model):
    """Which table."""

    table: TableName


class ValuesArgs(Model):
    """Which table, and by which column."""

    table: TableName
    column: Literal["source", "region"]


class ViewArgs(Model):
    """Which view, and the table it is made of."""

    table: TableName
    landed: TableName


class DaysResult(Model):
    """How the period's days compare with what is usual."""

    measurement: Measurement
    shape: Literal["no_drop", "missing_days", "tail", "from_a_day", "every_day", "scattered"]
    rows: int
    usual: int
    missing_days: int
    low_days: int
    first_low: str


class ValuesResult(Model):
    """How the values of a column compare with what is usual."""

    measurement: Measurement
    says: Literal["one_value_stopped", "no_value_stopped"]
    stopped: str
    """Bounded; the table's text."""


class ViewResult(Model):
    """What a view leaves out."""

    measurement: Measurement
    says: Literal["filters_more", "filters_as_before"]
    left_out: int


class RepeatedResult(Model):
    """How many orders are there more than once."""

    measurement: Measurement
    says: Literal["repeats_vanished", "repeats_as_before"]


class LogResult(Model):
    """What the loader says."""

    measurement: Measurement
    says: Literal["failed", "late", "nothing_odd"]


class Measuring(Tool):
    """Looks once, and puts what it saw into a result. Its seal is the same look: it holds while the tables do."""

    @abstractmethod
    def look(self, args: Any, period: Period) -> Look:  # noqa: ANN401 - an instance of contract.args
        """The probe that measures."""

    @abstractmethod
    def told(self, args: Any, facts: Mapping[str, Any]) -> Model:  # noqa: ANN401 - as above
        """The result of what was seen."""

    def call(self, args: Any, call: ToolCall) -> Outcome:  # noqa: ANN401 - as above
        """Look."""
        seen = self.look(args, call.period).observe(call.ports)
        if seen.state != "seen":
            return Failed("TABLE_GONE", seen.message)
        return Done(self.told(args, cast("Mapping[str, Any]", seen.facts)))

    def seal(self, args: Any, result: Any, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - as above
        """The same look again."""
        return self.look(args, call.period)


def days_of(period: Period) -> Days:
    """What every look takes beside its table."""
    return usual_from(period), period.start, period.end


def contract_of(name: str, description: str, args: type[Model], result: type[Model]) -> ToolContract:
    """What the measuring tools have in common."""
    return ToolContract(
        name=name, description=description, args=args, result=result, effect="read",
        preconditions=("watched_is_unchanged",), postconditions=("measures_add_up",), writes=None,
        errors={"TABLE_GONE": "name a table of the month that is there"},
    )  # fmt: skip


class CompareDays(Measuring):
    """The tool `compare_days`."""

    contract = contract_of(
        "compare_days", "Rows of each day of the period against the median of its weekday in the eight weeks before.",
        TableArgs, DaysResult,
    )  # fmt: skip

    def look(self, args: TableArgs, period: Period) -> Look:
        """By day."""
        return RowsByDay(args.table, *days_of(period))

    def told(self, args: TableArgs, facts: Mapping[str, Any]) -> Model:
        """With a word for where the low days lie."""
        seen, due = facts["seen"], facts["due"]
        low = [day for day in seen if is_low(seen[day], due[day])]
        rows, usual = facts["rows"], facts["usual"]
        return DaysResult(
            measurement=f"{args.table}: {rows} rows, {usual} are usual; {len(low)} of {len(seen)} days are low",
            shape=cast("Any", _shape(seen, low, rows, usual)), rows=rows, usual=usual,
            missing_days=sum(1 for day in low if seen[day] == 0), low_days=len(low), first_low=low[0] if low else "",
        )  # fmt: skip


TAIL_DAYS = 5


def _shape(seen: Mapping[str, int], low: list[str], rows: int, usual: int) -> str:
    days = list(seen)
    if usual - rows < usual * A_DROP and not any(seen[day] == 0 for day in low):
        return "no_drop"
    if low and all(seen[day] == 0 for day in low) and days[-1] not in low:
        return "missing_days"
    if low and low == days[-len(low) :]:
        return "every_day" if len(low) == len(days) else "tail" if len(low) <= TAIL_DAYS else "from_a_day"
    return "every_day" if len(low) * 10 >= len(days) * 8 else "scattered"


class CompareValues(Measuring):
    """The tool `compare_values`."""

    contract = contract_of(
        "compare_values", "Rows of each value of a column against its usual rows: does one of them come no more?",
        ValuesArgs, ValuesResult,
    )  # fmt: skip

    def look(self, args: ValuesArgs, period: Period) -> Look:
        """By value."""
        return RowsByValue(args.table, *days_of(period), args.column)

    def told(self, args: ValuesArgs, facts: Mapping[str, Any]) -> Model:
        """A value has stopped if its last row is days older than the newest of all, and its rows are low."""
        seen, due, last = facts["seen"], facts["due"], facts["last"]
        newest = max(last.values(), default="")
        stopped = [value for value in seen if last[value] < newest and is_low(seen[value], due[value])]
        said = ", ".join(f"{value[:40]!r} {seen[value]} of {due[value]}" for value in list(seen)[:8])
        return ValuesResult(
            measurement=f"{args.table} by {args.column}: {said}",
            says="one_value_stopped" if len(stopped) == 1 else "no_value_stopped",
            stopped=stopped[0][:40] if len(stopped) == 1 else "",
        )


class CompareView(Measuring):
    """The tool `compare_view`."""

    contract = contract_of(
        "compare_view", "Rows of a view against those of the table it is made of: does it leave out more than before?",
        ViewArgs, ViewResult,
    )  # fmt: skip

    def look(self, args: ViewArgs, period: Period) -> Look:
        """Both."""
        return RowsFiltered(args.table, *days_of(period), args.landed)

    def told(self, args: ViewArgs, facts: Mapping[str, Any]) -> Model:
        """More than one in twenty, beyond what it left out before."""
        left_out, landed = facts["landed"] - facts["rows"], facts["landed"]
        more = landed > 0 and left_out * 1000 // landed - facts["before"] > A_DROP * 1000
        return ViewResult(
            measurement=f"{args.table} leaves out {left_out} of the {landed} rows of {args.landed}; "
            f"before, {facts['before']} of 1000; it is {facts['definition'][:160]!r}",
            says="filters_more" if more else "filters_as_before", left_out=left_out,
        )  # fmt: skip


class CompareRepeats(Measuring):
    """The tool `compare_repeats`."""

    contract = contract_of(
        "compare_repeats", "Orders that are there more than once, in the period and before: were duplicates removed?",
        TableArgs, RepeatedResult,
    )  # fmt: skip

    def look(self, args: TableArgs, period: Period) -> Look:
        """Rows against orders."""
        return RowsRepeated(args.table, *days_of(period))

    def told(self, args: TableArgs, facts: Mapping[str, Any]) -> Model:
        """Vanished: there were some, and fewer than half as many are left."""
        repeated, due, rows = facts["repeated"], facts["due"], facts["rows"]
        vanished = due > rows * A_DROP and repeated * 2 < due
        return RepeatedResult(
            measurement=f"{args.table}: {repeated} rows repeat an order, {due} are usual",
            says="repeats_vanished" if vanished else "repeats_as_before",
        )


class ReadLoadLog(Measuring):
    """The tool `read_load_log`."""

    contract = contract_of(
        "read_load_log", "What the loader's log says of the period: loads that failed, and loads still to come.",
        TableArgs, LogResult,
    )  # fmt: skip

    def look(self, args: TableArgs, period: Period) -> Look:
        """The log."""
        return LoadsOfPeriod(args.table, *days_of(period))

    def told(self, args: TableArgs, facts: Mapping[str, Any]) -> Model:
        """A failure outweighs a delay."""
        failed, late = facts["failed"], facts["late"]
        return LogResult(
            measurement=f"{args.table}: {facts['loads']} loads; failed: {_days(failed)}; late: {_days(late)}",
            says="failed" if failed else "late" if late else "nothing_odd",
        )


def _days(days: tuple[Fact, ...]) -> str:
    more = f" and {len(days) - 5} more" if len(days) > 5 else ""  # noqa: PLR2004 - enough to know them by
    return (", ".join(str(day)[:10] for day in days[:5]) or "none") + more
