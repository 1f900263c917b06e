"""Runs a plan's job inside the task run, on the same instance."""

from __future__ import annotations

import dagster as dg
from dagster._core.events import EngineEventData
from dagster._core.execution.api import execute_run
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.compiler.job import RECONSTRUCTOR, job_name
from dagster_planexec.compiler.plan_run import (
    ATTEMPT_TAG,
    BACKFILL_TAG,
    LEASE_TAG,
    PARTITION_TAG,
    PLAN_TAG,
    TASK_RUN_TAG,
)
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.settling.parts import Launcher
from dagster_planexec.world.period import Period


class DagsterLauncher(Launcher):
    """Builds the job from ids, creates its run, and waits for it.

    `dagster.execute_job` does the last two in one; here they are two, because between them the run gets its first
    event: where to re-run from, which is the task run and never the plan run itself.

    Args:
        binding: The task's parts.
        instance: Dagster's instance; the plan run is stored where the task run is.
        task_run_id: The run that this one serves.
    """

    def __init__(self, binding: TaskBinding, instance: dg.DagsterInstance, *, task_run_id: str) -> None:
        self._binding = binding
        self._instance = instance
        self._task_run_id = task_run_id

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        """The plan run's id, once it has ended."""
        binding = self._binding
        recon = dg.build_reconstructable_job(
            *RECONSTRUCTOR,
            (binding.ref, plan_digest, binding.journal),  # type: ignore[arg-type] # annotated as a tuple of one
            {"folder": binding.folder},
            reconstructor_working_directory=binding.folder,
        )
        try:
            job = recon.get_definition()
        except dg.DagsterInvalidDefinitionError as error:
            raise PlanexecError(
                "PLAN_REJECTED", f"plan {plan_digest[:12]} makes no Dagster job: {str(error)[:300]}",
                hint="check the plan: `planexec check`",
            ) from error  # fmt: skip
        backfill = self._backfill()
        run = self._instance.create_run_for_job(
            job_def=job,
            job_code_origin=recon.get_python_origin(),
            tags={
                **({BACKFILL_TAG: backfill} if backfill else {}),
                PARTITION_TAG: period.key,
                TASK_RUN_TAG: self._task_run_id,
                ATTEMPT_TAG: attempt.id,
                PLAN_TAG: plan_digest[:12],
                LEASE_TAG: str(lease_token),
                "dagster/max_runtime": str(int(binding.task.limits.run_deadline_s)),
                "dagster/max_retries": "0",  # only the task run can be run again
            },
        )
        try:
            self._announce(run, attempt, plan_digest, period)
            # The result is not entered as a context: that would set the resources up once more, to load outputs.
            execute_run(recon, run, self._instance, raise_on_error=False)
        except BaseException:
            # An interrupt may come at any line; nothing else would ever end a run that has not begun.
            self._end(run)
            raise
        return run.run_id

    def _backfill(self) -> str | None:
        """The backfill that asked for the task run, or for a run that it repeats.

        Dagster takes the tag off a run that repeats another, by a person or by its own retries, once the backfill has
        ended. Whoever wants the period by itself starts it anew.
        """
        run_id: str | None = self._task_run_id
        while run_id is not None:
            run = self._instance.get_run_by_id(run_id)
            if run is None:
                return None if run_id == self._task_run_id else f"unknown, as run {run_id} was deleted"
            # Under our own tag where it continues, after a wait, what a backfill has begun.
            if backfill := run.tags.get("dagster/backfill") or run.tags.get(BACKFILL_TAG):
                return backfill
            run_id = run.parent_run_id
        return None

    def _announce(self, run: dg.DagsterRun, attempt: Attempt, plan_digest: str, period: Period) -> None:
        """Link the two runs to each other, before anything of the plan runs."""
        self._instance.add_run_tags(self._task_run_id, {"planexec/plan_run": run.run_id, ATTEMPT_TAG: attempt.id})
        self._instance.report_engine_event(
            f"Plan {plan_digest[:8]} of {self._binding.task.name} {period.text}, run by task run {self._task_run_id}. "
            "To run it again, run the task run again: what is done is reused.",
            run,
            EngineEventData(metadata={"task run": dg.MetadataValue.dagster_run(self._task_run_id)}),
        )

    def _end(self, run: dg.DagsterRun) -> None:
        left = self._instance.get_run_by_id(run.run_id)
        if left is not None and not left.is_finished:
            self._instance.report_run_canceled(left, "The task run was ended while this run had not ended yet.")


def reap(instance: dg.DagsterInstance, task: Task, period: Period, *, lease_token: int) -> tuple[str, ...]:
    """End the plan runs of a period that no holder of it stands behind any more; their ids.

    Those are the runs whose task run has ended without them, and those under an earlier token: whoever held the month
    then is gone, or has been silent for too long. A killed process ends nothing itself, and Dagster watches only runs
    that it has launched: such a run would be shown as started for ever.

    Args:
        instance: Where the runs are.
        task: Whose runs.
        period: The month or quarter, which is held.
        lease_token: Under which it is held now.
    """
    left = instance.get_runs(
        dg.RunsFilter(job_name=job_name(task), tags={PARTITION_TAG: period.key}, statuses=list(NOT_FINISHED_STATUSES))
    )
    reaped = []
    for run in left:
        task_run_id = run.tags.get(TASK_RUN_TAG, "unknown")
        task_run = instance.get_run_by_id(task_run_id)
        token = run.tags.get(LEASE_TAG, "")
        outdated = token.isdecimal() and int(token) < lease_token
        if task_run is not None and not task_run.is_finished and not outdated:
            continue
        # Asked again after its task run: both may have ended well since the list was made.
        now = instance.get_run_by_id(run.run_id)
        if now is not None and not now.is_finished:
            said = f"Its task run {task_run_id} has ended; whatever ran this plan is gone."
            if task_run is not None and not task_run.is_finished:
                said = f"Its task run {task_run_id} is gone or silent, and another run holds {period.text} now."
            instance.report_run_failed(now, said)
            reaped.append(run.run_id)
    return tuple(reaped)
