"""The schedule of the period just closed. It is off until a person turns it on: arrivals start runs already."""

from __future__ import annotations

import dagster as dg

from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.partitions import has_partition, just_closed
from dagster_planexec.definitions.planned_task import task_run_name
from dagster_planexec.definitions.triggers.task_runs import TaskRuns

CRON = {"month": "0 6 10 * *", "quarter": "0 6 10 1,4,7,10 *"}
"""The tenth day at six, by the task's clock: what has not been delivered by then is missing."""


def task_schedule(task: Task, *, cron: str | None = None) -> dg.ScheduleDefinition:
    """A run of the month or quarter that has just ended, once.

    The run continues the period's attempt if it has one with the same inputs: a period that an arrival has settled
    already ends green, with everything reused and nothing credited again. While a task run of the period has not ended
    the tick is skipped; it is being done. Dagster starts one run per run key, also if that one failed: a period whose
    run failed is run again by a person, or by what the vendor delivers next.

    Args:
        task: The task.
        cron: When, in the task's zone.
    """

    @dg.schedule(
        name=f"{task.name}__schedule",
        job_name=task_run_name(task),
        cron_schedule=cron or CRON[task.granularity],
        execution_timezone=task.zone,
        description=f"The {task.granularity} that has just ended. What is done of it already is not done again.",
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    def just_closed_period(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        now = context.scheduled_execution_time
        period = just_closed(task, now)
        if not has_partition(task, period, now):
            return dg.SkipReason(f"{period.text} is not a partition of {task.name}")
        runs = TaskRuns(context.instance, task)
        running = runs.unfinished(period.key)
        if running is not None:
            return dg.SkipReason(f"{period.text} is being run already: {running}; {runs.how_to_end}")
        return dg.RunRequest(run_key=period.key, partition_key=period.key)

    return just_closed_period
