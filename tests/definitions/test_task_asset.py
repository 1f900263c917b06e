"""A month in Dagster: what the task run and the plan run inside it leave in the event log."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster import AssetCheckSeverity, DagsterEventType
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from tests.support.flagship import SMALL, TASK, materialise

PARTITION = f"{SMALL}-01"
REPEATABLE = {"vendor_invoice", "recon_lines", "recon_report"}
pytestmark = pytest.mark.xdist_group("flagship-months")


def declared_gates():
    """Every (asset, check) of the task's asset."""
    import definitions

    keys = definitions.defs.resolve_asset_graph().asset_check_keys
    return {(k.asset_key.path[-1], k.name) for k in keys if k.asset_key.path[-1] in REPEATABLE}


@pytest.fixture(params=["healthy", "stopped", "held", "rejected"])
def any_month(request):
    """Each of the months."""
    return request.getfixturevalue(request.param)


def test_no_check_row_is_left_planned(any_month):
    """Every declared gate has one row for the partition, and it was evaluated."""
    storage = any_month.instance.event_log_storage
    for asset, check in declared_gates():
        key = dg.AssetCheckKey(dg.AssetKey(asset), check)
        rows = storage.get_asset_check_execution_history(key, limit=10)

        assert [(row.partition, row.status is AssetCheckExecutionRecordStatus.PLANNED) for row in rows] == [
            (PARTITION, False)
        ], f"{asset}.{check}"


def test_every_declared_gate_is_shown_by_the_task_run(any_month):
    """One result per gate, whatever happened."""
    assert declared_gates() == set(any_month.checks(any_month.task_run))


def test_plan_run_materialises_nothing(any_month):
    """Materialisations of a child run count for no backfill and starve what is downstream."""
    if any_month.plan_run is not None:
        assert any_month.materialised(any_month.plan_run) == {}


def test_plan_is_shown_before_its_run_starts(any_month):
    """The observation on the last repeatable deliverable is older than the plan run."""
    observation = any_month.observed(any_month.task_run)["recon_report"]

    assert observation.partition == PARTITION
    assert "fetch\\_export" not in observation.metadata["plan"].value
    assert "fetch_export" in observation.metadata["plan"].value
    assert observation.metadata["model"].value == "no model was called"
    seen = any_month.events(any_month.task_run, DagsterEventType.ASSET_OBSERVATION)[0]
    if any_month.plan_run is not None:
        records = any_month.instance.get_run_records(dg.RunsFilter(run_ids=[any_month.plan_run.run_id]))
        logged = next(
            log for log in any_month.instance.all_logs(any_month.task_run.run_id) if log.dagster_event == seen
        )
        assert logged.timestamp <= records[0].create_timestamp.timestamp()


def test_plan_card_says_what_a_reviewer_asks(healthy):
    """How many claims a probe stands behind, what was found, what changed, and how long there is to say no."""
    card = {name: value.value for name, value in healthy.observed(healthy.task_run)["recon_report"].metadata.items()}

    assert (card["claims"], card["claims_backed_by_probes"], card["errors"]) == (2, 2, 0)
    assert card["judged_just_now"] >= 5
    assert card["may_run"] == "yes"
    assert card["review_window"] == "6 steps before the first irreversible step"
    assert card["changes"] == "There is no earlier settled period to compare with."
    assert "object_exists" in card["report"]


def test_healthy_month_materialises_what_is_repeatable_and_records_the_credits(healthy):
    """Both runs are green; credits are an external asset's event of the task run."""
    made = healthy.materialised(healthy.task_run)

    assert (healthy.task_run.status, healthy.plan_run.status) == (dg.DagsterRunStatus.SUCCESS,) * 2
    assert set(made) == REPEATABLE | {"credits"}
    assert {m.partition for m in made.values()} == {PARTITION}


def test_healthy_month_says_rows_plan_runs_and_reports(healthy):
    """The metadata of what was made leads to everything else."""
    made = healthy.materialised(healthy.task_run)
    truth = healthy.world.pair.truth
    report = made["recon_report"].metadata

    assert made["vendor_invoice"].metadata["dagster/row_count"].value == truth.vendor_rows
    assert made["vendor_invoice"].metadata["plan_run"].value == healthy.plan_run.run_id
    assert made["credits"].metadata["dagster/row_count"].value == len(truth.credits)
    assert {name for name in report if name.startswith("report_")} == {"report_md", "report_html", "report_json"}
    assert len(report["plan_digest"].value) == 64
    assert report["author"].value.startswith("by hand")


def test_healthy_gates_are_open_and_show_both_sides(healthy):
    """Every gate passed, each with two values and two different sources."""
    checks = healthy.checks(healthy.task_run)

    assert set(checks) == declared_gates()
    for (asset, check), data in checks.items():
        assert data.passed, f"{asset}.{check}: {data.description}"
        if data.description != "no step takes another step's result":
            sides = [data.metadata[name].value for name in ("expected_from", "observed_from")]
            assert sides[0] != sides[1], f"{asset}.{check}"


def test_plan_run_starts_with_a_link_to_its_task_run(healthy):
    """Re-executing the plan run cannot work; its first event says where to do it."""
    first = healthy.events(healthy.plan_run)[0]

    assert healthy.task_run.run_id in first.message
    assert first.engine_event_data.metadata["task run"].value == healthy.task_run.run_id


