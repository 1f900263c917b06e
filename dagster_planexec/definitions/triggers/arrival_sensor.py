"""The arrival sensor: one run per period and settled set of objects, whatever was overwritten, deleted or re-sent."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import dagster as dg

from dagster_planexec.compiler.binding import TaskBinding, work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.layout import drop_of
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.partitions import has_partition
from dagster_planexec.definitions.planned_task import task_run_name
from dagster_planexec.definitions.triggers.delivery.settled import NotYet, Settling
from dagster_planexec.definitions.triggers.drop_look import LISTING_S, Looked, Place, look_through
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.arrivals.requests import (
    Delivery,
    ask,
    deliveries,
    note_started,
    set_digest,
    unstarted,
    was_last,
)
from dagster_planexec.journal.money.lease.leases import held_now

QUIET_VARIABLE = "PLANEXEC_QUIET_S"
"""Overrides every task's quiet period, in seconds: a demo does not wait a quarter of an hour."""
INTERVAL_VARIABLE = "PLANEXEC_LOOK_EVERY_S"
"""Seconds between two looks at least, read when the definitions are loaded. Dagster's own loop takes five."""
INTERVAL_S = 30
MOST_REQUESTS = 40
"""Runs asked for in one tick at most. The rest follow next time."""
_LONGEST_S = 10 * 365 * 24 * 3600
MOST_NAMED = 5
"""Periods named per reason in what a tick says; the count is exact."""
DELIVERY_TAG = "planexec/delivery"
"""On the run: which set of objects it was asked for. The journal holds the set; no vendor's text is in a tag."""
OBJECTS_TAG = "planexec/objects"


