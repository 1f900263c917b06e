"""The `continue` verb: the undone steps of an approved month, in this process, one after the other."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from dagster_planexec.compiler.binding import work_of
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.recovery.decision import Retry
from dagster_planexec.settle import continue_month
from dagster_planexec.settling.parts import Launcher, Settling
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.definitions.planned_task import PlannedTask


class InOrder(Launcher):
    """Runs a plan's steps one after the other, in this process; what is to be tried again is, after its pause."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period) -> str:
        """The id of the run, which is in the journal and nowhere else."""
        work = self._work
        plan = work.journal.load_plan(plan_digest)
        run_id = f"continue-{uuid.uuid4()}"
        run = Run(work, attempt.id, plan, plan_digest, period, decode_admission(attempt.admission), run_id)
        for step in topological_order(edges(plan)):
            while (report := run_step(run, step)).state is None:
                if isinstance(report.decision, Retry):
                    work.ports.clock.sleep(report.decision.after_s)
        return run_id


def continued(planned: PlannedTask, hold_id: str) -> dict[str, Any]:
    """Continue a month, and return its document."""
    work = work_of(planned.binding, runs_steps=True)
    try:
        settling = Settling(work, planned.planner(), InOrder(work), f"continue-{uuid.uuid4()}")
        return continue_month(settling, hold_id).as_json()
    finally:
        work.journal.close()
