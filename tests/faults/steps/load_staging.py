"""The landed copy is loaded into the staging table by the vendor's contract."""

from __future__ import annotations

from tests.faults import deeds as d
from tests.faults.case import Case, stopped
from tests.faults.deeds import STAGED, first, sql
from tests.faults.steps.shared import asks_no_service, in_the_warehouse, whatever_the_step

STEP = "load_staging"
VENDOR = "ask the vendor for a corrected file"

CELLS = (
    Case(STEP, "vanish", "the landed copy is deleted", "before the step", stopped("OBJECT_GONE", "input_still_holds"),
         d.landed_copy_is_deleted),
    Case(STEP, "vanish", "the landed copy is deleted", "between judgement and call", stopped("OBJECT_GONE"),
         d.landed_copy_is_deleted),
    Case(STEP, "vanish", "the staging table is dropped", "between judgement and call", stopped("TABLE_GONE"),
         sql(f"drop table {STAGED}")),
    Case(STEP, "change", "a digit in the landed copy is another", "before the step",
         stopped("TRUNCATED_STREAM", "input_still_holds"), d.landed_copy_is_changed),
    Case(STEP, "change", "an amount in the table is another than in the file", "after the call",
         stopped("CONTROL_TOTAL_MISMATCH", "amounts_agree"),
         sql(f"update {STAGED} set amount = amount + 1 where {first(STAGED)}")),
    Case(STEP, "truncate", "the landed copy loses its second half", "before the step",
         stopped("TRUNCATED_STREAM", "input_still_holds"), d.landed_copy_is_cut),
    Case(STEP, "truncate", "half of the loaded rows are lost", "after the call",
         stopped("ROWCOUNT_MISMATCH", "row_counts_agree"), sql(f"delete from {STAGED} where {first(STAGED, 2000)}")),
    Case(STEP, "schema change", "the export that is admitted has a currency column that nobody declared",
         "before the plan", stopped("UNKNOWN_COLUMN", "no_unexpected_columns"), d.export(d.with_a_currency),
         mended="find out what the column means, or have the file without it delivered", mend=d.delivered_again),
    Case(STEP, "schema change", "a column of the staging table is dropped", "before the step",
         stopped("SCHEMA_DRIFT", "input_still_holds"), sql(f"alter table {STAGED} drop column account_id")),
    Case(STEP, "duplicate rows", "the export that is admitted has a line twice", "before the plan",
         stopped("DUPLICATE_KEY", "keys_are_unique"), d.export(d.with_a_line_twice),
         mended=VENDOR, mend=d.delivered_again),
    Case(STEP, "duplicate rows", "a loaded row is put in again", "after the call",
         stopped("ROWCOUNT_MISMATCH", "row_counts_agree"),
         sql(f"insert into {STAGED} select * from {STAGED} where {first(STAGED)}")),
    *in_the_warehouse(STEP), *asks_no_service(STEP), *whatever_the_step(STEP),
)  # fmt: skip
