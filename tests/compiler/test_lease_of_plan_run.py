"""A plan run writes under its task run's token, whatever process a step is in; under an older one it writes nothing."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_planexec.definitions.launcher import DagsterLauncher, reap
from tests.support.leases import lease_of, someone
from tests.support.multiprocess import MULTIPROCESS
from tests.support.plan_runs import BINDING, adopted, recorded_plan, task_run

pytestmark = pytest.mark.xdist_group("flagship-plans")


@pytest.mark.parametrize(
    "binding", [BINDING, pytest.param(MULTIPROCESS, marks=pytest.mark.slow)], ids=["in process", "multiprocess"]
)
def test_a_plan_run_of_an_earlier_holder_does_nothing(world, work, instance, binding):
    """It fails at its first step, with who holds the month; no tool is called and no row is written."""
    month = {"task": work.task.name, "period": world.period.text}
    plan = recorded_plan(work, world.period)
    attempt = adopted(work, world.period, plan)
    old = lease_of(work.journal, someone(1), **month)
    new = lease_of(work.journal, someone(2), has_ended=lambda _: True, **month)
    before = work.journal.events(attempt.id)
    launcher = DagsterLauncher(binding, instance, task_run_id=task_run(instance).run_id)
    run_id = launcher.launch(
        attempt=attempt, plan_digest=attempt.plan_digest, period=world.period, lease_token=old.token
    )
    run = instance.get_run_by_id(run_id)
    failures = [
        log.dagster_event.step_failure_data.user_failure_data
        for log in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    ]
    after = work.journal.events(attempt.id)
    old.release()
    new.release()

    assert run.status is dg.DagsterRunStatus.FAILURE
    assert run.tags["planexec/lease"] == "1"
    assert failures
    for failure in failures:
        assert failure.metadata["code"].value == "LEASE_LOST"
        assert "run run-2" in failure.description
    assert after == before
    assert work.ports.credits.issued("vendor-invoice-credits", world.period.text) == {}


def test_a_plan_run_without_a_token_is_refused(world, work, instance):
    """Whoever starts one by itself holds no month."""
    attempt = adopted(work, world.period, recorded_plan(work, world.period))
    launcher = DagsterLauncher(BINDING, instance, task_run_id=task_run(instance).run_id)
    run_id = launcher.launch(attempt=attempt, plan_digest=attempt.plan_digest, period=world.period, lease_token=-1)
    failures = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE)

    assert instance.get_run_by_id(run_id).status is dg.DagsterRunStatus.FAILURE
    assert "carries no planexec/lease tag" in str(failures[0].dagster_event.step_failure_data.error)


def test_a_plan_run_under_an_older_token_is_ended_although_its_task_run_looks_started(world, work, instance):
    """Whoever holds the month now knows that nobody stands behind it; one of its own is left alone."""
    parent = task_run(instance)

    @dg.job(name=f"{work.task.name}__plan_run")
    def stand_in() -> None:
        pass

    runs = []
    for token in ("1", "2"):
        tags = {"dagster/partition": world.period.key, "planexec/task_run": parent.run_id, "planexec/lease": token}
        runs.append(instance.create_run_for_job(stand_in, status=dg.DagsterRunStatus.STARTED, tags=tags))

    assert reap(instance, work.task, world.period, lease_token=2) == (runs[0].run_id,)
    assert [instance.get_run_by_id(run.run_id).status for run in runs] == [
        dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED,
    ]  # fmt: skip
