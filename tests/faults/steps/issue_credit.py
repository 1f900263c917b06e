"""The credits are issued: last, and not to be undone."""

from __future__ import annotations

from tests.faults import deeds as d
from tests.faults.case import HEALS, Case, stopped
from tests.faults.deeds import LEDGER, LINES, first, kept, put_back, sql
from tests.faults.steps.shared import whatever_the_step

STEP = "issue_credit"
MONTH = "charge_id like 'CH-202602-%'"
DUE = "status = 'amount_differs' and ledger_amount > vendor_amount"
SWAPPED = sql(
    f"alter table {LINES} rename ledger_amount to swapped",
    f"alter table {LINES} rename vendor_amount to ledger_amount",
    f"alter table {LINES} rename swapped to vendor_amount",
)
LOOK = "look the month up in the credit system"

CELLS = (
    Case(STEP, "vanish", "the stored lines are dropped", "before the step", stopped("TABLE_GONE", "input_still_holds"),
         sql(f"drop table {LINES}")),
    Case(STEP, "vanish", "the stored lines are dropped", "between judgement and call", stopped("TABLE_GONE"),
         sql(f"drop table {LINES}")),
    Case(STEP, "change", "one charge of the ledger is raised by 1.00", "before the step",
         stopped("APPROVAL_STALE", "evidence_is_unchanged"),
         kept(f"update {LEDGER} set amount = amount + 1 where {first(LEDGER, where=MONTH)}"),
         mended="find out why, and put the charge back", mend=put_back),
    Case(STEP, "change", "a credit in the stored lines is raised by 1.00", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"update {LINES} set ledger_amount = ledger_amount + 1 where {first(LINES, where=DUE)}")),
    Case(STEP, "change", "a credit in the stored lines is raised by 1.00", "between judgement and call",
         stopped("APPROVAL_STALE"),
         sql(f"update {LINES} set ledger_amount = ledger_amount + 1 where {first(LINES, where=DUE)}")),
    Case(STEP, "truncate", "half of the stored lines are deleted", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"), sql(f"delete from {LINES} where {first(LINES, 2000)}")),
    Case(STEP, "truncate", "half of the stored lines are deleted", "between judgement and call",
         stopped("APPROVAL_STALE"), sql(f"delete from {LINES} where {first(LINES, 2000)}")),
    Case(STEP, "schema change", "the two amounts of the stored lines take one another's names", "before the step",
         stopped("IDENTITY_BROKEN", "input_still_holds"), SWAPPED),
    Case(STEP, "schema change", "the two amounts of the stored lines take one another's names",
         "between judgement and call", stopped("IDENTITY_BROKEN"), SWAPPED),
    Case(STEP, "schema change", "the ledger's amount in the stored lines becomes a float", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"alter table {LINES} alter ledger_amount type double")),
    Case(STEP, "schema change", "the ledger's amount in the stored lines becomes a float", "between judgement and call",
         stopped("SCHEMA_DRIFT"), sql(f"alter table {LINES} alter ledger_amount type double")),
    Case(STEP, "duplicate rows", "a line that is to be credited is put in again", "before the step",
         stopped("EXPECTATION_FAILED", "input_still_holds"),
         sql(f"insert into {LINES} select * from {LINES} where {first(LINES, where=DUE)}")),
    Case(STEP, "duplicate rows", "a line that is to be credited is put in again", "between judgement and call",
         stopped("DUPLICATE_KEY"), sql(f"insert into {LINES} select * from {LINES} where {first(LINES, where=DUE)}")),
    Case(STEP, "lock", "another process opens the warehouse file and keeps it for the rest of the run",
         "before the step", stopped("LOCKED", "input_still_holds"), d.held(),
         mended="wait until the process that is named has let go"),
    Case(STEP, "lock", "another process opens the warehouse file, in which the embedded credit system is too",
         "between judgement and call", stopped("LOCKED"), d.held(),
         mended="wait until the process that is named has let go"),
    Case(STEP, "throttle", "the credit system asks to slow down, and issues nothing", "during the call",
         stopped("THROTTLED"), trouble=d.credits_refuse("THROTTLED", "the credit system answered 429"),
         mended="wait until the credit system takes calls again"),
    Case(STEP, "403", "the credit system does not permit the call, and issues nothing", "during the call",
         stopped("FORBIDDEN"), trouble=d.credits_refuse("FORBIDDEN", "the credit system answered 403"),
         mended="give the worker the permission that is named"),
    Case(STEP, "500 after commit", "the credit system issues everything and answers 500", "during the call",
         HEALS, trouble=d.credits_fail_after("UNAVAILABLE", "the credit system answered 500")),
    Case(STEP, "timeout", "the credit system does not answer, and has issued nothing", "during the call",
         stopped("EFFECT_UNKNOWN"), trouble=d.credits_refuse("TIMEOUT", "no answer within the deadline"), mended=LOOK),
    Case(STEP, "timeout", "the credit system issues everything and does not answer", "during the call",
         HEALS, trouble=d.credits_fail_after("TIMEOUT", "no answer within the deadline")),
    Case(STEP, "timeout", "the warehouse does not answer for the lines within the deadline", "during the call",
         stopped("TIMEOUT"), trouble=d.slow, mended="look at what kept the warehouse busy"),
    Case(STEP, "disk full", "the kernel lets no file grow", "during the call", stopped("EFFECT_UNKNOWN"),
         trouble=d.no_file_grows_beyond(0), mended=f"{LOOK}; free space"),
    *whatever_the_step(STEP),
)  # fmt: skip
