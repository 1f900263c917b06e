"""Schedule, failure sensor and the built definitions."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg
import pytest

from assets.council_spend.binding import COUNCIL_SPEND
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PlanexecError, planexec_definitions
from dagster_planexec.definitions.partitions import partitions_of
from dagster_planexec.definitions.triggers.failure_sensor import failure_sensor
from dagster_planexec.definitions.triggers.schedule import task_schedule

VENDOR = VENDOR_RECONCILIATION.binding.task
COUNCIL = COUNCIL_SPEND.binding.task
pytestmark = pytest.mark.xdist_group("flagship-months")


def request_at(task, when):
    """What the schedule asks for at an instant."""
    with dg.build_schedule_context(scheduled_execution_time=when) as context:
        return task_schedule(task)(context)


@pytest.mark.parametrize(
    ("task", "when", "partition"),
    [
        (VENDOR, datetime(2026, 3, 10, 6, tzinfo=UTC), "2026-02-01"),
        (VENDOR, datetime(2027, 1, 10, 6, tzinfo=UTC), "2026-12-01"),
        (COUNCIL, datetime(2018, 1, 10, 6, tzinfo=UTC), "2017-10-01"),
        (COUNCIL, datetime(2018, 4, 10, 5, tzinfo=UTC), "2018-01-01"),
    ],
    ids=["month", "over-new-year", "quarter", "last-quarter-in-summer-time"],
)
def test_schedule_asks_for_the_period_just_closed(task, when, partition):
    """By the task's own clock."""
    assert request_at(task, when).partition_key == partition


@pytest.mark.parametrize(
    ("task", "when"),
    [(VENDOR, datetime(2026, 1, 10, tzinfo=UTC)), (COUNCIL, datetime(2026, 1, 10, tzinfo=UTC))],
    ids=["before-the-first", "after-the-last"],
)
def test_schedule_skips_what_is_no_partition(task, when):
    """And says so."""
    assert "is not a partition" in request_at(task, when).skip_message


@pytest.mark.parametrize(
    ("task", "now", "keys"),
    [
        (VENDOR, datetime(2026, 4, 1, tzinfo=UTC), ["2026-01-01", "2026-02-01", "2026-03-01"]),
        (COUNCIL, datetime(2026, 4, 1, tzinfo=UTC), ["2017-04-01", "2017-07-01", "2017-10-01", "2018-01-01"]),
        (COUNCIL, datetime(2017, 12, 31, 23, tzinfo=UTC), ["2017-04-01", "2017-07-01"]),
    ],
    ids=["months", "quarters", "quarter-still-running"],
)
def test_partition_keys_are_the_periods_own(task, now, keys):
    """First days, as `Period.key` writes them."""
    found = list(partitions_of(task).get_partition_keys(current_time=now))

    assert found == keys == [task.period(key).key for key in found]


def told_of(month, run, told):
    """What the failure sensor does about a run."""
    sensor = failure_sensor([VENDOR], on_failure=told.append)
    event = month.events(run, dg.DagsterEventType.RUN_FAILURE)[0]
    context = dg.build_run_status_sensor_context(
        sensor_name=sensor.name, dagster_event=event, dagster_instance=month.instance, dagster_run=run
    )
    return sensor(context.for_run_failure())


def test_failure_of_a_task_run_is_told_with_everything_to_act_on(stopped):
    """Code, step, both sides, link, hint, next command."""
    told = []
    told_of(stopped, stopped.task_run, told)

    (text,) = told
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["code"] == "OBJECT_GONE"
    assert lines["step"] == "fetch_export"
    assert lines["run"] == f"/runs/{stopped.task_run.run_id}"
    assert lines["next"] == "planexec run vendor_reconciliation --partition 2026-02-01"
    assert {"expected", "observed", "hint"} <= set(lines)


def test_failure_of_a_plan_run_is_not_told_twice(stopped):
    """Its task run says it."""
    told = []
    skipped = told_of(stopped, stopped.plan_run, told)

    assert (told, skipped.skip_message) == ([], "not a task run")


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
