"""The task runs that Dagster knows of, whatever started them: a sensor, a schedule, a backfill, a person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from dagster_planexec.compiler.plan_run import PARTITION_TAG, TASK_RUN_TAG, TASK_TAG
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.planned_task import continue_name, task_run_name
from dagster_planexec.definitions.shown.gates import repeatable

RUN_KEY_TAG = "dagster/run_key"
"""Dagster puts it on every run that a sensor or schedule asked for under a key."""


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """A task's runs on one Dagster instance."""

    instance: dg.DagsterInstance
    task: Task

    def unfinished(self, partition: str) -> str | None:
        """The oldest task run of a partition that has not ended, in words; None if there is none.

        A run counts until Dagster says that it has ended. One whose process was killed may look started for hours;
        it is not for a trigger to guess that it is dead, and to start a second run beside one that is only slow.
        """
        filters = dg.RunsFilter(statuses=NOT_FINISHED_STATUSES, tags={PARTITION_TAG: partition})
        for record in self.instance.get_run_records(filters, ascending=True):
            run = record.dagster_run
            if self.is_of_task(run):
                since = datetime.fromtimestamp(record.start_time or record.create_timestamp.timestamp(), UTC)
                return f"run {run.run_id}, {run.status.value} since {since:%Y-%m-%d %H:%M} UTC"
        return None

    def there_are(self, run_keys: Collection[str]) -> tuple[str, ...]:
        """Those of the run keys of which there is a run, however it stands."""
        job = task_run_name(self.task)
        return tuple(
            run_key
            for run_key in run_keys  # one by one, as Dagster does it: its tables answer several at once slowly
            if self.instance.get_runs(dg.RunsFilter(job_name=job, tags={RUN_KEY_TAG: run_key}), limit=1)
        )

    @property
    def how_to_end(self) -> str:
        """What a person can do about a run that never ends."""
        watched = "" if self.instance.run_monitoring_enabled else "; run monitoring is off, so nothing else ends it"
        return f"if its process is gone, terminate the run in Dagster{watched}"

    def is_of_task(self, run: dg.DagsterRun) -> bool:
        """Whether a run settles a period of the task."""
        if TASK_RUN_TAG in run.tags:
            return False  # a plan run; its task run stands for it
        # The run tags itself only when it begins. One still queued is known by its job, or by what it is to make.
        if run.tags.get(TASK_TAG) == self.task.name or run.job_name in {
            task_run_name(self.task), continue_name(self.task)
        }:  # fmt: skip
            return True
        if run.asset_selection is not None:
            return not run.asset_selection.isdisjoint(dg.AssetKey(d.name) for d in repeatable(self.task))
        if run.execution_plan_snapshot_id is None:
            return False
        steps = self.instance.get_execution_plan_snapshot(run.execution_plan_snapshot_id).step_keys_to_execute
        return self.task.name in steps
