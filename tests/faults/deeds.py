"""What is done to the world: by somebody with access to the warehouse, the bucket or the folders, or by the system."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from assets.demo import saturday
from dagster_planexec.errors import PortError, RefusedError
from tests.faults.case import Deed, Trouble
from tests.faults.scene import Scene

LEDGER = "ledger.charges"
LEDGER_COPY = "staging.ledger_202602"
STAGED = "staging.vendor_invoice_202602"
LINES = "recon.lines_202602"
KEPT = "main.kept"
DAY = timedelta(hours=26)

# ---------------------------------------------------------------------- the warehouse


def sql(*statements: str) -> Deed:
    """Somebody runs these, one after the other."""

    def deed(scene: Scene) -> None:
        with scene.demo.connection() as warehouse:
            for statement in statements:
                warehouse.execute(statement)

    return deed


def first(table: str, count: int = 1, where: str = "true") -> str:
    """The first lines of a table, as a condition."""
    return f"charge_id in (select charge_id from {table} where {where} order by 1 limit {count})"


def kept(*statements: str) -> Deed:
    """The same to the ledger, of which a copy is kept aside."""
    return sql(f"create table {KEPT} as select * from {LEDGER}", *statements)


put_back = sql(f"create or replace table {LEDGER} as select * from {KEPT}", f"drop table {KEPT}")
"""The ledger is again as it was kept."""


def held(*, briefly: bool = False) -> Deed:
    """Another process opens the warehouse file, until the run has ended or until the step's first try has."""

    def deed(scene: Scene) -> None:
        scene.holder.hold(scene.home / "warehouse.duckdb")
        scene.passing.callback(scene.holder.let_go)
        if briefly:
            scene.after_try.append(scene.holder.let_go)

    return deed


@contextmanager
def slow(scene: Scene) -> Iterator[None]:
    """Statements take longer than they may."""
    scene.warehouse.slow = True
    try:
        yield
    finally:
        scene.warehouse.slow = False


@contextmanager
def answers_are_lost(scene: Scene) -> Iterator[None]:
    """Everything is committed, and the connection breaks."""
    scene.warehouse.loses_answers = True
    try:
        yield
    finally:
        scene.warehouse.loses_answers = False


@contextmanager
def breaks_off(scene: Scene) -> Iterator[None]:
    """The call does all it has to, and ends in an error."""
    yield
    raise PortError("UNAVAILABLE", "the answer was 500 Internal Server Error")


# ---------------------------------------------------------------------- the disk, the clock


def no_file_grows_beyond(size: int) -> Trouble:
    """The kernel refuses to write beyond so many bytes of any file: EFBIG, which is met like ENOSPC."""

    @contextmanager
    def trouble(scene: Scene) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return trouble


@contextmanager
def clock_jumps(scene: Scene) -> Iterator[None]:
    """A day ahead when the call begins, a day behind when it has ended; the next run has the right time."""
    scene.time.ahead = DAY
    scene.passing.callback(setattr, scene.time, "ahead", timedelta(0))
    yield
    scene.time.ahead = -DAY


# ---------------------------------------------------------------------- the bucket


def export(content: Callable[[Scene], bytes]) -> Deed:
    """The vendor's file is another."""
    return lambda scene: scene.demo.put(scene.demo.export_key, content(scene))


def export_is_deleted(scene: Scene) -> None:
    """As a lifecycle rule does."""
    scene.demo.remove(scene.demo.export_key)


def delivered_again(scene: Scene) -> None:
    """The vendor delivers what was delivered first."""
    scene.demo.seed_drop()


def with_a_cent_more(scene: Scene) -> bytes:
    """One amount is another."""
    lines = scene.demo.pair.vendor
    return saturday.export_csv([lines[0]._replace(cents=lines[0].cents + 1), *lines[1:]])


def with_a_currency(scene: Scene) -> bytes:
    """A column that nobody declared."""
    return saturday.export_csv(scene.demo.pair.vendor, more=[("Currency", "EUR")])


def with_a_line_twice(scene: Scene) -> bytes:
    """The last line comes again."""
    lines = scene.demo.pair.vendor
    return saturday.export_csv([*lines, lines[-1]])


def store(answers: str) -> Trouble:
    """The store's server spoils every read of an object."""

    @contextmanager
    def trouble(scene: Scene) -> Iterator[None]:
        scene.busy.spoil = answers
        try:
            yield
        finally:
            scene.busy.spoil = None

    return trouble


# ---------------------------------------------------------------------- files


def landed(scene: Scene) -> Path:
    """The one landed copy."""
    (found,) = [p for p in (scene.home / "landing").rglob("*") if p.is_file() and "quarantine" not in p.parts]
    return found


def landed_copy_is_deleted(scene: Scene) -> None:
    """Somebody cleans up."""
    landed(scene).unlink()


def landed_copy_is_changed(scene: Scene) -> None:
    """One digit of one amount."""
    whole = landed(scene).read_bytes()
    at = max(whole.rfind(b"1"), whole.rfind(b"2"))
    landed(scene).write_bytes(whole[:at] + b"7" + whole[at + 1 :])


def landed_copy_is_cut(scene: Scene) -> None:
    """Its second half is missing."""
    os.truncate(landed(scene), landed(scene).stat().st_size // 2)


def report(name: str) -> Callable[[Scene], Path]:
    """One of the report's files."""
    return lambda scene: scene.home / "reports" / f"{scene.period}-recon.{name}"


def report_is_deleted(scene: Scene) -> None:
    """One of its three files."""
    report("json")(scene).unlink()


def report_is_changed(scene: Scene) -> None:
    """A figure in it."""
    path = report("json")(scene)
    path.write_text(path.read_text(encoding="utf-8").replace("4100", "4099"), encoding="utf-8")


def report_is_cut(scene: Scene) -> None:
    """Its second half is missing."""
    path = report("md")(scene)
    os.truncate(path, path.stat().st_size // 2)


def report_gains_a_column(scene: Scene) -> None:
    """A figure that nobody computed stands in it."""
    path = report("json")(scene)
    path.write_text(path.read_text(encoding="utf-8").replace('"identical"', '"alike"'), encoding="utf-8")


def sql_file_is_deleted(scene: Scene) -> None:
    """The query under the home."""
    (scene.home / "sql" / "reconcile.sql").unlink()


def seeded_again(scene: Scene) -> None:
    """Folders, queries, ledger and bucket as they were."""
    scene.demo.seed()


# ---------------------------------------------------------------------- the credit system


def credits_refuse(code: str, message: str) -> Trouble:
    """It answers before it does anything."""

    @contextmanager
    def trouble(scene: Scene) -> Iterator[None]:
        # What a timeout did not do nobody knows; whoever answers that it will not has done nothing.
        said = PortError if code == "TIMEOUT" else RefusedError
        scene.credit_system.before = said(code, message)
        try:
            yield
        finally:
            scene.credit_system.before = None

    return trouble


def credits_fail_after(code: str, message: str) -> Trouble:
    """It issues everything, and then this is its answer."""

    @contextmanager
    def trouble(scene: Scene) -> Iterator[None]:
        scene.credit_system.after = PortError(code, message)
        try:
            yield
        finally:
            scene.credit_system.after = None

    return trouble
