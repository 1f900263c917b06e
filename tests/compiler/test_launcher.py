"""What the launcher knows of other runs: the backfill behind a repeated run, plan runs that nobody runs any more."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_planexec.compiler.job import job_name
from dagster_planexec.definitions.launcher import reap
from tests.support.plan_runs import launched, recorded_plan, task_run

pytestmark = pytest.mark.xdist_group("flagship-plans")
BACKFILL = {"dagster/backfill": "bf1"}


def test_repeated_run_of_a_backfill_is_still_of_the_backfill(world, work, instance):
    """Dagster takes its tag off a re-execution once the backfill has ended; the credits wait all the same."""
    first = task_run(instance, dg.DagsterRunStatus.FAILURE, tags=BACKFILL)
    again = task_run(instance, repeats=task_run(instance, dg.DagsterRunStatus.FAILURE, repeats=first))
    run, steps = launched(instance, work, world.period, recorded_plan(work, world.period), parent=again)

    assert run.tags["planexec/backfill"] == "bf1"
    assert (steps["issue_credit"].outcome, steps["issue_credit"].code) == ("held", "APPROVAL_REQUIRED")
    assert work.ports.credits.issued("vendor-invoice-credits", world.period.text) == {}


def test_run_that_continues_a_month_of_a_backfill_after_a_wait_is_of_the_backfill(world, work, instance):
    """The waits sensor starts it, and Dagster knows nothing of the backfill; the credits wait all the same."""
    continued = task_run(instance, tags={"planexec/backfill": "bf1"})
    run, steps = launched(instance, work, world.period, recorded_plan(work, world.period), parent=continued)

    assert run.tags["planexec/backfill"] == "bf1"
    assert (steps["issue_credit"].outcome, steps["issue_credit"].code) == ("held", "APPROVAL_REQUIRED")


def test_run_whose_parent_was_deleted_may_have_been_of_a_backfill(world, work, instance):
    """Nobody can tell any more, so no credit is issued without a person."""
    first = task_run(instance, dg.DagsterRunStatus.FAILURE, tags=BACKFILL)
    again = task_run(instance, repeats=first)
    instance.delete_run(first.run_id)
    _, steps = launched(instance, work, world.period, recorded_plan(work, world.period), parent=again)

    assert steps["issue_credit"].outcome == "held"


def test_run_that_was_asked_for_by_itself_issues(world, work, instance):
    """No backfill anywhere behind it."""
    run, steps = launched(instance, work, world.period, recorded_plan(work, world.period))

    assert "planexec/backfill" not in run.tags
    assert steps["issue_credit"].outcome == "done"


@pytest.mark.parametrize(
    ("status", "reaped"),
    [
        (dg.DagsterRunStatus.FAILURE, True),
        (dg.DagsterRunStatus.CANCELED, True),
        (dg.DagsterRunStatus.STARTED, False),
        (dg.DagsterRunStatus.CANCELING, False),
    ],
)
def test_only_plan_runs_of_ended_task_runs_are_ended(world, work, instance, status, reaped):
    """A plan run whose task run may still be at work is left alone."""
    left = _plan_run(instance, work, world, task_run(instance, status))

    assert reap(instance, work.task, world.period, lease_token=1) == ((left.run_id,) if reaped else ())
    expected = dg.DagsterRunStatus.FAILURE if reaped else dg.DagsterRunStatus.STARTED
    assert instance.get_run_by_id(left.run_id).status is expected


def test_plan_runs_of_other_periods_and_ended_ones_are_left_alone(world, work, instance):
    """Only the month that is about to run is looked at."""
    ended = task_run(instance, dg.DagsterRunStatus.FAILURE)
    other = _plan_run(instance, work, world, ended, partition="2026-01-01")
    done = _plan_run(instance, work, world, ended, status=dg.DagsterRunStatus.SUCCESS)

    assert reap(instance, work.task, world.period, lease_token=1) == ()
    assert instance.get_run_by_id(other.run_id).status is dg.DagsterRunStatus.STARTED
    assert instance.get_run_by_id(done.run_id).status is dg.DagsterRunStatus.SUCCESS


def test_plan_run_that_ends_well_meanwhile_is_not_marked_as_failed(world, work, instance, monkeypatch):
    """Task run and plan run may both end between the list and the look."""
    parent = task_run(instance, dg.DagsterRunStatus.STARTED)
    left = _plan_run(instance, work, world, parent)
    listed = instance.get_runs

    def listed_before_they_end(*given, **more):
        found = listed(*given, **more)
        for run in (left, parent):
            ended = dg.DagsterEvent(dg.DagsterEventType.RUN_SUCCESS.value, run.job_name)
            instance.report_dagster_event(ended, run.run_id)
        return found

    monkeypatch.setattr(instance, "get_runs", listed_before_they_end)

    assert reap(instance, work.task, world.period, lease_token=1) == ()
    assert instance.get_run_by_id(left.run_id).status is dg.DagsterRunStatus.SUCCESS


def _plan_run(instance, work, world, parent, *, partition=None, status=dg.DagsterRunStatus.STARTED):
    """A plan run as a killed process leaves it."""

    @dg.job(name=job_name(work.task))
    def stand_in() -> None:
        pass

    tags = {"dagster/partition": partition or world.period.key, "planexec/task_run": parent.run_id}
    return instance.create_run_for_job(stand_in, status=status, tags=tags)
