"""The waits sensor: runs a period again when the time has come that a service asked for. Nothing runs meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import dagster as dg

from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.compiler.plan_run import BACKFILL_TAG
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.planned_task import task_run_name
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.journal.attempts.waits import Wait, waiting
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.leases import held_now, times_stood_back
from dagster_planexec.journal.store.place import journal_is_there

INTERVAL_S = 30
WAIT_TAG = "planexec/waited_for"
"""On the run: the code whose stated delay has passed."""


def waits_sensor(binding: TaskBinding, *, interval_s: int = INTERVAL_S) -> dg.SensorDefinition:
    """A sensor that starts a period's next run when the stated delay of its last one has passed.

    The time is in the journal, so it outlives the daemon; how often an attempt may wait its budget of retries says,
    which is in the journal too. The run continues the attempt: what is done is reused, and no planner is asked.

    Args:
        binding: The task's parts.
        interval_s: Seconds between two looks at least.
    """
    task = binding.task

    @dg.sensor(
        name=f"{task.name}__waits",
        job_name=task_run_name(task),
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Runs a period again when a service can be called again that had asked for time.",
    )
    def waits(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        if not journal_is_there(binding.journal):
            return dg.SensorResult(skip_reason="nothing has run yet")
        journal = Journal(binding.journal)
        try:
            tick = look_at_waits(journal, task, binding.resources.clock.now(), TaskRuns(context.instance, task))
        finally:
            journal.close()
        return dg.SensorResult(run_requests=tick.requests, skip_reason=None if tick.requests else tick.said)

    return waits


@dataclass(slots=True)
class Tick:
    """What came of one look."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    said: str = "nothing waits for a time"


def look_at_waits(journal: Journal, task: Task, now: datetime, runs: TaskRuns) -> Tick:
    """One tick: every wait whose time has come and whose period is not being run already."""
    tick = Tick()
    reasons, held = [], held_now(journal, task.name)
    for wait in waiting(journal, task.name):
        period = task.period(wait.period)
        if now < wait.until:
            reasons.append(f"{wait.period} until {wait.until:%Y-%m-%d %H:%M:%S} UTC")
        elif (running := runs.unfinished(period.key)) is not None:
            reasons.append(f"{wait.period} for a run to end: {running}")
        elif wait.period in held:
            reasons.append(f"{wait.period} for whoever holds it: {held[wait.period].words}")
        else:
            tick.requests.append(_request(wait, period.key, times_stood_back(journal, task.name, wait.run_key)))
    if reasons:
        tick.said = f"{len(reasons)} wait: {', '.join(reasons[:5])}"
    return tick


def _request(wait: Wait, partition_key: str, stood_back: int) -> dg.RunRequest:
    tags = {WAIT_TAG: wait.code, **({BACKFILL_TAG: wait.backfill} if wait.backfill else {})}
    # A run that stood back has not gone on with what waits, and Dagster starts one run per key.
    run_key = wait.run_key + (f"-{stood_back + 1}" if stood_back else "")
    return dg.RunRequest(run_key=run_key, partition_key=partition_key, tags=tags)
