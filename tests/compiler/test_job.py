"""A plan becomes a job: the same everywhere, verified by its digest, with nothing of it in what Dagster stores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa

from dagster_planexec.compiler.binding import TaskBinding, load_binding
from dagster_planexec.compiler.job import job
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.store import tables as schema
from tests.support.plan_runs import BINDING, adopted, changed, launched, recorded_plan

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("flagship-plans")

SNAPSHOT = """
import sys
from dagster_planexec.compiler.job import job
print(job(*sys.argv[1:]).get_job_snapshot_id())
"""


def test_same_plan_gives_the_same_snapshot_in_two_processes(world, work):
    """Hash seeds differ between workers; the job may not."""
    digest = work.journal.save_plan(recorded_plan(work, world.period))
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SNAPSHOT, BINDING.ref, digest, "default", BINDING.folder],
            env={**os.environ, "PYTHONHASHSEED": seed}, cwd="/", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.add(done.stdout.strip())

    assert found == {job(BINDING.ref, digest, "default").get_job_snapshot_id()}


def test_another_plan_gives_another_snapshot(world, work):
    """Otherwise equality would say nothing."""
    plan = recorded_plan(work, world.period)
    other = changed(plan, write_report={"depends_on": []})
    first, second = (job(BINDING.ref, work.journal.save_plan(p), "default") for p in (plan, other))

    assert first.get_job_snapshot_id() == second.get_job_snapshot_id()  # the reference keeps the edge
    third = job(BINDING.ref, work.journal.save_plan(changed(plan, issue_credit={"depends_on": []})), "default")
    assert third.get_job_snapshot_id() != first.get_job_snapshot_id()


def test_job_has_a_constant_name_and_one_op_per_step(world, work):
    """Steps are aliases of their tools' ops."""
    plan = recorded_plan(work, world.period)
    compiled = job(BINDING.ref, work.journal.save_plan(plan), "default")

    assert compiled.name == "vendor_reconciliation__plan_run"
    assert {node.name: node.definition.name for node in compiled.nodes} == {
        step.id: step.tool.replace(".", "_") for step in plan.steps
    }


def test_snapshot_holds_no_arguments_of_the_plan(world, work):
    """Ids only: what Dagster stores and shows of a job has no bucket, key, file or table in it."""
    plan = recorded_plan(work, world.period)
    compiled = job(BINDING.ref, work.journal.save_plan(plan), "default")
    stored = dg.serialize_value(compiled.get_job_snapshot())

    for secret in ("vendor-drops", "reconcile.sql", "staging.", plan.steps[0].rationale):
        assert secret not in stored


def test_altered_plan_bytes_are_refused_by_digest(world, work):
    """What is under a digest is what was stored there, or nothing runs."""
    plan = recorded_plan(work, world.period)
    digest = work.journal.save_plan(plan)
    body = json.dumps(
        changed(plan, fetch_export={"args": {"bucket": "vendor-drops", "key": "x.csv"}}).model_dump(mode="json")
    )
    with work.journal.engine.begin() as db:
        db.execute(sa.update(schema.plans).values(body=body.encode()))

    with pytest.raises(PlanexecError, match="altered") as refused:
        job(BINDING.ref, digest, "default")
    assert refused.value.code == "PLAN_REJECTED"


def test_unknown_tool_is_refused_before_anything_runs(world, work):
    """A plan that came past the checker still gains no tool."""
    plan = changed(recorded_plan(work, world.period), reconcile={"tool": "shell.run"})

    with pytest.raises(PlanexecError, match=r"shell\.run"):
        job(BINDING.ref, work.journal.save_plan(plan), "default")


def test_retry_shows_as_a_retried_step(world, work, instance, monkeypatch):
    """Two 503s are two STEP_UP_FOR_RETRY, and the third try succeeds."""
    monkeypatch.setenv("PLANEXEC_DEMO_FAULT", "s3-503-twice")
    monkeypatch.setenv("PLANEXEC_DEMO_PERIOD", world.period.text)
    from assets.fault_hook import named_fault

    named_fault(work.task).on_event("admitted", None)
    run, steps = launched(instance, work, world.period, recorded_plan(work, world.period))

    kinds = [
        log.dagster_event.event_type_value
        for log in instance.all_logs(run.run_id)
        if log.is_dagster_event and log.dagster_event.step_key == "fetch_export"
    ]
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert (kinds.count("STEP_UP_FOR_RETRY"), kinds.count("STEP_RESTARTED")) == (2, 2)
    assert (steps["fetch_export"].outcome, steps["fetch_export"].tries) == ("done", 3)


