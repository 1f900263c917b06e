"""The schedule of the period just closed, and the partitions it asks for: by the task's clock, at every boundary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus
from dagster._core.test_utils import freeze_time
from dagster._utils.schedules import schedule_execution_time_iterator

from assets.council_spend.binding import COUNCIL_SPEND
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PlannedTask, Task, planexec_definitions, task_schedule
from dagster_planexec.definitions.partitions import has_partition, just_closed, partitions_of
from tests.support.drops import instance_in

MONTHLY = VENDOR_RECONCILIATION.binding.task
QUARTERLY = COUNCIL_SPEND.binding.task
AUCKLAND, LOS_ANGELES, ASUNCION = "Pacific/Auckland", "America/Los_Angeles", "America/Asuncion"


def zoned(task: Task, zone: str, **changes: Any) -> Task:
    """The task by another clock."""
    return replace(task, zone=zone, **changes)


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


class Scheduled:
    """A task's schedule, evaluated as Dagster does at a tick."""

    def __init__(self, task: Task, instance: dg.DagsterInstance, **options: Any) -> None:
        planned = VENDOR_RECONCILIATION if task.granularity == "month" else COUNCIL_SPEND
        self.schedule = task_schedule(task, **options)
        self.definitions = planexec_definitions(
            PlannedTask(replace(planned.binding, task=task), planned.planner), sensors=[]
        )
        self._instance = instance

    def at(self, when: datetime) -> Any:
        """What a tick comes to."""
        with (
            freeze_time(when + timedelta(seconds=1)),
            dg.build_schedule_context(
                instance=self._instance,
                scheduled_execution_time=when,
                repository_def=self.definitions.get_repository_def(),
            ) as context,
        ):
            return self.schedule.evaluate_tick(context)

    def partition(self, when: datetime) -> str | None:
        """The partition that a tick asks for."""
        (request,) = self.at(when).run_requests or [None]
        return None if request is None else request.tags["dagster/partition"]

    def ticks(self, start: datetime, end: datetime) -> list[datetime]:
        """When Dagster would evaluate it."""
        ticks = schedule_execution_time_iterator(
            start.timestamp(), self.schedule.cron_schedule, self.schedule.execution_timezone
        )
        return list(takewhile(lambda at: at < end, ticks))


@pytest.mark.parametrize(
    ("task", "when", "partition"),
    [
        (MONTHLY, datetime(2026, 3, 10, 6, tzinfo=UTC), "2026-02-01"),
        (MONTHLY, datetime(2027, 1, 10, 6, tzinfo=UTC), "2026-12-01"),
        (QUARTERLY, datetime(2018, 1, 10, 6, tzinfo=UTC), "2017-10-01"),
        (QUARTERLY, datetime(2018, 4, 10, 5, tzinfo=UTC), "2018-01-01"),
        (zoned(MONTHLY, AUCKLAND), datetime(2026, 2, 28, 10, 59, 59, tzinfo=UTC), "2026-01-01"),
        (zoned(MONTHLY, AUCKLAND), datetime(2026, 2, 28, 11, 0, tzinfo=UTC), "2026-02-01"),
        (zoned(MONTHLY, AUCKLAND), datetime(2026, 6, 30, 12, 0, tzinfo=UTC), "2026-06-01"),
        (zoned(MONTHLY, AUCKLAND), datetime(2026, 6, 30, 11, 59, 59, tzinfo=UTC), "2026-05-01"),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2026, 3, 1, 7, 59, 59, tzinfo=UTC), "2026-01-01"),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2026, 3, 1, 8, 0, tzinfo=UTC), "2026-02-01"),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2026, 11, 1, 7, 0, tzinfo=UTC), "2026-10-01"),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2026, 11, 1, 6, 59, 59, tzinfo=UTC), "2026-09-01"),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2027, 1, 1, 7, 59, 59, tzinfo=UTC), "2026-11-01"),
        (zoned(QUARTERLY, LOS_ANGELES), datetime(2018, 1, 1, 7, 59, 59, tzinfo=UTC), "2017-07-01"),
        (zoned(QUARTERLY, LOS_ANGELES), datetime(2018, 1, 1, 8, 0, tzinfo=UTC), "2017-10-01"),
        (zoned(QUARTERLY, AUCKLAND), datetime(2018, 3, 31, 11, 0, tzinfo=UTC), "2018-01-01"),
    ],
    ids=["month", "over-new-year", "quarter", "quarter-in-summer-time", "auckland-still-february",
         "auckland-already-march", "auckland-winter", "auckland-winter-before", "la-still-february", "la-already-march",
         "la-november-begins-in-summer-time", "la-still-october", "la-still-last-year", "la-q4-not-over", "la-q4-over",
         "auckland-q1-over-in-march-utc"],
)  # fmt: skip
def test_schedule_asks_for_the_period_just_closed(instance, task, when, partition):
    """By the task's own clock, to the second."""
    assert Scheduled(task, instance).partition(when) == partition


@pytest.mark.parametrize("zone", ["UTC", AUCKLAND, LOS_ANGELES])
@pytest.mark.parametrize(
    ("task", "periods"),
    [
        (MONTHLY, [f"{2026 + n // 12}-{1 + n % 12:02d}-01" for n in range(24)]),
        (replace(QUARTERLY, last_period=None), [f"{2017 + n // 4}-{1 + 3 * (n % 4):02d}-01" for n in range(1, 9)]),
    ],
    ids=["months", "quarters"],
)
def test_two_years_of_ticks_ask_for_each_period_once_and_in_order(instance, task, periods, zone):
    """At the instants at which Dagster evaluates it, across summer times and new years; at six, on the tenth."""
    scheduled = Scheduled(zoned(task, zone), instance)
    first = datetime.fromisoformat(periods[0]).replace(tzinfo=UTC)
    ticks = scheduled.ticks(first + timedelta(days=20), first + timedelta(days=20 + 731))
    results = [scheduled.at(tick).run_requests[0] for tick in ticks]

    assert [request.tags["dagster/partition"] for request in results] == periods
    assert [request.run_key for request in results] == periods
    assert {(tick.day, tick.hour, tick.minute) for tick in ticks} == {(10, 6, 0)}


