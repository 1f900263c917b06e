"""What was found is written as three files, whose figures are read back."""

from __future__ import annotations

from tests.faults import deeds as d
from tests.faults.case import Case, stopped
from tests.faults.deeds import LINES, first, sql
from tests.faults.steps.shared import asks_no_service, in_the_warehouse, whatever_the_step

STEP = "write_report"

CELLS = (
    Case(STEP, "vanish", "the stored lines are dropped", "before the step", stopped("TABLE_GONE", "input_still_holds"),
         sql(f"drop table {LINES}")),
    Case(STEP, "vanish", "the stored lines are dropped", "between judgement and call", stopped("TABLE_GONE"),
         sql(f"drop table {LINES}")),
    Case(STEP, "vanish", "a file of the report is deleted before it is judged", "after the call",
         stopped("REPORT_MISMATCH", "report_matches_result"), d.report_is_deleted),
    Case(STEP, "change", "an amount in the stored lines is another than was judged", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"update {LINES} set ledger_amount = ledger_amount + 1 where {first(LINES)}")),
    Case(STEP, "change", "a figure in the report is another than was written", "after the call",
         stopped("REPORT_MISMATCH", "report_matches_result"), d.report_is_changed),
    Case(STEP, "truncate", "half of the stored lines are deleted", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"), sql(f"delete from {LINES} where {first(LINES, 2000)}")),
    Case(STEP, "truncate", "a file of the report loses its second half", "after the call",
         stopped("REPORT_MISMATCH", "report_matches_result"), d.report_is_cut),
    Case(STEP, "schema change", "the ledger's amount in the stored lines becomes a float", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"alter table {LINES} alter ledger_amount type double")),
    Case(STEP, "schema change", "the ledger's amount in the stored lines becomes a float", "between judgement and call",
         stopped("SCHEMA_DRIFT"), sql(f"alter table {LINES} alter ledger_amount type double")),
    Case(STEP, "duplicate rows", "a line that is stored is put in again", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"insert into {LINES} select * from {LINES} where {first(LINES)}")),
    *in_the_warehouse(STEP), *asks_no_service(STEP), *whatever_the_step(STEP),
)  # fmt: skip
