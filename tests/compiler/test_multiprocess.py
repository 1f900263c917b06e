"""A task may choose another executor: each step's process rebuilds the job from ids alone."""

from __future__ import annotations

import dagster as dg
import pytest

from tests.support.multiprocess import MULTIPROCESS
from tests.support.plan_runs import launched, recorded_plan

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flagship-plans")]


def test_steps_run_in_processes_of_their_own(world, work, instance):
    """Two steps of the plan, two processes, and the decision of each in the journal."""
    plan = recorded_plan(work, world.period)
    plan = plan.model_copy(update={"steps": plan.steps[:2]})
    run, steps = launched(instance, work, world.period, plan, binding=MULTIPROCESS)

    assert run.status is dg.DagsterRunStatus.SUCCESS, [
        log.dagster_event.message for log in instance.all_logs(run.run_id) if log.is_dagster_event
    ]
    assert {step.outcome for step in steps.values()} == {"done"}
    pids = {
        event.dagster_event.engine_event_data.metadata["pid"].value
        for event in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTED)
    }
    assert len(pids) == 2
