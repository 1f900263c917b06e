"""A task's periods as Dagster partitions. The keys are the periods' own: the first day, as a date."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg

from dagster_planexec.contract.task import Task
from dagster_planexec.world.period import Period

FORMAT = "%Y-%m-%d"
CRON = {"month": "0 0 1 * *", "quarter": "0 0 1 1,4,7,10 *"}
"""When a period begins, in the task's zone."""


def partitions_of(task: Task) -> dg.TimeWindowPartitionsDefinition:
    """One partition per period that has ended: a month still running has no invoice."""
    first = Period.parse(task.first_period, task.granularity)
    last = Period.parse(task.last_period, task.granularity) if task.last_period else None
    return dg.TimeWindowPartitionsDefinition(
        start=first.key,
        end=last.end.isoformat() if last else None,
        fmt=FORMAT,
        timezone=task.zone,
        cron_schedule=CRON[task.granularity],
    )


def has_partition(task: Task, period: Period, now: datetime) -> bool:
    """Whether the period is a partition at that instant."""
    return _in_range(task, period) and period <= just_closed(task, now)


def just_closed(task: Task, now: datetime) -> Period:
    """The newest period that has ended, by the task's own clock."""
    return Period.containing(now.astimezone(ZoneInfo(task.zone)).date(), task.granularity).shifted(-1)


def _in_range(task: Task, period: Period) -> bool:
    first = Period.parse(task.first_period, task.granularity)
    last = Period.parse(task.last_period, task.granularity) if task.last_period else None
    return first <= period and (last is None or period <= last)
