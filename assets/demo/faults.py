"""The named faults: what goes wrong in the world, when, and what a run must end with.

A fault acts on the real bucket, the real warehouse file or the SQL file under the home, or wraps a port. No fault
touches a check.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass

from assets.demo import saturday
from assets.demo.world import DemoWorld
from assets.pair import Line, Pair

BEFORE_PLAN = "before-plan"
AFTER_ADMISSION = "after-admission"
INSIDE_CALL = "inside-call"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run under a fault ends with."""

    status: str
    """`succeeded`, `held`, `stopped` or `rejected`."""
    code: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    name: str
    when: str
    """`before-plan`, `after-admission`, `after-step:<id>` or `inside-call`."""
    says: str
    """One line for people."""
    ends: Ending
    act: Callable[[DemoWorld], None] | None = None
    """None for faults inside a call: those wrap a port, see `fault_ports`."""
    recording: str = "recorded_export_csv.json"
    """The recorded plan that fits the world: file name under the task's `plans/`."""

    def apply(self, world: DemoWorld) -> None:
        """Let it happen now. Nothing to do for a fault inside a call.

        Raises:
            ValueError: The world is not the flagship's; faults are about its files.
        """
        if world.data is not saturday.DATA:
            msg = f"fault {self.name!r} is about the flagship's files; the world holds {world.data.name!r}"
            raise ValueError(msg)
        if self.act is not None:
            self.act(world)


# ---------------------------------------------------------------------- the bucket


def _delete_export(world: DemoWorld) -> None:
    world.remove(world.export_key)


def _replace_export(world: DemoWorld) -> None:
    corrected = [line._replace(cents=line.cents + 1) if n == 0 else line for n, line in enumerate(world.pair.vendor)]
    world.put(world.export_key, saturday.export_csv(corrected))


def _reupload_same_bytes(world: DemoWorld) -> None:
    """A multipart upload's entity tag is no hash of the bytes, so it differs although nothing else does."""
    bucket, key = world.bucket, world.export_key
    content = world.read(key)
    upload = world.s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    part = world.s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=content)
    world.s3.complete_multipart_upload(
        Bucket=bucket,
        Key=key,
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )


def _empty_export(world: DemoWorld) -> None:
    world.put(world.export_key, b"")


def _header_only(world: DemoWorld) -> None:
    world.put(world.export_key, saturday.export_csv(()))


