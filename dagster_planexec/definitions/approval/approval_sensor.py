"""The approval sensor: goes on with what people have released, closes what nobody decided, and tells people of holds.

Everything it needs is in the journal, so it outlives the daemon, a deploy and a weekend. A hold keeps no run meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import dagster as dg

from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.compiler.plan_run import HOLD_TAG, STATUS_TAG
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.approval.notices import OnHold, log_hold, news_of
from dagster_planexec.definitions.planned_task import continue_name, finish_name
from dagster_planexec.definitions.triggers.task_runs import RUN_KEY_TAG, TaskRuns
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import continuable, expire_due
from dagster_planexec.journal.money.approvals.holds import HoldRecord
from dagster_planexec.journal.money.approvals.notices import note_told, notices_due
from dagster_planexec.journal.store.place import journal_is_there
from dagster_planexec.journal.told.line import one_line

INTERVAL_S = 30
_AGAIN = frozenset({"stood-back"})
"""How a continuation may have ended that changed nothing and is to be started again."""
MOST_STARTS = 100
"""Continuations of one approval that stood back; more are a fault, and a person looks at it."""
MOST_DEATHS = 3
"""Continuations of one approval whose process died without a word."""


def approval_sensor(
    binding: TaskBinding, *, on_hold: OnHold = log_hold, interval_s: int = INTERVAL_S
) -> dg.SensorDefinition:
    """A sensor that starts `<task>__continue` for every approved hold, once.

    Args:
        binding: The task's parts.
        on_hold: Told of every hold that opens, ages, expires or is superseded: each piece of news at least once.
        interval_s: Seconds between two looks at least.
    """
    task = binding.task

    @dg.sensor(
        name=f"{task.name}__approvals",
        job_name=continue_name(task),
        minimum_interval_seconds=interval_s,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Continues what people have approved, and tells them what waits.",
    )
    def approvals(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        if not journal_is_there(binding.journal):
            return dg.SensorResult(skip_reason="nothing has run yet")
        journal = Journal(binding.journal)
        try:
            now = binding.resources.clock.now()
            tick = look_at_holds(journal, task, now, TaskRuns(context.instance, task))
            failed = _tell(journal, task, now, on_hold, context)
        finally:
            journal.close()
        said = "; ".join([tick.said, *failed])
        return dg.SensorResult(run_requests=tick.requests, skip_reason=None if tick.requests else said)

    return approvals


@dataclass(slots=True)
class Tick:
    """What came of one look."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    said: str = "nothing is approved that was not continued"


def look_at_holds(journal: Journal, task: Task, now: datetime, runs: TaskRuns) -> Tick:
    """One tick: what is due expires, and every approval that nothing was started for is continued.

    A period that is being run waits for that run to end: it may be the one that continues it.
    """
    tick = Tick()
    expire_due(journal, task, now)
    reasons = []
    for held, approval in continuable(journal, task):
        period = task.period(held.period)
        run_key = _run_key(runs, task, approval)
        if run_key is None:
            reasons.append(f"{held.period} was continued already and is not done: see the last run of its continuation")
        elif (running := runs.unfinished(period.key)) is not None:
            reasons.append(f"{held.period} waits for a run to end: {running}")
        else:
            tick.requests.append(_request(task, held, run_key, period.key))
    if reasons:
        tick.said = "; ".join(reasons[:5])
    return tick


def _run_key(runs: TaskRuns, task: Task, approval: str) -> str | None:
    """The key of the run to be started for an approval; None if one was started, and said how it ended.

    A continuation that stood back, or whose process died before it could say anything, is started again: what is issued
    is not issued twice. One that said why it failed is not: that is for a person to see first.
    """
    deaths = 0
    for again in range(MOST_STARTS):
        key = f"approval-{approval}" + (f"-{again + 1}" if again else "")
        found = runs.instance.get_runs(dg.RunsFilter(job_name=continue_name(task), tags={RUN_KEY_TAG: key}), limit=1)
        if not found:
            return key
        said = found[0].tags.get(STATUS_TAG)
        if said is None and found[0].is_finished and deaths < MOST_DEATHS:
            deaths += 1
        elif said not in _AGAIN:
            return None
    return None


def _request(task: Task, held: HoldRecord, run_key: str, partition_key: str) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=run_key,
        partition_key=partition_key,
        run_config={"ops": {finish_name(task): {"config": {"hold": held.id}}}},
        tags={HOLD_TAG: held.id},
    )


def _tell(
    journal: Journal, task: Task, now: datetime, on_hold: OnHold, context: dg.SensorEvaluationContext
) -> list[str]:
    """Tell the news that nobody was told yet; what could not be told is told in a later tick."""
    failed: list[str] = []
    for notice in notices_due(journal, task, now):
        try:
            news = news_of(task, notice)
            context.log.warning("%s", news.text)
            on_hold(news)
        except Exception as error:
            said = one_line(f"on_hold raised {type(error).__name__} for {notice.hold.id} {notice.kind}: {error}")
            context.log.exception(said)
            failed.append(said)
            continue
        note_told(journal, notice.hold.id, notice.kind, now)
    return failed