def test_stop_reaches_an_independent_branch(world, work, instance):
    """A failed op stops only what depends on it; a stop is for the whole attempt."""
    plan = changed(
        recorded_plan(work, world.period),
        fetch_export={"depends_on": []}, scope_ledger={"depends_on": []}, stage_table={"depends_on": []},
    )  # fmt: skip
    plan = plan.model_copy(update={"steps": tuple(sorted(plan.steps, key=lambda s: s.id != "fetch_export"))})
    adopted(work, world.period, plan)
    world.remove(world.export_key)
    run, steps = launched(instance, work, world.period, plan)

    assert run.status is dg.DagsterRunStatus.FAILURE
    assert steps["fetch_export"].code == "OBJECT_GONE"
    assert {s.outcome for s in steps.values() if s.id != "fetch_export"} == {"not-run"}
    assert steps["scope_ledger"].reason == "the run stopped at fetch_export: OBJECT_GONE"
    evaluated = [log.dagster_event for log in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)]
    assert "scope_ledger" in {event.step_key for event in evaluated}  # its op ran, its tool did not


def test_terminated_task_run_is_noticed_at_the_next_step(world, work, instance):
    """A nested run hears nothing of a termination; it looks before each step."""
    from tests.support.plan_runs import task_run

    parent = task_run(instance, status=dg.DagsterRunStatus.CANCELING)
    run, steps = launched(instance, work, world.period, recorded_plan(work, world.period), parent=parent)

    assert run.status is dg.DagsterRunStatus.FAILURE
    assert {step.outcome for step in steps.values()} == {"not-run"}
    assert "CANCELLED" in steps["stage_table"].reason


def test_interrupt_before_the_first_step_leaves_no_run_behind(world, work, instance, monkeypatch):
    """A plan run that was created and never begun would be waiting for ever."""

    def interrupted(*_: object) -> None:
        raise dg.DagsterExecutionInterruptedError

    monkeypatch.setattr(instance, "report_engine_event", interrupted)
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        launched(instance, work, world.period, recorded_plan(work, world.period))

    (run,) = instance.get_runs(dg.RunsFilter(job_name="vendor_reconciliation__plan_run"))
    assert run.status is dg.DagsterRunStatus.CANCELED


def test_plan_run_of_another_attempts_plan_is_refused(world, work, instance):
    """The attempt in the tag and the plan in the arguments must belong together."""
    plan = recorded_plan(work, world.period)
    attempt = adopted(work, world.period, plan)
    other = work.journal.save_plan(changed(plan, issue_credit={"depends_on": []}))
    compiled = job(BINDING.ref, other, "default")
    result = compiled.execute_in_process(
        instance=instance, raise_on_error=False, tags={"planexec/attempt": attempt.id, "dagster/partition": "x"}
    )

    assert not result.success
    assert work.journal.events(attempt.id, kinds=["step-started"]) == ()


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("assets.nowhere:X", "cannot be found"),
        ("assets.vendor_reconciliation.binding:NOTHING", "cannot be found"),
        ("assets.vendor_reconciliation.binding:FOLDER", "not a task binding"),
        ("os; import sys", "does not name a task"),
    ],
    ids=["no-module", "no-name", "another-thing", "no-ref"],
)
def test_ref_that_leads_nowhere_says_so(ref, says):
    """A worker without the project says what it lacks."""
    with pytest.raises(PlanexecError, match=says) as refused:
        load_binding(ref)
    assert refused.value.code == "BAD_CONTRACT"


def test_ref_leads_to_the_binding():
    """Also from a folder that is not on the path."""
    assert isinstance(load_binding(BINDING.ref, str(ROOT)), TaskBinding)
    assert BINDING.folder == str(ROOT)
