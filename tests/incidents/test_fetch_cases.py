"""Fetch cases from public bug reports, and more of each kind, by whole runs: S3 server, DuckDB file, journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.billed import BEFORE, HEADER, Billed, step_of, task_of
from tests.support.s3 import S3Bucket, s3, s3_server

__all__ = ["s3", "s3_server"]

CASES = Path(__file__).parents[1] / "cases" / "fetch"
BRINDLE = "drops/brindle/2026-03.csv"
OSTRAVA = "drops/ostrava/2026-03.csv"
LINES = "J1,1,2026-03-05,10.00,USD\nJ2,1,2026-03-06,20.00,USD\n"


def case(name: str) -> dict[str, Any]:
    """What must come of it."""
    found: dict[str, Any] = json.loads((CASES / name / "case.json").read_text())
    return found


@pytest.fixture
def billed(s3: S3Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Billed]:
    """Makes a world whose March plan reads these keys."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))

    def made(*keys: str, pattern: str = r"{period}.*\.csv", **months: str) -> Billed:
        prefix = keys[0][: keys[0].rindex("/") + 1]
        return Billed(s3, tmp_path, task_of(s3.name, prefix, pattern), {"2026-03": keys, **months})

    return made


def bill_of(ledger: str) -> bytes:
    """A bill that agrees with the ledger, line by line."""
    return ledger.encode()


def refused(world: Billed, expected: dict[str, Any], *, names: str) -> None:
    """The run ended as the case says: code, step, what was not run, nothing credited, no difference made up."""
    report = world.reports[-1]
    at = step_of(report, expected["at_step"])
    assert (report.status, report.code, at.outcome, at.code) == (
        "stopped",
        expected["error"],
        "failed",
        expected["error"],
    )
    assert names in report.text
    after = ("load", "reconcile", "report", "issue_credit")
    assert set(world.called()) <= {*BEFORE, "fetch", "fetch_2"}
    assert {step_of(report, name).outcome for name in after} == {"not-run"}
    assert [e for e in world.events("step-started") if e.step in after] == []
    assert len(world.credits()) == expected["credits_issued"]
    assert list((world.home / "reports").iterdir()) == []
    tables = [
        name for (name,) in world.rows("select table_name from information_schema.tables where table_schema = 'recon'")
    ]
    assert tables == []


@pytest.mark.parametrize("moment", ["step-started", "calling"], ids=["before-it-is-looked-at", "between-look-and-read"])
@pytest.mark.parametrize("gone", [1, 2], ids=["the-only-object", "one-of-two"])
def test_case_07_expired_between_plan_and_fetch(billed, s3, moment, gone):
    """The 404 ends the run where it is met; the forty lines of the ledger are no forty differences."""
    found = case("07-expired-between-plan-and-fetch")
    ledger = (CASES / "07-expired-between-plan-and-fetch" / "ledger.csv").read_text()
    keys = [BRINDLE, BRINDLE.replace(".csv", "-b.csv")][:gone]
    world = billed(*keys)
    world.charge(ledger)
    lines = ledger.splitlines(keepends=True)
    s3.put(keys[0], "".join(lines[:21] if gone == 2 else lines).encode())
    if gone == 2:
        s3.put(keys[1], "".join([lines[0], *lines[21:]]).encode())
    step = "fetch" if gone == 1 else "fetch_2"
    world.when(moment, step, lambda: s3.delete(keys[-1]))
    world.settle()

    expected = found["expected"]
    refused(world, {**expected, "at_step": step}, names=keys[-1])
    assert set(expected["must_not_run"]).isdisjoint(world.called())
    assert world.rows("select count(*) from staging.ledger_202603") == [(expected["ledger_rows"],)]


def test_case_07_expired_after_the_fetch_is_no_news(billed, s3):
    """What was fetched is landed: the rule may delete the object then, and the month is settled on the copy."""
    ledger = (CASES / "07-expired-between-plan-and-fetch" / "ledger.csv").read_text()
    world = billed(BRINDLE)
    world.charge(ledger)
    s3.put(BRINDLE, bill_of(ledger))
    world.when("step-done", "fetch", lambda: s3.delete(BRINDLE))

    assert world.settle().status == "succeeded", world.reports[-1].text
    assert world.rows("select status, count(*) from recon.lines_202603 group by all") == [("identical", 40)]


def test_case_08_delete_marker_on_latest(billed, s3):
    """The refusal names the version below the marker, and nobody brings it back by itself."""
    expected = case("08-delete-marker-on-latest")["expected"]
    for moment in ("step-started", "calling"):
        s3.keep_versions()
        world = billed(OSTRAVA)
        older = version_put(s3, OSTRAVA)
        world.when(moment, "fetch", lambda: s3.delete(OSTRAVA))
        world.settle()
        refused(world, expected, names=older)
        assert "older version" in world.reports[-1].text
        s3.delete(OSTRAVA)


