"""`<task>__continue`: finishes a month that people have released. Started by the approval sensor, or by a person."""

# No `from __future__ import annotations` here: Dagster reads the config class from the annotation itself.
from typing import Any

import dagster as dg
from pydantic import Field

from dagster_planexec.compiler.binding import work_of
from dagster_planexec.compiler.events import NO_MORE_RUNS
from dagster_planexec.compiler.plan_run import CODE_TAG, STATUS_TAG, TASK_TAG
from dagster_planexec.definitions.asking import MonthAsked
from dagster_planexec.definitions.launcher import DagsterLauncher
from dagster_planexec.definitions.partitions import partitions_of
from dagster_planexec.definitions.planned_task import PlannedTask, continue_name, finish_name
from dagster_planexec.definitions.shown.effects import log_effects
from dagster_planexec.definitions.shown.ending import as_told, ending
from dagster_planexec.definitions.shown.gates import made_by
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import decisions_of, hold_or_refuse
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.settle import continue_month
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period


class _Nobody(Planner):
    """Writes no plan. The plan was approved; whoever continues it needs no key of whoever wrote it."""

    name = "nobody"

    def propose(self, request: PlanRequest) -> Proposal:  # noqa: ARG002 - it answers every request alike
        """No plan."""
        return Proposal(
            None, self.name, self.name, model_called=False, code="PLAN_REJECTED",
            message="an approved period is continued under the approved plan; no other one is asked for",
        )  # fmt: skip


class ContinueConfig(dg.Config):
    """What is continued. An id and nothing else: what was approved is in the journal, signed."""

    hold: str = Field(description="The approved hold, as `planexec holds` lists it.")


def continue_job(planned: PlannedTask) -> dg.JobDefinition:
    """The job of a task that finishes what a hold kept: the undone steps of the approved plan, and no others.

    Anybody may start it. It looks at the decisions of the hold, their signatures, and the evidence, before and during
    the run; without an approval that still holds nothing of the plan runs.
    """
    task = planned.binding.task

    @dg.op(
        name=finish_name(task),
        description="Finishes the undone steps of the approved plan, if what was approved is still what would be done.",
        tags={TASK_TAG: task.name},
        out=dg.Out(dg.Nothing),
    )
    def finish(context: dg.OpExecutionContext, config: ContinueConfig) -> None:
        _finish(planned, context, config.hold)

    @dg.job(
        name=continue_name(task),
        partitions_def=partitions_of(task),
        description=f"Continues a period of {task.name} that a person has approved.",
    )
    def continued() -> None:
        finish()

    return continued


def _finish(planned: PlannedTask, context: dg.OpExecutionContext, hold_id: str) -> None:
    task = planned.binding.task
    context.instance.add_run_tags(context.run_id, {TASK_TAG: task.name})
    period = task.period(context.partition_key)
    report = RunReport.blank(task, period, task_run_id=context.run_id)
    unforeseen: Exception | None = None
    released: dict[str, dg.MetadataValue[Any]] = {}
    try:
        work = work_of(planned.binding)
        try:
            launcher = DagsterLauncher(planned.binding, context.instance, task_run_id=context.run_id)
            _must_be_of(work.journal, hold_id, period)
            asked = MonthAsked(context, task, period)
            settling = Settling(work, _Nobody(), launcher, context.run_id, asking=asked.asking)
            report = continue_month(settling, hold_id)
            released = _released(work.journal, hold_id)
        finally:
            work.journal.close()
    except PlanexecError as error:
        report = report.ended("error", error.code, error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run says so in the words of every other run
        unforeseen = error
        report = report.ended("error", "INTERNAL", one_line(f"{type(error).__name__}: {error}"))
    context.instance.add_run_tags(context.run_id, {STATUS_TAG: report.status, CODE_TAG: report.code or "none"})
    log_effects(context, report, released)
    failed = ending(report, tuple(made_by(report, planned.binding.registry)))
    if failed is not None:
        context.instance.add_run_tags(context.run_id, NO_MORE_RUNS)
        raise failed from as_told(unforeseen)


def _released(journal: Journal, hold_id: str) -> dict[str, dg.MetadataValue[Any]]:
    """Under which hold, and by whom, for people who look at what was issued."""
    decisions = decisions_of(journal, [hold_id])[hold_id]
    by = "; ".join(f"{one.by}: {one_line(one.reason, 200)}" for one in decisions)
    return {"hold": dg.MetadataValue.text(hold_id), "approved": dg.MetadataValue.text(by or "by nobody")}


def _must_be_of(journal: Journal, hold_id: str, period: Period) -> None:
    """Refuse a hold of another period than the run's partition: what is recorded would be of the wrong one.

    Raises:
        PlanexecError: VALIDATION_ERROR; UNKNOWN_REFERENCE if there is no such hold.
    """
    held = hold_or_refuse(journal, hold_id)
    if held.period != period.text:
        raise PlanexecError(
            "VALIDATION_ERROR", f"{held.id} is of {held.period}, and this run is of partition {period.key}",
            hint=f"start the job for the partition of {held.period}",
        )  # fmt: skip
