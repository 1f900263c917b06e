"""An empty table is made by the vendor's contract."""

from __future__ import annotations

from tests.faults.case import HEALS, Case, NotApplicable, stopped
from tests.faults.deeds import LEDGER_COPY, STAGED, sql
from tests.faults.steps.shared import asks_no_service, in_the_warehouse, whatever_the_step

STEP = "stage_table"
A_LINE = (
    f"insert into {STAGED} select 1, charge_id, account_id, charged_on, description, amount "
    f"from {LEDGER_COPY} order by charge_id limit 1"
)

CELLS = (
    Case(STEP, "vanish", "the table that the step has made is dropped", "after the call",
         stopped("TABLE_GONE", "schema_matches_contract"), sql(f"drop table {STAGED}")),
    Case(STEP, "change", "somebody puts a line into the new table; the load replaces whatever is in it",
         "after the call", HEALS, sql(A_LINE)),
    NotApplicable(STEP, "truncate", "it reads nothing, and the table it makes has no row to lose", without_rows=True),
    Case(STEP, "schema change", "somebody drops a column of the new table", "after the call",
         stopped("SCHEMA_DRIFT", "schema_matches_contract"), sql(f"alter table {STAGED} drop column account_id")),
    Case(STEP, "schema change", "somebody makes the amount of the new table a float", "after the call",
         stopped("SCHEMA_DRIFT", "schema_matches_contract"), sql(f"alter table {STAGED} alter amount type double")),
    Case(STEP, "duplicate rows", "somebody puts the same line twice into the new table; the load replaces both",
         "after the call", HEALS, sql(A_LINE, A_LINE)),
    *in_the_warehouse(STEP, judges_inputs=False), *asks_no_service(STEP), *whatever_the_step(STEP),
)  # fmt: skip