def test_case_08_the_newest_of_several_older_versions_is_named(billed, s3):
    """Two uploads, then two markers: a person would restore the later upload."""
    s3.keep_versions()
    world = billed(OSTRAVA)
    first, second = version_put(s3, OSTRAVA, b"x"), version_put(s3, OSTRAVA)
    world.when("step-started", "fetch", lambda: [s3.delete(OSTRAVA), s3.delete(OSTRAVA)])
    world.settle()

    refused(world, case("08-delete-marker-on-latest")["expected"], names=second)
    assert first not in world.reports[-1].text


def test_case_08_marker_before_the_plan_rejects_the_month(billed, s3):
    """Nothing is run at all, and the version is named all the same."""
    s3.keep_versions()
    world = billed(OSTRAVA)
    older = version_put(s3, OSTRAVA)
    s3.delete(OSTRAVA)
    report = world.settle()

    assert (report.status, report.code) == ("rejected", "OBJECT_GONE")
    assert older in json.dumps([v.text for v in report.live])
    assert world.called() == []


def test_case_08_marker_that_is_taken_off_again_is_the_object(billed, s3):
    """Put on and taken off between plan and read: the very version lies there, and the month is settled."""
    s3.keep_versions()
    world = billed(OSTRAVA)
    world.charge(f"{HEADER}\n{LINES}")
    version_put(s3, OSTRAVA)

    def there_and_back() -> None:
        marker = s3.client.delete_object(Bucket=s3.name, Key=OSTRAVA)["VersionId"]
        s3.client.delete_object(Bucket=s3.name, Key=OSTRAVA, VersionId=marker)

    world.when("step-started", "fetch", there_and_back)

    assert world.settle().status == "succeeded", world.reports[-1].text


def version_put(s3: S3Bucket, key: str, body: bytes = f"{HEADER}\n{LINES}".encode()) -> str:
    """The id of the version that this upload makes."""
    return str(s3.client.put_object(Bucket=s3.name, Key=key, Body=body)["VersionId"])


MONTHS = ("2026-01", "2026-02", "2026-03")
FULL = (CASES / "50-backfill-one-empty-partition" / "2026-01" / "vendor.csv").read_text()


@pytest.mark.parametrize("variant", ["as-reported", "first-is-empty", "empty-is-no-bytes"])
def test_case_50_backfill_one_empty_partition(s3, tmp_path, monkeypatch, variant):
    """Each month by itself: the empty one is refused, and the others have their rows and sums to the cent."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    folder = CASES / "50-backfill-one-empty-partition"
    expected = case("50-backfill-one-empty-partition")["expected"]
    order = ("2026-02", "2026-01", "2026-03") if variant == "first-is-empty" else MONTHS
    source = dict(zip(MONTHS, order, strict=True))
    keys = {month: [f"drops/months/{month}/vendor.csv"] for month in MONTHS}
    world = Billed(s3, tmp_path, task_of(s3.name, "drops/months/", r"{period}/vendor\.csv"), keys)
    for month, taken in source.items():
        bill = (folder / taken / "vendor.csv").read_text().replace(f"{taken}-", f"{month}-")
        world.charge(bill)
        empty = variant == "empty-is-no-bytes" and taken in expected["refuse"]
        s3.put(keys[month][0], b"" if empty else bill.encode())
    ended = {month: world.settle(month) for month in MONTHS}

    for month, taken in source.items():
        report = ended[month]
        if taken in expected["refuse"]:
            assert report.code == expected["refuse"][taken], report.text
            assert not {"reconcile", "report", "issue_credit"} & set(world.called(month))
        else:
            assert report.status == "succeeded", report.text
            ((rows, total),) = world.rows(f"select count(*), sum(amount) from staging.bill_{month.replace('-', '')}")
            assert {"rows": rows, "sum_amount": str(total)} == expected["accept"][taken]
        assert len(world.credits(month)) == expected["credits_issued"]


def test_object_in_an_archive_is_named_and_not_read(billed, s3):
    """HEAD answers, GET does not: a code of its own, and what to do."""
    world = billed(BRINDLE)
    s3.client.put_object(Bucket=s3.name, Key=BRINDLE, Body=f"{HEADER}\n{LINES}".encode(), StorageClass="GLACIER")
    report = world.settle()

    assert (report.status, report.code) == ("error", "OBJECT_ARCHIVED")
    assert BRINDLE in report.text
    assert "restore" in str(report.hint)
    assert world.called() == []
