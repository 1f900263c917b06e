"""Both sides are compared by the task's query, and the lines are stored."""

from __future__ import annotations

from tests.faults import deeds as d
from tests.faults.case import Case, stopped
from tests.faults.deeds import LEDGER_COPY, LINES, STAGED, first, sql
from tests.faults.steps.shared import asks_no_service, in_the_warehouse, whatever_the_step

STEP = "reconcile"

CELLS = (
    Case(STEP, "vanish", "the staging table is dropped", "before the step", stopped("TABLE_GONE", "input_still_holds"),
         sql(f"drop table {STAGED}")),
    Case(STEP, "vanish", "the copy of the ledger is dropped", "between judgement and call", stopped("TABLE_GONE"),
         sql(f"drop table {LEDGER_COPY}")),
    Case(STEP, "vanish", "the query's file is deleted", "between judgement and call", stopped("VALIDATION_ERROR"),
         d.sql_file_is_deleted, mended="put the file back", mend=d.seeded_again),
    Case(STEP, "change", "an amount in the staging table is another than was judged", "before the step",
         stopped("CONTROL_TOTAL_MISMATCH", "input_still_holds"),
         sql(f"update {STAGED} set amount = amount + 1 where {first(STAGED)}")),
    Case(STEP, "change", "an amount in the stored lines is another than the query found", "after the call",
         stopped("NONDETERMINISTIC", "both_sides_contribute"),
         sql(f"update {LINES} set ledger_amount = ledger_amount + 1 where {first(LINES)}")),
    Case(STEP, "truncate", "half of the staging table's rows are deleted", "before the step",
         stopped("ROWCOUNT_MISMATCH", "input_still_holds"), sql(f"delete from {STAGED} where {first(STAGED, 2000)}")),
    Case(STEP, "schema change", "a column of the staging table is dropped", "before the step",
         stopped("SCHEMA_DRIFT", "input_still_holds"), sql(f"alter table {STAGED} drop column account_id")),
    Case(STEP, "schema change", "the amount of the ledger's copy is renamed", "between judgement and call",
         stopped("VALIDATION_ERROR"), sql(f"alter table {LEDGER_COPY} rename amount to charged")),
    Case(STEP, "duplicate rows", "a row of the staging table is put in again", "before the step",
         stopped("ROWCOUNT_MISMATCH", "input_still_holds"),
         sql(f"insert into {STAGED} select * from {STAGED} where {first(STAGED)}")),
    Case(STEP, "duplicate rows", "a row of the ledger's copy is put in again", "between judgement and call",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"insert into {LEDGER_COPY} select * from {LEDGER_COPY} where {first(LEDGER_COPY)}")),
    *in_the_warehouse(STEP), *asks_no_service(STEP), *whatever_the_step(STEP),
)  # fmt: skip
