"""The arrival sensor on a real bucket: every settled set is asked for once, whatever happens to its keys."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import dagster as dg
import pytest

from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PlanexecError
from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor
from tests.support.drops import QUIET_S, SetClock, Watch, instance_in, planned_for, with_ports
from tests.support.flagship import world_of

FEBRUARY = "exports/2026-02-invoice.csv"
PATTERN = r"{period}-invoice.*\.csv(\.gz)?"


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def vendor(s3):
    """A bucket with the February delivery."""
    s3.put(FEBRUARY, b"a,b\n1,2\n")
    return s3


@pytest.fixture
def watch(vendor, tmp_path, monkeypatch, instance):
    """A sensor whose clock is an hour ahead of the bucket's, so what lies there has settled."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    clock = SetClock(ahead_s=3600)
    drop = Drop(vendor.name, "exports/", PATTERN, input="vendor", quiet_s=QUIET_S)
    return Watch(planned_for(drop, vendor.store(), clock, name=vendor.name.replace("-", "_")), instance, clock)


def test_settled_delivery_is_asked_for_once(watch):
    """One request for the month, and none when nothing has changed."""
    assert [watch.asked() for _ in range(3)] == [["2026-02-01"], [], []]


@pytest.mark.parametrize(
    "lost", [{"stored": False}, {"started": False}], ids=["tick-not-stored", "stored-and-nothing-started"]
)
def test_request_that_started_nothing_is_asked_for_again_under_the_same_key(watch, lost):
    """The daemon died, dropped the request, or a person tried the sensor out: nothing is lost, nothing runs twice."""
    first = watch.tick(**lost).run_requests
    again = watch.tick().run_requests

    assert [r.run_key for r in first] == [r.run_key for r in again]
    assert watch.asked() == []


def test_delivery_that_still_changes_waits(vendor, watch):
    """A quarter of an hour without change, by the newest object; the tick says until when."""
    watch.clock.forward(-3600)
    waiting = watch.said()
    watch.clock.forward(QUIET_S - 5)
    vendor.put("exports/2026-02-invoice-2.csv", b"a,b\n1,2\n")
    still = watch.said()
    watch.clock.forward(QUIET_S)

    assert "1 still change (2026-02 until 20" in waiting
    assert "1 new; 0 runs requested; 1 still change" in still
    assert watch.asked() == ["2026-02-01"]


def test_quiet_period_can_be_shortened_by_the_environment(watch, monkeypatch):
    """A demo does not wait a quarter of an hour."""
    monkeypatch.setenv("PLANEXEC_QUIET_S", "1")
    watch.clock.forward(-3598)

    assert watch.asked() == ["2026-02-01"]


def test_object_of_the_future_settles_by_the_sensors_own_clock(watch):
    """The store's clock is two hours ahead: the delivery waits the quiet period, not two hours more."""
    watch.clock.forward(-2 * 3600)
    assert watch.asked() == []
    watch.clock.forward(QUIET_S + 1)

    assert watch.asked() == ["2026-02-01"]


def test_overwritten_key_is_a_new_delivery_also_when_the_bytes_come_back(vendor, watch):
    """A, then B, then A again: three requests, of three run keys."""
    keys = [r.run_key for r in watch.tick().run_requests]
    for content in (b"a,b\n1,3\n", b"a,b\n1,2\n"):
        wait_for_the_next_second()
        vendor.put(FEBRUARY, content)
        keys += [r.run_key for r in watch.settle().run_requests]

    assert len(set(keys)) == len(keys) == 3
    assert all(key.startswith("2026-02-01:") for key in keys)


def test_deleted_key_raises_nothing_and_asks_for_nothing(vendor, watch):
    """A lifecycle rule is no arrival: not of the object that was seen last, and not of all."""
    vendor.put("exports/2026-02-invoice-9.csv", b"a,b\n1,2\n")
    watch.tick()
    vendor.delete("exports/2026-02-invoice-9.csv")
    assert [watch.asked(), watch.asked()] == [[], []]
    vendor.delete(FEBRUARY)

    assert watch.said().startswith("0 objects, 0 passed over, 0 new; 0 runs requested")
    assert [watch.asked(), watch.asked()] == [[], []]