def test_daily_ticks_ask_for_one_run_of_each_month(instance):
    """Another cron: every tick of a month carries one run key, under which Dagster starts one run."""
    scheduled = Scheduled(MONTHLY, instance, cron="0 6 * * *")
    keys = [scheduled.at(datetime(2026, 3, day, 6, tzinfo=UTC)).run_requests[0].run_key for day in range(1, 32, 6)]

    assert set(keys) == {"2026-02-01"}


@pytest.mark.parametrize(
    ("task", "when", "period"),
    [
        (MONTHLY, datetime(2026, 1, 10, tzinfo=UTC), "2025-12"),
        (QUARTERLY, datetime(2026, 1, 10, tzinfo=UTC), "2025-Q4"),
        (QUARTERLY, datetime(2018, 7, 10, tzinfo=UTC), "2018-Q2"),
        (QUARTERLY, datetime(2017, 4, 10, tzinfo=UTC), "2017-Q1"),
        (replace(MONTHLY, last_period="2026-02"), datetime(2026, 4, 10, tzinfo=UTC), "2026-03"),
    ],
    ids=["before-the-first", "long-after-the-last", "after-the-last", "before-the-first-quarter", "last-month"],
)
def test_schedule_skips_what_is_no_partition(instance, task, when, period):
    """And says so."""
    result = Scheduled(task, instance).at(when)

    assert not result.run_requests
    assert result.skip_message == f"{period} is not a partition of {task.name}"


def test_last_period_is_asked_for(instance):
    """The bound belongs to the partitions."""
    scheduled = Scheduled(replace(MONTHLY, last_period="2026-02"), instance)

    assert scheduled.partition(datetime(2026, 3, 10, 6, tzinfo=UTC)) == "2026-02-01"


def test_month_that_is_being_run_is_skipped(tmp_path):
    """A run of the month goes on: a second one beside it would only be in its way. Ended runs are in nobody's way."""
    when = datetime(2026, 3, 10, 6, tzinfo=UTC)
    with instance_in(tmp_path / "dagster") as instance:
        scheduled = Scheduled(MONTHLY, instance)
        job = scheduled.definitions.resolve_job_def("vendor_reconciliation__task_run")
        tags = {"dagster/partition": "2026-02-01"}
        for status in (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE):
            instance.create_run_for_job(job, tags=tags, status=status)
        before = scheduled.partition(when)
        run = instance.create_run_for_job(job, tags=tags, status=DagsterRunStatus.STARTED)
        skipped = scheduled.at(when)
        other = scheduled.partition(datetime(2026, 4, 10, 6, tzinfo=UTC))

    assert before == "2026-02-01"
    assert not skipped.run_requests
    assert skipped.skip_message.startswith(f"2026-02 is being run already: run {run.run_id}, STARTED since ")
    assert other == "2026-03-01"


@pytest.mark.parametrize(
    ("task", "now", "keys"),
    [
        (MONTHLY, datetime(2026, 4, 1, tzinfo=UTC), ["2026-01-01", "2026-02-01", "2026-03-01"]),
        (QUARTERLY, datetime(2026, 4, 1, tzinfo=UTC), ["2017-04-01", "2017-07-01", "2017-10-01", "2018-01-01"]),
        (QUARTERLY, datetime(2017, 12, 31, 23, tzinfo=UTC), ["2017-04-01", "2017-07-01"]),
        (zoned(MONTHLY, AUCKLAND), datetime(2026, 2, 28, 11, tzinfo=UTC), ["2026-01-01", "2026-02-01"]),
        (zoned(MONTHLY, LOS_ANGELES), datetime(2026, 3, 1, 7, 59, tzinfo=UTC), ["2026-01-01"]),
    ],
    ids=["months", "quarters", "quarter-still-running", "auckland", "los-angeles"],
)
def test_partition_keys_are_the_periods_own(task, now, keys):
    """First days, as `Period.key` writes them."""
    found = list(partitions_of(task).get_partition_keys(current_time=now))

    assert found == keys == [task.period(key).key for key in found]


@pytest.mark.parametrize("task", [MONTHLY, QUARTERLY, replace(MONTHLY, last_period="2026-09")], ids=["m", "q", "bound"])
@pytest.mark.parametrize("zone", ["UTC", AUCKLAND, LOS_ANGELES, ASUNCION, "Asia/Kathmandu", "Pacific/Kiritimati"])
def test_a_period_is_a_partition_exactly_when_dagster_says_so(task, zone):
    """Sensor and schedule ask only for what Dagster knows: one partition it did not know would fail the whole tick."""
    task = zoned(task, zone)
    first = task.period(task.first_period)
    periods = [first.shifted(n) for n in range(-1, 13)]
    for boundary in periods:
        at = boundary.window(zone)[1]
        for seconds in (-7200, -1, 0, 1, 7200):
            now = at + timedelta(seconds=seconds)
            dagster = set(partitions_of(task).get_partition_keys(current_time=now))
            assert {p.key for p in periods if has_partition(task, p, now)} == dagster & {p.key for p in periods}, now
            assert just_closed(task, now).window(zone)[1] <= now < just_closed(task, now).shifted(1).window(zone)[1]