def arrival_sensor(binding: TaskBinding, *, interval_s: int | None = None) -> dg.SensorDefinition:
    """A sensor that looks at a task's drop and asks for one run per settled delivery.

    A delivery is what lies in the drop for one period. It has settled when nothing of it came or was replaced for the
    quiet period; or, where the vendor delivers a manifest, as soon as that came last and all that it names is there.
    One whose manifest or part does not come is asked for after `Manifest.wait_s` all the same, so that a run stops at
    it and people are told.

    A settled delivery is asked for if it holds anything that the last request of its period did not: a new key, other
    bytes under a known key, the same bytes sent again. What was deleted is nothing new. While a task run of the period
    has not ended, or anything else holds the period, the delivery waits, and comes next; what a run was
    asked for that stood back for another is asked for again.

    A delivery is also asked for if a person or the schedule has run the period on it already. Whether that run saw all
    of it, and was ended by something that has passed, is not for a sensor to find out; the run that is asked for
    continues the attempt with the same inputs, asks no model, reuses what is done and credits nothing twice.

    A tick that cannot look fails, with a code and a hint: what is only skipped is noticed by nobody. Nothing is lost by
    it; the next tick looks again.

    Args:
        binding: The task's parts.
        interval_s: Seconds between two looks at least; else `PLANEXEC_LOOK_EVERY_S`, else 30.

    Raises:
        PlanexecError: BAD_CONTRACT if there is no drop, it names no period, or the variable no number.
    """
    task = binding.task
    drop = drop_of(task)
    _require_pattern(task)

    @dg.sensor(
        name=f"{task.name}__arrivals",
        job_name=task_run_name(task),
        minimum_interval_seconds=interval_s or max(1, round(_seconds(INTERVAL_VARIABLE, INTERVAL_S))),
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Looks at s3://{drop.bucket}/{drop.prefix}; starts a run when a delivery has settled.",
    )
    def arrivals(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        try:
            work = work_of(binding)
            try:
                tick = look_at_drop(work, context.cursor, TaskRuns(context.instance, task))
            finally:
                work.journal.close()
        except PlanexecError as error:
            raise LookFailedError(task, error) from None  # where in the code it came from helps nobody here
        context.log.info(tick.said)
        return dg.SensorResult(
            run_requests=tick.requests,
            skip_reason=None if tick.requests else tick.said,
            cursor=tick.place.cursor,
        )

    return arrivals


class LookFailedError(dg.DagsterError):
    """A tick could not look. Dagster shows its own errors as they are, and buries any other under a stack trace."""

    def __init__(self, task: Task, error: PlanexecError) -> None:
        self.code = error.code
        self.hint = error.hint or meaning(error.code).hint
        super().__init__(f"{error.code}: {task.name}: {error.message}\nhint: {self.hint}")


@dataclass(frozen=True, slots=True)
class Tick:
    """What came of one look."""

    requests: list[dg.RunRequest]
    said: str
    """What there is and what waits for what, for people."""
    place: Place


@dataclass(slots=True)
class Waiting:
    """Deliveries that are not asked for now, by why."""

    changing: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    open_periods: list[str] = field(default_factory=list)
    next_time: list[str] = field(default_factory=list)

    def because(self, judged: NotYet) -> None:
        """One that has not settled."""
        lists = {"changing": self.changing, "parts": self.parts, "uploads": self.uploads, "next-time": self.next_time}
        lists[judged.why].append(judged.said)

    def text(self, how_to_end: str) -> str:
        """One part per reason that there is."""
        reasons = (
            (self.changing, "still change", ""),
            (self.parts, "wait for what a manifest names", ""),
            (self.uploads, "wait for an upload that is not finished by its name", ""),
            (self.running, "wait for a run to end", f": {how_to_end}"),
            (self.open_periods, "are of a period that has not ended", ""),
            (self.next_time, "wait for the next look", ""),
        )
        return "".join(f"; {len(which)} {reason} ({_listed(which)}){more}" for which, reason, more in reasons if which)


def look_at_drop(work: Work, cursor: str | None, runs: TaskRuns) -> Tick:
    """One tick: what is new and settled becomes a request, everything else a reason.

    A request counts as made once a run of its key is there, and not before: what a daemon dropped, or a person only
    tried out in a dry run, is asked for again under the same key, which Dagster starts once.
    """
    note_started(work.journal, work.task.name, runs.there_are(unstarted(work.journal, work.task.name)))
    settling = Settling(work, _quiet(work.task))
    looked = look_through(work, Place.read(cursor))
    said = _seen(looked)
    if not looked.is_whole:
        said += f"; the listing takes longer than {LISTING_S:g} s and goes on from there in the next tick"
        return Tick([], said, looked.place)
    requests, waiting, notes = _requests(work, runs, settling)
    said += f"; {len(requests)} runs requested" + (f" ({_listed(notes)})" if notes else "")
    said += waiting.text(runs.how_to_end) + _outside(looked)
    return Tick(requests, said, looked.place)


def _requests(work: Work, runs: TaskRuns, settling: Settling) -> tuple[list[dg.RunRequest], Waiting, list[str]]:
    task, now = work.task, work.ports.clock.now()
    requests: list[dg.RunRequest] = []
    notes: list[str] = []
    waiting, held = Waiting(), held_now(work.journal, task.name)
    for delivery in deliveries(work.journal, task.name):
        if delivery.news == 0:
            continue
        period = task.period(delivery.period)
        judged = settling.judge(delivery, period)
        if isinstance(judged, NotYet):
            waiting.because(judged)
            continue
        digest = set_digest(work.journal, task.name, period.text)
        if was_last(work.journal, task.name, period.text, digest):
            continue
        if not has_partition(task, period, now):
            waiting.open_periods.append(period.text)
        elif len(requests) == MOST_REQUESTS:
            waiting.next_time.append(period.text)
        elif (running := runs.unfinished(period.key)) is not None:
            waiting.running.append(f"{period.text}: {running}")
        elif period.text in held:
            waiting.running.append(f"{period.text}: {held[period.text].words}")
        else:
            run_key = ask(work.journal, task.name, period, digest, delivery.objects)
            requests.append(_request(run_key, period.key, delivery))
            notes += [judged.note] if judged.note else []
    return requests, waiting, notes


def _request(run_key: str, partition_key: str, delivery: Delivery) -> dg.RunRequest:
    tags = {DELIVERY_TAG: run_key.partition(":")[2], OBJECTS_TAG: str(delivery.objects)}
    return dg.RunRequest(run_key=run_key, partition_key=partition_key, tags=tags)


def _seen(looked: Looked) -> str:
    unread = f" ({looked.unread} of them replaced before anybody saw them)" if looked.unread else ""
    return f"{looked.objects} objects, {looked.passed_over} passed over, {looked.fresh} new{unread}"


def _outside(looked: Looked) -> str:
    """The months that no run can be asked for, by name: a vendor's slip, or a task that begins too late."""
    if not looked.outside:
        return ""
    objects = sum(looked.outside.values())
    return f"; {objects} are of a period outside of the task's partitions ({_listed(sorted(looked.outside))})"


def _listed(which: Sequence[str]) -> str:
    more = f", and {len(which) - MOST_NAMED} more" if len(which) > MOST_NAMED else ""
    return ", ".join(which[:MOST_NAMED]) + more


def _quiet(task: Task) -> timedelta:
    return timedelta(seconds=_seconds(QUIET_VARIABLE, drop_of(task).quiet_s))


def _seconds(variable: str, default: float) -> float:
    """A number of seconds from the environment."""
    text = os.environ.get(variable)
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _LONGEST_S:  # also what is no number at all
        raise PlanexecError(
            "BAD_CONTRACT",
            f"{variable} is {text[:40]!r}; expected a number of seconds, 0 or more",
            hint=f"set {variable} in the environment of the code location, or unset it for {default:g} s",
        )
    return seconds


def _require_pattern(task: Task) -> None:
    drop = drop_of(task)
    pattern = drop.pattern
    try:
        re.compile(drop.pattern_of(task.period(task.first_period)))
        wrong = None if "{period}" in pattern else "it does not name the period its objects belong to"
    except re.error as error:
        wrong = f"it is no regular expression: {error}"
    if wrong is not None:
        raise PlanexecError(
            "BAD_CONTRACT",
            f"the drop of {task.name} has the pattern {pattern[:120]!r}: {wrong}",
            hint="write a regular expression over the key behind the prefix, with {period} where the period stands",
        )
