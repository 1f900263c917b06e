"""The arrival sensor: one run per period and settled set of objects, whatever was overwritten, deleted or re-sent."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import dagster as dg

from dagster_planexec.compiler.binding import TaskBinding, work_of
from dagster_planexec.contract.task import Drop, Task
from dagster_planexec.definitions.partitions import has_partition
from dagster_planexec.definitions.planned_task import task_run_name
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.arrivals import Arrival, ask, confirm, remember, requested
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts

QUIET_VARIABLE = "PLANEXEC_QUIET_S"
"""Overrides every task's quiet period, in seconds: a demo does not wait a quarter of an hour."""
MOST_REQUESTS = 40
"""Runs asked for in one tick at most: a cursor that names them stays far under 4 kB. The rest follow next time."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_PERIOD = r"\d{4}-(?:\d{2}|Q[1-4])"


@dataclass(slots=True)
class Delivery:
    """What lies in the drop for one period now."""

    period: Period
    arrivals: list[Arrival] = field(default_factory=list)
    newest: datetime = _LONG_AGO

    def add(self, facts: ObjectFacts) -> None:
        """One more object."""
        self.arrivals.append(Arrival.of(facts, self.period.text))
        self.newest = max(self.newest, facts.last_modified)

    @property
    def run_key(self) -> str:
        """The partition and the set: the same objects in the same versions are never requested twice."""
        versions = json.dumps(sorted([a.bucket, a.key, a.version] for a in self.arrivals))
        return f"{self.period.key}:{hashlib.sha256(versions.encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class Listing:
    """Everything in the drop, by period, and what was passed over."""

    deliveries: dict[str, Delivery] = field(default_factory=dict)
    objects: int = 0
    passed_over: int = 0
    """Markers, objects of no bytes, and keys of no period."""


def arrival_sensor(binding: TaskBinding, *, interval_s: int = 30) -> dg.SensorDefinition:
    """A sensor that looks at a task's drop.

    Args:
        binding: The task's parts.
        interval_s: Seconds between two looks at least.
    """
    task = binding.task

    @dg.sensor(
        name=f"{task.name}__arrivals",
        job_name=task_run_name(task),
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Looks at s3://{task.drop.bucket}/{task.drop.prefix}; starts a run when a delivery has settled.",
    )
    def arrivals(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        work = work_of(binding)
        try:
            return look_at_drop(work, context.cursor)
        finally:
            work.journal.close()

    return arrivals


def look_at_drop(work: Work, cursor: str | None) -> dg.SensorResult:
    """One tick: what is new and settled becomes a request, everything else a count.

    The cursor names what the tick before asked for. Dagster stores it together with the requests, so finding it here
    means that they are durable; without it they are asked for again, under the same run keys.
    """
    task, journal = work.task, work.journal
    for run_key in _asked(cursor):
        confirm(journal, task.name, run_key)
    now = work.ports.clock.now()
    listing = list_drop(task, work.ports.objects.list(task.drop.bucket, task.drop.prefix))
    fresh = remember(journal, task.name, (a for d in listing.deliveries.values() for a in d.arrivals))
    done = requested(journal, task.name)
    waiting = [
        d
        for d in listing.deliveries.values()
        if any(done.get((a.bucket, a.key, a.version)) is None for a in d.arrivals)
    ]
    due = [d for d in waiting if d.newest + _quiet(task) <= now]
    open_now = [d for d in due if has_partition(task, d.period, now)]
    asked = sorted(open_now, key=lambda d: d.period)[:MOST_REQUESTS]
    for delivery in asked:
        ask(journal, task.name, delivery.arrivals, delivery.run_key)
    said = (
        f"{listing.objects} objects, {listing.passed_over} passed over, {fresh} new; {len(waiting)} deliveries not yet "
        f"requested, of which {len(waiting) - len(due)} still change, {len(due) - len(open_now)} are of a period "
        f"that has not ended, {len(open_now) - len(asked)} wait for the next look"
    )
    return dg.SensorResult(
        run_requests=[
            dg.RunRequest(
                run_key=d.run_key, partition_key=d.period.key, tags={"planexec/objects": str(len(d.arrivals))}
            )
            for d in asked
        ],
        skip_reason=None if asked else said,
        cursor=json.dumps({"asked": [d.run_key for d in asked]}),
    )


def list_drop(task: Task, objects: Iterable[ObjectFacts]) -> Listing:
    """The objects by period."""
    listing = Listing()
    pattern = _any_period(task.drop)
    for facts in objects:
        listing.objects += 1
        period = _period_of(task, pattern, facts)
        if period is None:
            listing.passed_over += 1
        else:
            listing.deliveries.setdefault(period.text, Delivery(period)).add(facts)
    return listing


def _period_of(task: Task, pattern: re.Pattern[str], facts: ObjectFacts) -> Period | None:
    if facts.size == 0 or facts.key.endswith("/"):
        return None
    found = pattern.fullmatch(facts.key[len(task.drop.prefix) :])
    if found is None:
        return None
    try:
        period = task.period(found["planexec_period"])
    except PlanexecError:
        return None  # named like a period, and none of the task's
    return period if task.drop.matches(facts.key, period) else None


def _any_period(drop: Drop) -> re.Pattern[str]:
    """The drop's pattern for whatever period: the first mention captures, the others must be the same."""
    first = drop.pattern.replace("{period}", f"(?P<planexec_period>{_PERIOD})", 1)
    return re.compile(first.replace("{period}", "(?P=planexec_period)"))


def _quiet(task: Task) -> timedelta:
    return timedelta(seconds=float(os.environ.get(QUIET_VARIABLE) or task.drop.quiet_s))


def _asked(cursor: str | None) -> Sequence[str]:
    """The run keys in a cursor; none in one that this sensor did not write."""
    try:
        asked = json.loads(cursor or "{}")["asked"]
    except (ValueError, KeyError, TypeError):
        return ()
    return [run_key for run_key in asked if isinstance(run_key, str)] if isinstance(asked, list) else ()
