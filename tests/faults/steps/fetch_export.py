"""The vendor's file is fetched from the object store and lands as a copy: the one step that reads what expires."""

from __future__ import annotations

from tests.faults import deeds as d
from tests.faults.case import Case, NotApplicable, healed, stopped
from tests.faults.steps.shared import whatever_the_step

STEP = "fetch_export"
AGAIN = "ask the vendor to deliver the month's file again"

CELLS = (
    Case(STEP, "vanish", "the export is deleted after it was admitted: the Saturday run", "before the step",
         stopped("OBJECT_GONE", "object_exists"), d.export_is_deleted, mended=AGAIN, mend=d.delivered_again),
    Case(STEP, "vanish", "the export is deleted after its HEAD and before its GET", "between judgement and call",
         stopped("OBJECT_GONE"), d.export_is_deleted, mended=AGAIN, mend=d.delivered_again),
    Case(STEP, "vanish", "the landed copy is deleted before it is judged", "after the call",
         stopped("OBJECT_GONE", "landed_is_intact"), d.landed_copy_is_deleted),
    Case(STEP, "change", "another export is put in its place after its HEAD and before its GET",
         "between judgement and call", stopped("OBJECT_CHANGED"), d.export(d.with_a_cent_more),
         mended="look whether the new one is meant, for it is what is admitted next"),
    Case(STEP, "truncate", "every answer breaks off in the middle of the body", "during the call",
         stopped("TRUNCATED_STREAM"), trouble=d.store("cut"), mended="look at what stands between here and the store"),
    Case(STEP, "truncate", "the landed copy loses its second half before it is judged", "after the call",
         stopped("TRUNCATED_STREAM", "landed_is_intact"), d.landed_copy_is_cut),
    Case(STEP, "schema change", "an export with another column is put in its place after it was admitted",
         "before the step", stopped("OBJECT_CHANGED", "object_is_unchanged"), d.export(d.with_a_currency),
         mended="have the first one delivered again", mend=d.delivered_again),
    Case(STEP, "duplicate rows", "an export with a line twice is put in its place after it was admitted",
         "before the step", stopped("OBJECT_CHANGED", "object_is_unchanged"), d.export(d.with_a_line_twice),
         mended="have the first one delivered again", mend=d.delivered_again),
    NotApplicable(STEP, "lock", "it does not open the warehouse file", ("warehouse",)),
    Case(STEP, "throttle", "every read is answered with 503 SlowDown", "during the call",
         stopped("THROTTLED", tries=4), trouble=d.store("slow-down"), mended="wait"),
    Case(STEP, "throttle", "the first read is answered with 503 SlowDown", "during the call", healed(),
         trouble=d.store("slow-down"), lasts=1),
    Case(STEP, "403", "every read is answered with 403 AccessDenied", "during the call", stopped("FORBIDDEN"),
         trouble=d.store("forbidden"), mended="give the worker the permission that is named"),
    Case(STEP, "500 after commit", "the first read is answered with 500 InternalError; there, reading commits nothing",
         "during the call", healed(), trouble=d.store("failing"), lasts=1),
    Case(STEP, "timeout", "no read is answered", "during the call", stopped("TIMEOUT", tries=4),
         trouble=d.store("silent"), mended="look at the endpoint"),
    Case(STEP, "timeout", "the first read is not answered", "during the call", healed(),
         trouble=d.store("silent"), lasts=1),
    Case(STEP, "disk full", "the kernel lets the copy grow to 64 KB and no further", "during the call",
         stopped("DISK_FULL"), trouble=d.no_file_grows_beyond(1 << 16), mended="free space where the landing lies"),
    *whatever_the_step(STEP),
)  # fmt: skip