def _truncate_gzip(world: DemoWorld) -> None:
    """Only the compressed file is delivered, and its second half is missing."""
    whole = gzip.compress(saturday.export_csv(world.pair.vendor), mtime=0)
    world.remove(world.export_key)
    world.put(world.key(".csv.gz"), whole[: len(whole) // 2])


def _wrong_month(world: DemoWorld) -> None:
    before = saturday.month(world.period.shifted(-1).text)
    world.put(world.export_key, saturday.export_csv(before.vendor))


def _foreign_keys(world: DemoWorld) -> None:
    foreign = (line._replace(charge_id="X" + line.charge_id) for line in world.pair.vendor)
    world.put(world.export_key, saturday.export_csv(foreign))


def _one_row(world: DemoWorld) -> None:
    known = {difference.charge_id for difference in world.pair.truth.differences}
    line = next(line for line in world.pair.vendor if line.charge_id not in known)
    world.put(world.export_key, saturday.export_csv([line]))


LATE_LINES = 4


def late_lines(pair: Pair) -> list[Line]:
    """Charges that the first file does not bill and the late one does, in full: without it they would be credited."""
    missing = [d.charge_id for d in pair.truth.differences if d.status == "ledger_only"][:LATE_LINES]
    return [line for line in pair.ledger if line.charge_id in missing]


def _second_file(world: DemoWorld) -> None:
    world.put(world.key("-part2.csv"), saturday.export_csv(late_lines(world.pair)))


def _new_currency_column(world: DemoWorld) -> None:
    world.put(world.export_key, saturday.export_csv(world.pair.vendor, more=[("Currency", "EUR")]))


def _inflate_credits(world: DemoWorld) -> None:
    world.put(world.export_key, saturday.export_csv(saturday.month(world.period.text, "inflated").vendor))


def _perfect_month(world: DemoWorld) -> None:
    world.put(world.export_key, saturday.export_csv(saturday.month(world.period.text, "perfect").vendor))


# ---------------------------------------------------------------------- the warehouse and the SQL


def staging_table(world: DemoWorld) -> str:
    """Where the recorded plan loads the vendor's lines."""
    return f"staging.vendor_invoice_{world.period.compact}"


def _empty_staging(world: DemoWorld) -> None:
    with world.connection() as warehouse:
        warehouse.execute(f"delete from {staging_table(world)}")


def _drop_staging(world: DemoWorld) -> None:
    with world.connection() as warehouse:
        warehouse.execute(f"drop table {staging_table(world)}")


ONE_SIDED_SQL = """\
-- Joins the vendor and takes nothing from it: every charge is reported as one the vendor did not bill.
select
    ledger.charge_id,
    ledger.charged_on,
    'ledger_only' as status,
    ledger.amount as ledger_amount,
    cast(null as decimal(18, 2)) as vendor_amount
from ledger
left join vendor on trim(ledger.charge_id) = trim(vendor.charge_id)
"""


def _one_sided_sql(world: DemoWorld) -> None:
    (world.roots.sql / "reconcile.sql").write_text(ONE_SIDED_SQL, encoding="utf-8")


# ---------------------------------------------------------------------- the table


def _stopped(code: str, step: str) -> Ending:
    return Ending("stopped", code, step)


_SUCCEEDED = Ending("succeeded")

_ALL = (
    Fault("delete-export-before-plan", BEFORE_PLAN, "the export is deleted before anything is planned",
          Ending("rejected", "OBJECT_GONE"), _delete_export),
    Fault("delete-export-after-admission", AFTER_ADMISSION,
          "the Saturday run: the export is deleted under a checked plan",
          _stopped("OBJECT_GONE", "fetch_export"), _delete_export),
    Fault("delete-export-after-fetch", "after-step:fetch_export", "the export is deleted after its copy has landed",
          _SUCCEEDED, _delete_export),
    Fault("replace-export-after-admission", AFTER_ADMISSION, "the export is replaced under a checked plan",
          _stopped("OBJECT_CHANGED", "fetch_export"), _replace_export),
    Fault("reupload-same-bytes", AFTER_ADMISSION, "the same bytes are uploaded again in parts: another ETag",
          _SUCCEEDED, _reupload_same_bytes),
    Fault("empty-export", BEFORE_PLAN, "the export has 0 bytes", Ending("rejected", "EMPTY_EXTRACT"), _empty_export),
    Fault("header-only-export", BEFORE_PLAN, "the export is a header line and nothing else",
          _stopped("EMPTY_EXTRACT", "load_staging"), _header_only),
    Fault("truncate-gzip-export", BEFORE_PLAN, "the compressed export ends in the middle",
          _stopped("TRUNCATED_STREAM", "fetch_export"), _truncate_gzip, recording="recorded_export_gz.json"),
    Fault("load-zero-rows", INSIDE_CALL, "the loader reports ok and leaves the table empty",
          _stopped("ROWCOUNT_MISMATCH", "load_staging")),
    Fault("empty-staging-before-reconcile", "after-step:load_staging", "somebody empties the staging table",
          _stopped("ROWCOUNT_MISMATCH", "reconcile"), _empty_staging),
    Fault("drop-staging-before-reconcile", "after-step:load_staging", "somebody drops the staging table",
          _stopped("TABLE_GONE", "reconcile"), _drop_staging),
    Fault("one-sided-sql", BEFORE_PLAN, "the query joins the vendor and takes nothing from it",
          _stopped("ONE_SIDED", "reconcile"), _one_sided_sql),
    Fault("wrong-month-export", BEFORE_PLAN, "last month's lines lie in the file named for this month",
          _stopped("STALE_PERIOD", "load_staging"), _wrong_month),
    Fault("vendor-matches-nothing", BEFORE_PLAN, "lines of the right month, of which no key is known",
          _stopped("NOTHING_MATCHED", "reconcile"), _foreign_keys),
    Fault("one-row-export", BEFORE_PLAN, "the export holds one real line",
          _stopped("COVERAGE_LOW", "reconcile"), _one_row),
    Fault("second-file-in-drop", AFTER_ADMISSION,
          "a second part arrives that the checked plan does not read: another plan reads both",
          _SUCCEEDED, _second_file),
    Fault("new-currency-column", BEFORE_PLAN, "the export has a currency column that nobody declared",
          _stopped("UNKNOWN_COLUMN", "load_staging"), _new_currency_column),
    Fault("inflate-credits", BEFORE_PLAN, "the vendor bills far less on thirty lines: the credits exceed the cap",
          Ending("held", "CAP_EXCEEDED", "issue_credit"), _inflate_credits),
    Fault("perfect-month", BEFORE_PLAN, "vendor and ledger agree on every line", _SUCCEEDED, _perfect_month),
    Fault("s3-503-twice", INSIDE_CALL, "the object store answers 503 to the first two reads of the fetch", _SUCCEEDED),
)  # fmt: skip

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
