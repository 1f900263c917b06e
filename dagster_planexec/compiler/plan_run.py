"""What the ops of a plan run share: the task's work, the plan verified by its digest, and the run they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import dagster as dg

from dagster_planexec.compiler.binding import TaskBinding, work_of
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.money.lease.leases import fence_of
from dagster_planexec.plan.model import Plan

ATTEMPT_TAG = "planexec/attempt"
TASK_RUN_TAG = "planexec/task_run"
LEASE_TAG = "planexec/lease"
"""On a plan run: the token of the lease that its task run holds. Every process of the run writes under it."""
PLAN_TAG = "planexec/plan"
TASK_TAG = "planexec/task"
STATUS_TAG = "planexec/status"
"""On a task run that has ended: succeeded, held, waiting, stood-back, stopped, rejected or error; to filter runs by."""
CODE_TAG = "planexec/code"
HOLD_TAG = "planexec/hold"
"""On runs that decide about a hold, or continue one: its id."""
BACKFILL_TAG = "planexec/backfill"
"""On a plan run, and on a task run that continues one after a wait: the backfill behind it.

Under Dagster's own tag it would be counted as a run of the backfill.
"""
PARTITION_TAG = "dagster/partition"


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One process's share of a plan run."""

    work: Work
    plan: Plan
    digest: str
    _runs: dict[str, Run] = field(default_factory=dict)

    def run(self, context: dg.OpExecutionContext) -> Run:
        """The run that an op belongs to. Attempt and lease come from the run's tags, its period from the attempt.

        Raises:
            PlanexecError: INTERNAL if the attempt is not one of this task and this plan, or there is no token.
        """
        if context.run_id not in self._runs:
            self._runs[context.run_id] = self._open(context)
        return self._runs[context.run_id]

    def _open(self, context: dg.OpExecutionContext) -> Run:
        attempt_id = context.run.tags.get(ATTEMPT_TAG)
        if attempt_id is None:
            raise PlanexecError(
                "INTERNAL", f"run {context.run_id} carries no {ATTEMPT_TAG} tag",
                hint="start it by materialising the task's asset; a plan run cannot be started on its own",
            )  # fmt: skip
        attempt = self.work.journal.attempt(attempt_id)
        if (attempt.task, attempt.plan_digest) != (self.work.task.name, self.digest):
            raise PlanexecError(
                "INTERNAL",
                f"attempt {attempt_id} has plan {(attempt.plan_digest or 'none')[:12]} of task {attempt.task!r}; "
                f"this run has plan {self.digest[:12]} of {self.work.task.name!r}",
                hint="run the month again from the task's asset",
            )
        period = self.work.task.period(attempt.period)
        token = context.run.tags.get(LEASE_TAG, "")
        if not token.isdecimal():
            raise PlanexecError(
                "INTERNAL", f"run {context.run_id} carries no {LEASE_TAG} tag: it holds no month",
                hint="start it by materialising the task's asset; a plan run cannot be started on its own",
            )  # fmt: skip
        self.work.journal.fence = fence_of(self.work.task.name, period.text, int(token))
        return Run(
            self.work,
            attempt_id,
            self.plan,
            self.digest,
            period,
            decode_admission(attempt.admission),
            context.run_id,
            context.run.tags.get(BACKFILL_TAG),
            int(token),
        )


def stop_if_terminated(run: Run, context: dg.OpExecutionContext) -> str | None:
    """Journal a stop if somebody ended this run or its task run; a nested run is told in no other way.

    Returns:
        Why it stops, or None.
    """
    task_run = context.run.tags.get(TASK_RUN_TAG)
    ids = [run_id for run_id in (context.run_id, task_run) if run_id]
    found = {run.run_id: run for run in context.instance.get_runs(dg.RunsFilter(run_ids=ids))}
    for run_id, name in ((context.run_id, "the plan run"), (task_run, "the task run")):
        record = found.get(run_id) if run_id else None
        if record is None:
            continue
        ending = record.status in {dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED}
        if ending or record.is_finished:
            because = f"{name} was terminated" if ending else f"{name} has ended ({record.status.value.lower()})"
            stopped = NewEvent("stopped", context.op_handle.name, {"code": "CANCELLED", "reason": because})
            try:
                run.work.journal.append(run.attempt, run.run_id, [stopped])
            except PlanexecError as error:
                if error.code != "LEASE_LOST":
                    raise
                return None  # the step is told so too, and says it: another run holds the month
            return because
    return None


def plan_run_resource(binding: TaskBinding, digest: str, journal: str) -> dg.ResourceDefinition:
    """The resource `planexec` of a plan's job. It takes no config: nothing about a plan can be edited at launch."""

    @contextmanager
    def open_plan_run(_: dg.InitResourceContext) -> Iterator[PlanRun]:
        work = work_of(binding, journal=journal, runs_steps=True)
        try:
            yield PlanRun(work, work.journal.load_plan(digest), digest)
        finally:
            work.journal.close()

    return dg.ResourceDefinition(open_plan_run, description="The plan, verified by its digest, and the task's ports.")
