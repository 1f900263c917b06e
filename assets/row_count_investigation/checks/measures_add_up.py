"""What a measuring step counted in parts adds up to a plain count of the period."""

from __future__ import annotations

from assets.row_count_investigation.measuring import (
    Look,
    RowsByDay,
    RowsByValue,
    RowsFiltered,
    RowsOfPeriod,
    RowsRepeated,
)
from assets.row_count_investigation.tools.measures import days_of
from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "measures_add_up"


def measures_add_up(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The parts against one count of the same days, by another query."""
    args, days, tool = scope.args, days_of(scope.period), scope.contract.name
    looks: dict[str, Look] = {
        "compare_days": RowsByDay(args.table, *days),
        "compare_repeats": RowsRepeated(args.table, *days),
    }
    if tool == "read_load_log":
        clause = scope.stated_by_contract("its result names days and counts no rows")
        return (NotApplicable(NAME, phase, "a log is quoted, not counted", clause),)
    if tool == "compare_values":
        looks[tool] = RowsByValue(args.table, *days, args.column)
    if tool == "compare_view":
        looks[tool] = RowsFiltered(args.table, *days, args.landed)
    return (Check(NAME, phase, looks[tool], RowsOfPeriod(args.table, *days), _judge, absent_code="TABLE_GONE"),)


def _judge(parts: Observation, whole: Observation | Stated) -> Finding:
    assert isinstance(whole, Observation)  # noqa: S101 - bound to a probe
    if whole.state == "absent":
        return Finding("failed", "a table", "none", whole.message, "TABLE_GONE")
    rows, due = parts["rows"], whole["rows"]
    if rows != due:
        return Finding("failed", due, rows, f"the parts are {rows} rows, the period has {due}", "IDENTITY_BROKEN")
    return Finding("passed", due, rows, f"the parts are the {rows} rows of the period")