def test_forty_parts_are_one_run(vendor, watch):
    """One request per settled set, not per object."""
    for n in range(39):
        vendor.put(f"exports/2026-02-invoice-part{n:02d}.csv", b"a\n1\n")

    assert [r.tags["planexec/objects"] for r in watch.tick().run_requests] == ["40"]


def test_late_part_makes_a_new_request(vendor, watch):
    """What came in the same second as something known is seen all the same."""
    watch.tick()
    vendor.put("exports/2026-02-invoice-late.csv", b"a\n1\n")

    assert [r.tags["planexec/objects"] for r in watch.settle().run_requests] == ["2"]


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("exports/2026-01-invoice.csv", b""),
        ("exports/2026-01/", b""),
        ("exports/_SUCCESS", b""),
        ("exports/2026-01-invoice.csv/", b"a\n1\n"),
        ("exports/readme.txt", b"hello"),
        ("exports/2026-13-invoice.csv", b"a\n1\n"),
        ("exports/2019-01-invoice.csv", b"a\n1\n"),
        ("exports/2026-Q1-invoice.csv", b"a\n1\n"),
        ("exports/٢٠٢٦-01-invoice.csv", b"a\n1\n"),
        ("exports/2026-01-invoice.csv'); drop table x;--", b"a\n1\n"),
    ],
    ids=["no-bytes", "marker", "success", "slash", "name", "no-month", "too-early", "quarter", "digits", "injection"],
)
def test_objects_of_no_period_are_passed_over_and_counted(vendor, watch, key, content):
    """Neither a request nor an error."""
    vendor.put(key, content)

    assert watch.asked() == ["2026-02-01"]
    assert watch.said().startswith("2 objects, 1 passed over, 0 new")


def test_delivery_of_a_month_that_has_not_ended_waits(vendor, watch):
    """It is no partition yet. Tomorrow's month by the sensor's own clock, so that none ends while this is looked at."""
    month = f"{watch.clock.now() + timedelta(days=1):%Y-%m}"
    vendor.put(f"exports/{month}-invoice.csv", b"a\n1\n")

    assert watch.asked() == ["2026-02-01"]
    assert f"1 are of a period that has not ended ({month})" in watch.said()


@pytest.mark.parametrize(
    "cursor",
    ["", "{}", "[1]", '{"looked": 3}', '{"looked": "2026-01-01"}', '{"began": "x"}', '{"after": "%"}',
     '{"began": "2026-01-01T00:00:00+00:00", "after": "_w=="}', "not json", "null"],
)  # fmt: skip
def test_foreign_cursor_is_as_good_as_none(watch, cursor):
    """Nothing a cursor can hold makes the sensor fail."""
    watch.cursor = cursor

    assert watch.asked() == ["2026-02-01"]


def test_cursor_that_a_person_resets_asks_for_nothing_twice(watch):
    """What was requested is in the journal, not in the cursor."""
    watch.tick()
    watch.cursor = None

    assert watch.asked() == []


def test_request_names_its_set_and_the_journal_holds_it(watch):
    """No key is in a tag: the run names the set by a digest, which the journal knows."""
    (request,) = watch.tick().run_requests
    (seen,) = watch.seen("2026-02")
    ours = {name: value for name, value in request.tags.items() if name.startswith("planexec/")}

    assert ours == {"planexec/delivery": request.run_key.removeprefix("2026-02-01:"), "planexec/objects": "1"}
    assert (seen.key, seen.requested) == (FEBRUARY, request.run_key)
    assert "invoice" not in json.dumps(dict(request.tags))


def test_journal_from_before_the_sensor_kept_sets_is_read(watch, tmp_path):
    """A table of the old shape with a row of the old kind: nothing raises, and the month is asked for once."""
    with sqlite3.connect(tmp_path / "journal.sqlite") as old:
        old.execute(
            "create table planexec_arrivals (task varchar(200), bucket varchar(200), object_key varchar(1024), version "
            "varchar(300), period varchar(20) not null, size bigint not null, first_seen varchar(40) not null, "
            "requested varchar(200), primary key (task, bucket, object_key, version))"
        )
        row = (watch.binding.task.name, watch.binding.task.drop.bucket, FEBRUARY, "v", "2026-02", 3, "2026", "?old")
        old.execute("insert into planexec_arrivals values (?, ?, ?, ?, ?, ?, ?, ?)", row)
    old.close()

    assert [watch.asked(), watch.asked()] == [["2026-02-01"], []]