def test_plan_run_has_one_op_per_step_and_carries_ids_only(healthy):
    """Steps are ops of their own names; tags hold no arguments."""
    steps = [event.step_key for event in healthy.events(healthy.plan_run, DagsterEventType.STEP_SUCCESS)]

    assert healthy.plan_run.job_name == f"{TASK}__plan_run"
    assert steps == [
        "scope_ledger", "stage_table", "fetch_export", "load_staging", "reconcile", "write_report", "issue_credit",
    ]  # fmt: skip
    assert healthy.plan_run.run_config == {}
    assert "vendor-drops" not in str(healthy.plan_run.tags)


def test_plan_run_shows_every_verdict_under_keys_of_its_own(healthy):
    """planexec/<task>/<step>, the phase before the check's name."""
    events = healthy.events(healthy.plan_run, DagsterEventType.ASSET_CHECK_EVALUATION)
    data = [event.asset_check_evaluation_data for event in events]

    assert {d.asset_key.path[0] for d in data} == {"planexec"}
    assert {d.partition for d in data} == {PARTITION}
    assert ("fetch_export", "post__landed_is_intact") in {(d.asset_key.path[-1], d.check_name) for d in data}


def test_stopped_month_fails_both_runs_and_names_the_step(stopped):
    """The one sentence, and what to do next."""
    sentence, metadata = stopped.failure(stopped.task_run)

    assert (stopped.task_run.status, stopped.plan_run.status) == (dg.DagsterRunStatus.FAILURE,) * 2
    assert sentence.startswith("OBJECT_GONE: object_exists failed at fetch_export: expected etag ")
    assert (metadata["code"], metadata["step"]) == ("OBJECT_GONE", "fetch_export")
    assert metadata["plan_run"] == stopped.plan_run.run_id
    assert metadata["next"] == f"planexec run {TASK} --partition {PARTITION}"


def test_stopped_gate_failed_for_the_partition_with_both_sides(stopped):
    """The check that met the missing object is red; what lies behind it was not reached."""
    checks = stopped.checks(stopped.task_run)
    shut = checks["vendor_invoice", "object_exists"]

    assert (shut.passed, shut.severity, shut.partition) == (False, AssetCheckSeverity.ERROR, PARTITION)
    assert shut.metadata["observed"].value
    assert shut.metadata["expected"].value
    assert shut.metadata["expected_from"].value != shut.metadata["observed_from"].value
    behind = checks["recon_report", "report_matches_result"]
    assert (behind.passed, behind.severity, behind.description) == (False, AssetCheckSeverity.WARN, "not reached")
    assert behind.metadata["because"].value == stopped.failure(stopped.task_run)[0]


def test_stopped_month_materialises_nothing_and_starts_no_later_step(stopped):
    """No invoice, no lines, no report, no credit."""
    assert stopped.materialised(stopped.task_run) == {}
    started = [event.step_key for event in stopped.events(stopped.plan_run, DagsterEventType.STEP_START)]
    assert started[-1] == "fetch_export"
    assert list(stopped.world.roots.reports.glob("*recon*")) == []


def test_stop_ends_run_level_retries(stopped):
    """`allow_retries=False` alone would not."""
    for run in (stopped.task_run, stopped.plan_run):
        assert stopped.instance.get_run_by_id(run.run_id).tags["dagster/max_retries"] == "0"


def test_held_month_is_green_and_says_what_waits(held):
    """Everything repeatable is made; the credits wait, visibly, and were not materialised."""
    made = held.materialised(held.task_run)
    waits = held.observed(held.task_run)["credits"]

    assert (held.task_run.status, held.plan_run.status) == (dg.DagsterRunStatus.SUCCESS,) * 2
    assert set(made) == REPEATABLE
    assert made["recon_report"].metadata["held"].value.startswith("CAP_EXCEEDED: ")
    assert waits.partition == PARTITION
    assert waits.metadata["held_count"].value > 0
    assert waits.metadata["next"].value.startswith("planexec show hold_")


def test_held_step_warns_in_the_plan_run(held):
    """The gate that asks for a person is a warning; nothing failed."""
    gate = held.checks(held.plan_run)["issue_credit", "pre__within_cap"]

    assert (gate.passed, gate.severity) == (False, AssetCheckSeverity.WARN)


def test_rejected_month_shows_the_plan_and_starts_no_plan_run(rejected):
    """A plan that may not run is seen all the same, with what is wrong."""
    card = rejected.observed(rejected.task_run)["recon_report"].metadata
    sentence, metadata = rejected.failure(rejected.task_run)

    assert rejected.plan_run is None
    assert card["may_run"].value == "no: EMPTY_EXTRACT"
    assert sentence.startswith("EMPTY_EXTRACT: object_is_non_empty failed before the run: expected ")
    assert metadata["code"] == "EMPTY_EXTRACT"


def test_task_run_shows_how_all_periods_stand(stopped):
    """One line per month, on the asset, whatever became of this one."""
    seen = stopped.overview(stopped.task_run).metadata

    assert f"| {SMALL} | stopped (OBJECT_GONE) |" in seen["months"].value
    assert (seen["settled"].value, seen["stopped"].value) == (0, 1)


def test_second_run_reuses_and_issues_nothing_twice(month):
    """The same inputs continue the attempt: nothing is done again, and nothing is recorded twice."""
    with month() as first:
        second = materialise(first.instance, first.world)
        issued = first.materialised(first.task_run)["credits"].metadata["dagster/row_count"].value

        assert second.task_run.status is dg.DagsterRunStatus.SUCCESS
        assert set(second.materialised(second.task_run)) == REPEATABLE
        assert issued == len(first.world.pair.truth.credits)
        steps = second.materialised(second.task_run)["recon_lines"].metadata["steps"]
        assert {record.data["outcome"] for record in steps.records} == {"reused"}
