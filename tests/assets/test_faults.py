"""Each named fault changes the world as it says, at its moment, and nothing else."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable

import pytest

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import FAULTS, Ending, staging_table
from assets.demo.local_s3 import ACCESS_KEY, REGION, SECRET_KEY
from assets.demo.world import DemoWorld
from assets.reconciliation import SQL_FOLDER
from dagster_planexec.contract.codes import CODES
from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource
from dagster_planexec.world.ingest import TextIngest
from dagster_planexec.world.ports import Ports
from tests.support.s3 import WallClock


def etags(world: DemoWorld) -> dict[str, str]:
    found = world.s3.list_objects_v2(Bucket=world.bucket, Prefix=world.data.task.drop.prefix).get("Contents", [])
    return {item["Key"]: item["ETag"] for item in found}


def lines_of(world: DemoWorld) -> list[dict[str, str]]:
    return list(csv.DictReader(world.read(world.export_key).decode().splitlines()))


def strike(world: DemoWorld, name: str) -> None:
    """Let the run go from its beginning to its end; the fault finds its moment."""
    listener = FaultListener(FAULTS[name], world)
    listener.before_plan()
    listener.on_event("admitted", None)
    for step in ("scope_ledger", "stage_table", "fetch_export", "load_staging", "reconcile", "write_report"):
        listener.on_event("step-done", step)


TABLE = {
    "delete-export-before-plan": ("before-plan", Ending("rejected", "OBJECT_GONE")),
    "delete-export-after-admission": ("after-admission", Ending("stopped", "OBJECT_GONE", "fetch_export")),
    "delete-export-after-fetch": ("after-step:fetch_export", Ending("succeeded")),
    "replace-export-after-admission": ("after-admission", Ending("stopped", "OBJECT_CHANGED", "fetch_export")),
    "reupload-same-bytes": ("after-admission", Ending("succeeded")),
    "empty-export": ("before-plan", Ending("rejected", "EMPTY_EXTRACT")),
    "header-only-export": ("before-plan", Ending("stopped", "EMPTY_EXTRACT", "load_staging")),
    "truncate-gzip-export": ("before-plan", Ending("stopped", "TRUNCATED_STREAM", "fetch_export")),
    "load-zero-rows": ("inside-call", Ending("stopped", "ROWCOUNT_MISMATCH", "load_staging")),
    "empty-staging-before-reconcile": ("after-step:load_staging", Ending("stopped", "ROWCOUNT_MISMATCH", "reconcile")),
    "drop-staging-before-reconcile": ("after-step:load_staging", Ending("stopped", "TABLE_GONE", "reconcile")),
    "one-sided-sql": ("before-plan", Ending("stopped", "ONE_SIDED", "reconcile")),
    "wrong-month-export": ("before-plan", Ending("stopped", "STALE_PERIOD", "load_staging")),
    "vendor-matches-nothing": ("before-plan", Ending("stopped", "NOTHING_MATCHED", "reconcile")),
    "one-row-export": ("before-plan", Ending("stopped", "COVERAGE_LOW", "reconcile")),
    "second-file-in-drop": ("after-admission", Ending("succeeded")),
    "new-currency-column": ("before-plan", Ending("stopped", "UNKNOWN_COLUMN", "load_staging")),
    "inflate-credits": ("before-plan", Ending("held", "CAP_EXCEEDED", "issue_credit")),
    "perfect-month": ("before-plan", Ending("succeeded")),
    "s3-503-twice": ("inside-call", Ending("succeeded")),
}


def test_faults_are_those_of_the_table():
    """Twenty of them, each with its moment and its end."""
    assert {name: (fault.when, fault.ends) for name, fault in FAULTS.items()} == TABLE
    assert len(TABLE) == 20


def test_ends_use_stable_codes():
    assert {fault.ends.code for fault in FAULTS.values()} - {None} <= CODES.keys()


@pytest.mark.parametrize("name", [name for name, (when, _) in TABLE.items() if when.startswith("after")])
def test_timed_fault_waits_for_its_moment_and_strikes_once(saturday, name):
    """The world is whole before the moment; put right after it, it stays whole."""
    with saturday.connection() as warehouse:
        warehouse.execute(f"create or replace table {staging_table(saturday)} as select 1 as one")
    listener, whole = FaultListener(FAULTS[name], saturday), etags(saturday)
    when = FAULTS[name].when

    listener.before_plan()
    if when != "after-admission":
        listener.on_event("admitted", None)
    listener.on_event("step-done", "scope_ledger")
    assert etags(saturday) == whole

    step = when.removeprefix("after-step:")
    event = ("admitted", None) if when == "after-admission" else ("step-done", step)
    listener.on_event(*event)
    saturday.seed()
    healed = etags(saturday)
    listener.on_event(*event)
    assert etags(saturday) == healed == whole


def gone(world: DemoWorld) -> None:
    assert world.export_key not in etags(world)


def empty(world: DemoWorld) -> None:
    assert world.read(world.export_key) == b""


def header_only(world: DemoWorld) -> None:
    content = world.read(world.export_key)
    assert content.count(b"\n") == 1
    assert content.startswith(b"Line,Charge Ref,")


def truncated(world: DemoWorld) -> None:
    """Not a byte of it is wrong, it only ends early; the uncompressed file is not there."""
    content = world.read(world.key(".csv.gz"))
    with pytest.raises(EOFError):
        gzip.decompress(content)
    assert zlib.decompressobj(wbits=31).decompress(content).startswith(b"Line,Charge Ref,")
    gone(world)


def wrong_month(world: DemoWorld) -> None:
    assert {line["Service Date"][:7] for line in lines_of(world)} == {"2026-02"}


def foreign(world: DemoWorld) -> None:
    lines = lines_of(world)
    assert {line["Service Date"][:7] for line in lines} == {"2026-03"}
    assert not {line["Charge Ref"] for line in lines} & {line.charge_id for line in world.pair.ledger}
    assert len(lines) == world.pair.truth.vendor_rows


def one_row(world: DemoWorld) -> None:
    [line] = lines_of(world)
    known = {ours.charge_id: ours.cents for ours in world.pair.ledger}
    assert known[line["Charge Ref"]] == int(line["Net Amount"].replace(".", ""))


def replaced(world: DemoWorld) -> None:
    """Still a well-formed March invoice: other bytes, the same lines but for one amount."""
    lines = lines_of(world)
    changed = [
        x for x, y in zip(lines, world.pair.vendor, strict=True) if int(x["Net Amount"].replace(".", "")) != y.cents
    ]
    assert len(changed) == 1


def same_bytes(world: DemoWorld) -> None:
    assert world.read(world.export_key) == world.data.exports()[world.export_key]
    assert etags(world)[world.export_key].strip('"').endswith("-1")


def second_file(world: DemoWorld) -> None:
    drop = world.data.task.drop
    assert len([key for key in etags(world) if drop.matches(key, world.period)]) == 2


def currency(world: DemoWorld) -> None:
    assert {line["Currency"] for line in lines_of(world)} == {"EUR"}


def inflated(world: DemoWorld) -> None:
    billed = {line["Charge Ref"]: int(line["Net Amount"].replace(".", "")) for line in lines_of(world)}
    credits_ = [line.cents - billed.get(line.charge_id, 0) for line in world.pair.ledger]
    due = [cents for cents in credits_ if cents > 0]
    assert sum(due) > 50_000
    assert len(due) <= 50


def perfect(world: DemoWorld) -> None:
    billed = {line["Charge Ref"]: int(line["Net Amount"].replace(".", "")) for line in lines_of(world)}
    assert billed == {line.charge_id: line.cents for line in world.pair.ledger}


def one_sided(world: DemoWorld) -> None:
    """Every ledger row comes back, whatever the vendor holds."""
    query = (world.roots.sql / "reconcile.sql").read_text(encoding="utf-8")
    with world.connection() as warehouse:
        warehouse.execute("create temp view ledger as select * from ledger.charges")
        results = []
        for vendor in ("select * from ledger.charges", "select * from ledger.charges where false"):
            warehouse.execute(f"create or replace temp view vendor as {vendor}")
            results.append(warehouse.execute(f"select count(*), count(vendor_amount) from ({query})").fetchall())
    assert results == [[(71_800, 0)], [(71_800, 0)]]


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("delete-export-before-plan", gone),
        ("delete-export-after-admission", gone),
        ("delete-export-after-fetch", gone),
        ("replace-export-after-admission", replaced),
        ("reupload-same-bytes", same_bytes),
        ("empty-export", empty),
        ("header-only-export", header_only),
        ("truncate-gzip-export", truncated),
        ("one-sided-sql", one_sided),
        ("wrong-month-export", wrong_month),
        ("vendor-matches-nothing", foreign),
        ("one-row-export", one_row),
        ("second-file-in-drop", second_file),
        ("new-currency-column", currency),
        ("inflate-credits", inflated),
        ("perfect-month", perfect),
    ],
)
def test_fault_changes_the_world_as_it_says(saturday, name, changed: Callable[[DemoWorld], None]):
    """And touches neither another month's files nor the ledger; seeding puts all of it right."""
    others = {key: tag for key, tag in etags(saturday).items() if "2026-03" not in key}
    strike(saturday, name)

    changed(saturday)
    assert {key: tag for key, tag in etags(saturday).items() if "2026-03" not in key} == others
    with saturday.connection() as warehouse:
        [(total,)] = warehouse.execute(
            "select sum(amount) from ledger.charges where charge_id like 'CH-202603-%'"
        ).fetchall()
    assert total == saturday.pair.truth.ledger_sum

    saturday.seed()
    assert {key: saturday.read(key) for key in etags(saturday)} == saturday.data.exports()
    assert (saturday.roots.sql / "reconcile.sql").read_bytes() == (SQL_FOLDER / "reconcile.sql").read_bytes()