@pytest.mark.parametrize(
    ("pattern", "key", "periods"),
    [
        (r"(invoice-{period}|{period}-bill)\.csv", "exports/2026-02-bill.csv", ["2026-02-01"]),
        (r"{period}/{period}\.csv", "exports/2026-02/2026-02.csv", ["2026-02-01"]),
        (r"{period}/{period}\.csv", "exports/2026-02/2026-01.csv", []),
        (r".*{period}.*\.csv", "exports/2026-02-corrects-2026-01.csv", ["2026-01-01", "2026-02-01"]),
        (r"\d+{period}\.csv", "exports/120262026-02.csv", ["2026-02-01"]),
    ],
    ids=["either-branch", "twice-the-same", "twice-another", "two-months", "after-digits"],
)
def test_object_belongs_to_the_months_whose_runs_would_read_it(vendor, watch, instance, pattern, key, periods):
    """The sensor sorts by the very pattern by which a run admits: no key is read by a month and unseen for it."""
    vendor.put(key, b"a\n1\n")
    vendor.delete(FEBRUARY)
    drop = replace(watch.binding.task.drop, pattern=pattern)
    clock = SetClock(ahead_s=3600)
    sorting = Watch(planned_for(drop, vendor.store(), clock, name=f"{watch.binding.task.name}_p"), instance, clock)

    assert [sorting.asked(), sorting.asked()] == [periods, []]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [(r"invoice\.csv", "does not name the period"), (r"{period}-(.csv", "is no regular expression")],
)
def test_pattern_that_cannot_tell_months_is_refused_when_the_definitions_load(watch, pattern, why):
    """And not at three in the morning, by a tick."""
    task = watch.binding.task
    binding = replace(watch.binding, task=replace(task, drop=replace(task.drop, pattern=pattern)))
    with pytest.raises(PlanexecError, match=why) as refused:
        arrival_sensor(binding)

    assert refused.value.code == "BAD_CONTRACT"
    assert "{period}" in refused.value.hint


def test_drop_that_moves_to_another_bucket_starts_anew(vendor, watch, s3_server):
    """What lay in the old one is no part of the delivery any more."""
    watch.tick()
    s3_server.client.create_bucket(Bucket=f"{vendor.name}-moved")
    s3_server.client.put_object(Bucket=f"{vendor.name}-moved", Key=FEBRUARY, Body=b"a,b\n1,2\n")
    drop = replace(watch.binding.task.drop, bucket=f"{vendor.name}-moved")
    moved = planned_for(drop, vendor.store(), watch.clock, name=watch.binding.task.name)
    after = Watch(moved, watch.instance, watch.clock)

    assert [r.tags["planexec/objects"] for r in after.tick().run_requests] == ["1"]
    assert after.asked() == []


def test_sensor_of_the_project_is_on_and_starts_the_task_run(tmp_path, seeded, endpoint, instance):
    """As the example defines it, on its own resources."""
    clock = SetClock(ahead_s=3600)
    with world_of(seeded, tmp_path, endpoint):
        watch = Watch(with_ports(VENDOR_RECONCILIATION, clock=clock), instance, clock)
        asked = watch.asked()

    assert watch.sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert watch.sensor.job_name == "vendor_reconciliation__task_run"
    assert asked[:3] == ["2026-01-01", "2026-02-01", "2026-03-01"]


def test_quarter_is_recognised_in_a_key(tmp_path, seeded, endpoint, instance):
    """The council's files are named by quarter."""
    from assets.council_spend.binding import COUNCIL_SPEND

    clock = SetClock(ahead_s=3600)
    with world_of(seeded, tmp_path, endpoint):
        DemoWorld(tmp_path, endpoint, data="council").seed_drop()
        asked = Watch(with_ports(COUNCIL_SPEND, clock=clock), instance, clock).asked()

    assert asked == ["2017-04-01", "2017-07-01", "2017-10-01", "2018-01-01"]


def wait_for_the_next_second() -> None:
    """The store's clock has whole seconds."""
    time.sleep(1.05)
