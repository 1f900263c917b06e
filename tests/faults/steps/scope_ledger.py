"""The ledger's rows of the month are copied: from a table that others write to."""

from __future__ import annotations

from tests.faults.case import Case, stopped
from tests.faults.deeds import LEDGER, LEDGER_COPY, first, kept, put_back, sql
from tests.faults.steps.shared import asks_no_service, in_the_warehouse, whatever_the_step

STEP = "scope_ledger"
MONTH = "charge_id like 'CH-202602-%'"

CELLS = (
    Case(STEP, "vanish", "the ledger is renamed away", "before the step", stopped("TABLE_GONE"),
         sql(f"alter table {LEDGER} rename to away"), mended="put the ledger back",
         mend=sql("alter table ledger.away rename to charges")),
    Case(STEP, "vanish", "the copy that the step has made is dropped", "after the call",
         stopped("TABLE_GONE", "snapshot_is_complete"), sql(f"drop table {LEDGER_COPY}")),
    Case(STEP, "change", "one charge of the ledger is raised by 1.00 after it was admitted", "before the step",
         stopped("APPROVAL_STALE", "snapshot_is_as_admitted"),
         kept(f"update {LEDGER} set amount = amount + 1 where {first(LEDGER, where=MONTH)}"),
         mended="find out why, and put the charge back", mend=put_back),
    Case(STEP, "truncate", "half of the month's charges are deleted from the ledger after it was admitted",
         "before the step", stopped("APPROVAL_STALE", "snapshot_is_as_admitted"),
         kept(f"delete from {LEDGER} where {first(LEDGER, 2050, where=MONTH)}"),
         mended="put the charges back", mend=put_back),
    Case(STEP, "truncate", "half of the copy's rows are lost", "after the call",
         stopped("ROWCOUNT_MISMATCH", "snapshot_is_complete"),
         sql(f"delete from {LEDGER_COPY} where {first(LEDGER_COPY, 2050)}")),
    Case(STEP, "schema change", "the ledger's amount column is renamed", "before the step",
         stopped("SCHEMA_DRIFT", "snapshot_is_complete"),
         sql(f"alter table {LEDGER} rename amount to charged"), mended="name the column as the contract does",
         mend=sql(f"alter table {LEDGER} rename charged to amount")),
    Case(STEP, "duplicate rows", "the ledger holds one charge twice when the month is admitted", "before the plan",
         stopped("DUPLICATE_KEY", "keys_are_unique"),
         kept(f"insert into {LEDGER} select * from {LEDGER} where {first(LEDGER, where=MONTH)}"),
         mended="take the second one out", mend=put_back),
    *in_the_warehouse(STEP, judges_inputs=False), *asks_no_service(STEP), *whatever_the_step(STEP),
)  # fmt: skip
