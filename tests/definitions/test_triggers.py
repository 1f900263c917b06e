"""The failure sensor and the built definitions."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PlanexecError, planexec_definitions
from dagster_planexec.definitions.partitions import partitions_of
from dagster_planexec.definitions.triggers.failure_sensor import failure_sensor

VENDOR = VENDOR_RECONCILIATION.binding.task
pytestmark = pytest.mark.xdist_group("flagship-months")


def told_of(month, run, told):
    """What the failure sensor does about a run."""
    sensor = failure_sensor([VENDOR], on_failure=told.append)
    event = month.events(run, dg.DagsterEventType.RUN_FAILURE)[0]
    context = dg.build_run_status_sensor_context(
        sensor_name=sensor.name, dagster_event=event, dagster_instance=month.instance, dagster_run=run
    )
    return sensor(context.for_run_failure())


def test_failure_of_a_task_run_is_told_with_everything_to_act_on(stopped):
    """The one sentence, which holds both sides and the hint; code, step, link, next command."""
    told = []
    told_of(stopped, stopped.task_run, told)

    (text,) = told
    sentence, _ = stopped.failure(stopped.task_run)
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["vendor_reconciliation 2026-02-01"] == sentence
    assert lines["code"] == "OBJECT_GONE"
    assert lines["step"] == "fetch_export"
    assert lines["run"] == f"/runs/{stopped.task_run.run_id}"
    assert lines["next"] == "planexec run vendor_reconciliation --partition 2026-02-01"
    assert set(lines) == {"vendor_reconciliation 2026-02-01", "code", "step", "run", "next"}


def test_failure_of_a_plan_run_is_not_told_twice(stopped):
    """Its task run says it."""
    told = []
    skipped = told_of(stopped, stopped.plan_run, told)

    assert (told, skipped.skip_message) == ([], "not a task run")


def test_run_that_died_before_it_could_say_whose_it_is_is_told(stopped):
    """A worker that never came up leaves no tag of ours: the run is known by its job."""
    import definitions

    job = definitions.defs.resolve_job_def("vendor_reconciliation__task_run")
    died = stopped.instance.create_run_for_job(job, tags={"dagster/partition": "2026-02-01"})
    stopped.instance.report_run_failed(died, "the worker is gone")
    told = []
    told_of(stopped, died, told)

    (text,) = told
    assert text.startswith("vendor_reconciliation 2026-02-01: ")
    assert f"/runs/{died.run_id}" in text


def test_two_tasks_may_not_share_a_name():
    """Asset keys are unique within a project."""
    with pytest.raises(PlanexecError, match="belongs to both"):
        planexec_definitions(VENDOR_RECONCILIATION, VENDOR_RECONCILIATION)


def test_nobody_can_click_materialise_on_credits():
    """Irreversible deliverables are external: recorded, never executed."""
    import definitions

    graph = definitions.defs.resolve_asset_graph()
    for name in ("credits", "council_credits"):
        node = graph.get(dg.AssetKey(name))
        assert not node.is_executable
        assert not node.child_keys


@pytest.mark.parametrize("fault", [None, "header-only-export"], ids=["made", "not-made"])
def test_downstream_asset_runs_only_if_its_deliverable_was_made(month, fault):
    """A report that was not made starts nothing that is made from it."""
    ran = []

    @dg.asset(partitions_def=partitions_of(VENDOR), deps=["recon_report"])
    def rollup() -> None:
        ran.append(True)

    defs = dg.Definitions.merge(planexec_definitions(VENDOR_RECONCILIATION), dg.Definitions(assets=[rollup]))
    job = defs.resolve_implicit_global_asset_job_def()
    with month.world(fault=fault), dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, partition_key="2026-02-01", raise_on_error=False)

    assert result.success is (fault is None)
    assert ran == ([True] if fault is None else [])
