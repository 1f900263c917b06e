"""The arrival sensor on a real bucket: every settled set is asked for once, whatever happens to its keys."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor, list_drop, look_at_drop
from dagster_planexec.world.ports import Clock
from tests.support.flagship import world_of

pytestmark = pytest.mark.xdist_group("flagship-arrivals")
FEBRUARY = "vendor/exports/2026-02-invoice.csv"


class Later(Clock):
    """A clock that runs ahead of the bucket's."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class Ticks:
    """The daemon's part: it stores the cursor of a tick together with its requests."""

    def __init__(self, work, *, ahead: float = 3600.0) -> None:
        self.work = replace(work, ports=replace(work.ports, clock=Later(ahead)))
        self.cursor: str | None = None

    def tick(self, *, stored: bool = True) -> dg.SensorResult:
        result = look_at_drop(self.work, self.cursor)
        if stored:
            self.cursor = result.cursor
        return result

    def asked(self, *, stored: bool = True) -> list[str]:
        """Partitions that one tick asks for."""
        return [request.partition_key for request in self.tick(stored=stored).run_requests or []]


@pytest.fixture
def world(tmp_path, seeded, endpoint):
    """A bucket with the February delivery only."""
    with world_of(seeded, tmp_path, endpoint) as world:
        for key in world.data.exports():
            if key != FEBRUARY:
                world.remove(key)
        yield world


@pytest.fixture
def work(world):
    """The flagship's work in that world."""
    work = work_of(VENDOR_RECONCILIATION.binding)
    yield work
    work.journal.close()


def test_settled_delivery_is_asked_for_once(work):
    """One request for the month, and none when nothing has changed."""
    ticks = Ticks(work)

    assert [ticks.asked() for _ in range(3)] == [["2026-02-01"], [], []]


def test_request_that_was_not_stored_is_asked_for_again_under_the_same_key(work):
    """The daemon died between the tick and the store: nothing is lost, and nothing runs twice."""
    ticks = Ticks(work)
    first = ticks.tick(stored=False).run_requests
    again = ticks.tick().run_requests

    assert [r.run_key for r in first] == [r.run_key for r in again]
    assert ticks.asked() == []


def test_delivery_that_still_changes_waits(world, work):
    """Fifteen minutes of quiet, by the newest object."""
    world.put(FEBRUARY, world.read(FEBRUARY))  # delivered now, however long ago the world was set up

    result = Ticks(work, ahead=14 * 60).tick()

    assert result.run_requests == []
    assert "1 deliveries not yet requested, of which 1 still change" in result.skip_reason.skip_message


def test_quiet_period_can_be_shortened_by_the_environment(work, monkeypatch):
    """A demo does not wait a quarter of an hour."""
    monkeypatch.setenv("PLANEXEC_QUIET_S", "5")

    assert Ticks(work, ahead=10).asked() == ["2026-02-01"]


def test_overwritten_key_is_a_new_delivery_also_when_the_bytes_come_back(world, work):
    """A, then B, then A again: three requests, of three run keys."""
    ticks = Ticks(work)
    original = world.read(FEBRUARY)
    keys = [r.run_key for r in ticks.tick().run_requests]
    for content in (original + b"\n", original):
        wait_for_the_next_second()
        world.put(FEBRUARY, content)
        keys += [r.run_key for r in ticks.tick().run_requests]

    assert len(set(keys)) == len(keys) == 3


def test_deleted_key_raises_nothing_and_asks_for_nothing(world, work):
    """A lifecycle rule is no arrival, before and after a request."""
    ticks = Ticks(work)
    ticks.tick()
    world.remove(FEBRUARY)

    assert [ticks.asked(), ticks.asked()] == [[], []]


def test_forty_parts_are_one_run(world, work):
    """One request per settled set, not per object."""
    for n in range(40):
        world.put(f"vendor/exports/2026-02-invoice-part{n:02d}.csv", b"a\n1\n")
    result = Ticks(work).tick()

    assert [r.tags["planexec/objects"] for r in result.run_requests] == ["41"]


def test_late_part_makes_a_new_request(world, work):
    """What came in the same second as something known is seen all the same."""
    ticks = Ticks(work)
    ticks.tick()
    world.put("vendor/exports/2026-02-invoice-late.csv", b"a\n1\n")

    assert ticks.asked() == ["2026-02-01"]


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("vendor/exports/2026-01-invoice.csv", b""),
        ("vendor/exports/2026-01/", b""),
        ("vendor/exports/readme.txt", b"hello"),
        ("vendor/exports/2026-13-invoice.csv", b"a\n1\n"),
        ("vendor/exports/2019-01-invoice.csv", b"a\n1\n"),
        ("vendor/exports/2026-01-invoice.csv'); drop table x;--", b"a\n1\n"),
    ],
    ids=["no-bytes", "marker", "another-name", "no-month", "before-the-task", "injection"],
)
def test_objects_of_no_period_are_passed_over_and_counted(world, work, key, content):
    """Neither a request nor an error."""
    world.put(key, content)
    ticks = Ticks(work)

    assert ticks.asked() == ["2026-02-01"]
    assert "2 objects, 1 passed over" in ticks.tick().skip_reason.skip_message


def test_delivery_of_a_month_that_has_not_ended_waits(world, work):
    """It is no partition yet."""
    month = f"{datetime.now(UTC):%Y-%m}"
    world.put(f"vendor/exports/{month}-invoice.csv", b"a\n1\n")
    ticks = Ticks(work)

    assert ticks.asked() == ["2026-02-01"]
    assert "1 are of a period that has not ended" in ticks.tick().skip_reason.skip_message


@pytest.mark.parametrize("cursor", [None, "", "{}", "[1]", '{"asked": 3}', '{"asked": [null]}', "not json"])
def test_foreign_cursor_is_as_good_as_none(work, cursor):
    """Nothing a cursor can hold makes the sensor fail."""
    ticks = Ticks(work)
    ticks.cursor = cursor

    assert ticks.asked() == ["2026-02-01"]


def test_cursor_stays_small_with_many_months(world, work):
    """It names what was asked for, not what was seen."""
    for month in range(1, 11):
        for part in range(20):
            world.put(f"vendor/exports/2026-{month:02d}-invoice-{part}.csv", b"a\n1\n")
    result = Ticks(work).tick()

    assert len(result.run_requests) == 10
    assert len(result.cursor) < 4096
    assert json.loads(result.cursor)["asked"] == [r.run_key for r in result.run_requests]


def test_sensor_runs_by_itself_and_starts_the_task_run(world):
    """As Dagster calls it."""
    sensor = arrival_sensor(VENDOR_RECONCILIATION.binding)
    with dg.build_sensor_context() as context:
        result = sensor(context)

    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert sensor.job_name == "vendor_reconciliation__task_run"
    assert "1 objects" in result.skip_reason.skip_message


def test_quarter_is_recognised_in_a_key(seeded, endpoint):
    """The council's files are named by quarter."""
    from assets.council_spend.binding import COUNCIL_SPEND

    world = DemoWorld(seeded, endpoint, data="council")
    world.seed_drop()
    from dagster_planexec.resources.s3_object_store import S3ObjectStore

    task = COUNCIL_SPEND.binding.task
    listing = list_drop(task, S3ObjectStore(world.s3).list(task.drop.bucket, task.drop.prefix))

    assert sorted(listing.deliveries) == ["2017-Q2", "2017-Q3", "2017-Q4", "2018-Q1"]


def wait_for_the_next_second() -> None:
    """The store's clock has whole seconds."""
    import time

    time.sleep(1.05)