@pytest.mark.parametrize(
    ("name", "left"),
    [("empty-staging-before-reconcile", [(0,)]), ("drop-staging-before-reconcile", None)],
)
def test_fault_between_two_steps_reaches_the_staging_table(saturday, name, left):
    with saturday.connection() as warehouse:
        warehouse.execute(f"create or replace table {staging_table(saturday)} as select 1 as one")
    strike(saturday, name)

    with saturday.connection() as warehouse:
        tables = warehouse.execute(
            "select table_name from information_schema.tables where table_schema || '.' || table_name = ?",
            [staging_table(saturday)],
        ).fetchall()
        found = warehouse.execute(f"select count(*) from {staging_table(saturday)}").fetchall() if tables else None
    assert found == left


def test_faults_refuse_a_world_that_is_not_the_flagships(council):
    with pytest.raises(ValueError, match="council"):
        FAULTS["empty-export"].apply(council)


# ---------------------------------------------------------------------- inside a call


@pytest.fixture
def ports(saturday) -> Ports:
    objects = S3ObjectStoreResource(
        endpoint_url=saturday.endpoint, region_name=REGION, addressing_style="path",
        aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
    ).port()  # fmt: skip
    return Ports(objects, DuckDbWarehouse(saturday.warehouse), None, WallClock(), saturday.roots)  # type: ignore[arg-type]


