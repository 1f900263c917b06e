"""Plans that are run as they are: adopted by an attempt and launched, without a planner and without the checker."""

from __future__ import annotations

from typing import Any

import dagster as dg

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.definitions.launcher import DagsterLauncher
from dagster_planexec.execute.admit import admit_inputs
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.admission import encode_admission
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.money.lease.holder import holder_here
from dagster_planexec.journal.money.lease.leases import Lease, take
from dagster_planexec.journal.run_report import StepEntry, close_steps, read_steps
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period

BINDING = VENDOR_RECONCILIATION.binding


def recorded_plan(work: Work, period: Period) -> Plan:
    """The recorded plan of a month."""
    proposal = VENDOR_RECONCILIATION.planner().propose(PlanRequest(work.task, period, work.tools))
    assert proposal.plan is not None, proposal.message
    return proposal.plan


def adopted(work: Work, period: Period, plan: Plan) -> Attempt:
    """An attempt that has this plan."""
    admission = encode_admission(admit_inputs(work, period))
    attempt, _ = work.journal.open_attempt(
        task=work.task.name, version=work.task.version, period=period.text, inputs_digest="x", admission=admission
    )
    work.journal.adopt_plan(attempt.id, work.journal.save_plan(plan), {"planner": "test", "author": "by hand"})
    return work.journal.attempt(attempt.id)


def task_run(
    instance: dg.DagsterInstance,
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED,
    *,
    tags: dict[str, str] | None = None,
    repeats: dg.DagsterRun | None = None,
) -> dg.DagsterRun:
    """A run that stands for the task run, or for one that repeats another."""

    @dg.job
    def stand_in() -> None:
        pass

    parent = repeats.run_id if repeats else None
    return instance.create_run_for_job(stand_in, status=status, tags=tags, parent_run_id=parent, root_run_id=parent)


def launched(
    instance: dg.DagsterInstance,
    work: Work,
    period: Period,
    plan: Plan,
    *,
    parent: dg.DagsterRun | None = None,
    binding: TaskBinding = BINDING,
) -> tuple[dg.DagsterRun, dict[str, StepEntry]]:
    """The plan run, ended, and what became of its steps."""
    attempt = adopted(work, period, plan)
    parent = parent or task_run(instance)
    launcher = DagsterLauncher(binding, instance, task_run_id=parent.run_id)
    lease = take(work.journal, task=work.task.name, period=period.text, holder=holder_here(), lasts_s=60)
    assert isinstance(lease, Lease)
    try:
        run_id = launcher.launch(
            attempt=attempt, plan_digest=attempt.plan_digest or "", period=period, lease_token=lease.token
        )
    finally:
        lease.release()
    irreversible = [name for name in work.tools if work.tools[name].contract.effect == "irreversible"]
    close_steps(work.journal, attempt.id, run_id, plan, irreversible=irreversible)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run, {step.id: step for step in read_steps(work.journal, attempt.id, run_id, plan)}


def changed(plan: Plan, **steps: dict[str, Any]) -> Plan:
    """The plan with fields of some steps replaced."""
    data = plan.model_dump(mode="json")
    for step in data["steps"]:
        step.update(steps.get(step["id"], {}))
    return Plan.model_validate(data)