def test_loader_reports_all_rows_and_leaves_none(saturday, ports):
    contract = saturday.data.task.contracts["vendor_invoice"]
    path = saturday.home / "invoice.csv"
    path.write_bytes(saturday.read(saturday.export_key))
    header = tuple(path.read_text().splitlines()[0].split(","))
    request = TextIngest(
        (path,),
        contract.format_of(saturday.export_key),
        contract.columns_for(header),
        "staging.loaded",
        "staging.loaded_rejects",
    )
    with ports.warehouse.session() as session:
        session.execute("drop table if exists staging.loaded")
        session.execute(
            "create table staging.loaded (invoice_line bigint, charge_id varchar, account_id varchar, charged_on date, "
            "description varchar, amount decimal(18,2))"
        )
    rows = []
    for fault in (None, FAULTS["load-zero-rows"]):
        report = FaultListener(fault, saturday).wrap(ports).warehouse.ingest(request)
        with ports.warehouse.session() as session:
            rows.append((report.rows_loaded, session.rows("select count(*) from staging.loaded")[0][0]))

    assert rows == [(61_397, 61_397), (61_397, 0)]


def test_object_store_fails_two_reads_after_admission_only(saturday, ports):
    """Admission reads the same object; the two failures are the fetch's, however often ports are wrapped anew."""
    listener = FaultListener(FAULTS["s3-503-twice"], saturday)

    def read() -> str:
        try:
            with listener.wrap(ports).objects.open(saturday.bucket, saturday.export_key) as stream:
                return f"{sum(len(chunk) for chunk in stream)} bytes"
        except PortError as error:
            return error.code

    whole = f"{len(saturday.read(saturday.export_key))} bytes"
    assert read() == whole
    listener.on_event("admitted", None)
    assert [read() for _ in range(4)] == ["UNAVAILABLE", "UNAVAILABLE", whole, whole]
    assert listener.wrap(ports).objects.head(saturday.bucket, saturday.export_key) is not None


def test_other_faults_leave_the_ports_alone(saturday, ports):
    others = [None, *(fault for fault in FAULTS.values() if fault.when != "inside-call")]

    assert all(FaultListener(fault, saturday).wrap(ports) is ports for fault in others)
