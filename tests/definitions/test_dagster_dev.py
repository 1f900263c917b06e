"""The project under a real `dagster dev`, driven by GraphQL as the UI drives it. One server for all of these."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from tests.support.dagster_dev import LOCATION, DagsterDev
from tests.support.flagship import CREDENTIALS, TASK

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dagster-dev")]

ROOT = Path(__file__).resolve().parents[2]
HELD, STOPPED, HEALTHY = "2026-01-01", "2026-02-01", "2026-03-01"
REPEATABLE = ["vendor_invoice", "recon_lines", "recon_report"]


@pytest.fixture(scope="session")
def dev(tmp_path_factory):
    """A seeded world, with January inflated and February without lines, under `dagster dev`."""
    home = tmp_path_factory.mktemp("dev")
    with LocalS3() as s3:
        DemoWorld(home, s3.endpoint).seed()
        FAULTS["inflate-credits"].apply(DemoWorld(home, s3.endpoint, period=HELD))
        FAULTS["header-only-export"].apply(DemoWorld(home, s3.endpoint, period=STOPPED))
        dagster_home = home / "dagster"
        shutil.copy(ROOT / "dagster_planexec" / "definitions" / "dagster.yaml", dagster_home)
        environment = {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": s3.endpoint, **CREDENTIALS}
        with DagsterDev(dagster_home, environment) as running:
            yield running


@pytest.fixture(scope="session")
def months(dev):
    """Run ids of three months at once over one warehouse file: two from the job, one from the asset page."""
    started = {}
    for partition, job in ((HEALTHY, "__ASSET_JOB"), (STOPPED, f"{TASK}__task_run"), (HELD, f"{TASK}__task_run")):
        started[partition] = dev.materialise(job, partition, REPEATABLE if job == "__ASSET_JOB" else None)
    for run_id in started.values():
        dev.ended(run_id)
    return started


PAYING = ("vendor_reconciliation", "council_spend")
TASKS = ("vendor_reconciliation", "council_spend", "dependency_audit", "row_count_investigation")


def test_workspace_loads_with_sensors_running(dev):
    """`workspace.yaml` and the shipped `dagster.yaml`: everything is there, and the sensors are on."""
    query = """query($s: RepositorySelector!) { repositoryOrError(repositorySelector: $s) { ... on Repository {
      jobs { name } sensors { name sensorState { status } } schedules { name scheduleState { status } } } } }"""
    found = dev.query(query, s=LOCATION)["repositoryOrError"]

    assert {s["name"]: s["sensorState"]["status"] for s in found["sensors"]} == {
        "vendor_reconciliation__arrivals": "RUNNING",
        "council_spend__arrivals": "RUNNING",
        "planexec__failures": "RUNNING",
        **{f"{name}__waits": "RUNNING" for name in TASKS},
        **{f"{name}__approvals": "RUNNING" for name in PAYING},
    }
    assert {s["name"] for s in found["schedules"]} == {f"{name}__schedule" for name in TASKS}
    jobs = {f"{TASK}__task_run", "council_spend__task_run"}
    jobs |= {f"{name}__{job}" for name in PAYING for job in ("continue", "decide")}
    assert jobs <= {j["name"] for j in found["jobs"]}


@pytest.mark.parametrize(
    ("partition", "status", "made"),
    [(HEALTHY, "SUCCESS", {*REPEATABLE, "credits"}), (STOPPED, "FAILURE", set()), (HELD, "SUCCESS", set(REPEATABLE))],
    ids=["healthy", "stopped", "held"],
)
def test_month_ends_and_materialises_as_it_should(dev, months, partition, status, made):
    """Both runs; only the task run materialises."""
    run = dev.ended(months[partition])
    plan_run = dev.ended(run["tags"]["planexec/plan_run"])

    assert (run["status"], plan_run["status"]) == (status, status), dev.why(months[partition])
    assert {m["assetKey"]["path"][0] for m in run["assetMaterializations"]} == made
    assert {m["partition"] for m in run["assetMaterializations"]} <= {partition}
    assert plan_run["assetMaterializations"] == []
    assert plan_run["jobName"] == f"{TASK}__plan_run"


def test_stopped_gate_is_red_for_its_partition_with_both_sides(dev, months):
    """The check history of the asset, as the Checks tab shows it."""
    (row,) = [r for r in dev.history("vendor_invoice", "extract_has_rows") if r["partition"] == STOPPED]
    sides = {entry["label"]: entry.get("text") for entry in row["evaluation"]["metadataEntries"]}

    assert row["status"] == "FAILED"
    assert row["runId"] == months[STOPPED]
    assert sides["code"] == "EMPTY_EXTRACT"
    assert sides["expected"]
    assert sides["observed"]
    assert sides["expected_from"] != sides["observed_from"]


def test_no_check_row_is_left_planned(dev, months):
    """Every gate has one row per month, and none of them waits."""
    for asset in REPEATABLE:
        checks = dev.checks(asset)
        assert checks
        for check in checks:
            rows = dev.history(asset, check)

            assert sorted(r["partition"] for r in rows) == [HELD, STOPPED, HEALTHY], f"{asset}.{check['name']}"
            assert {r["status"] for r in rows} <= {"SUCCEEDED", "FAILED"}, f"{asset}.{check['name']}"


def test_plan_is_in_the_events_of_the_task_run(dev, months):
    """Observed before the plan run, with the steps, and that no model was called."""
    events = dev.events(months[HEALTHY])
    observation = next(e for e in events if e["__typename"] == "ObservationEvent")
    said = {e["label"]: e.get("text") or e.get("mdStr") for e in observation["metadataEntries"]}

    assert observation["assetKey"]["path"] == ["recon_report"]
    assert "fetch_export" in said["plan"]
    assert said["model"] == "no model was called"


def test_plan_run_is_linked_and_shows_its_steps(dev, months):
    """Its first event names the task run; each step is an op."""
    plan_run = dev.ended(months[STOPPED])["tags"]["planexec/plan_run"]
    events = dev.events(plan_run)
    failed = {e["stepKey"] for e in events if e["__typename"] == "ExecutionStepFailureEvent"}
    started = [e["stepKey"] for e in events if e["__typename"] == "ExecutionStepStartEvent"]

    assert months[STOPPED] in events[0]["message"]
    assert (failed, started[-1]) == ({"load_staging"}, "load_staging")


def test_failure_sensor_hears_the_task_run_and_not_the_plan_run(dev, months):
    """In the real daemon, once."""
    text = f"{TASK} {STOPPED}: EMPTY_EXTRACT: extract_has_rows failed at load_staging"
    heard = _until(lambda: dev.log.read_text().count(text))

    assert heard
    found = dev.ticks("planexec__failures")
    assert [t["error"] for t in found if t["status"] == "FAILURE"] == []
    assert f"/runs/{dev.ended(months[STOPPED])['tags']['planexec/plan_run']}" not in dev.log.read_text()


def test_arrival_sensor_ticks_without_error(dev, months):
    """It looks at the real bucket and waits for it to settle."""
    found = _until(lambda: dev.ticks(f"{TASK}__arrivals"))

    assert {t["status"] for t in found} <= {"SKIPPED", "STARTED"}
    assert any("; 3 still change (" in (t["skipReason"] or "") for t in found), found


def test_terminated_task_run_ends_its_plan_run_and_leaves_no_planned_row(dev, months):
    """Terminate reaches both: nothing is left running, and every gate of the run is shown as not reached or judged."""
    run_id = dev.materialise(f"{TASK}__task_run", HEALTHY, config={"ops": {TASK: {"config": {"replan": True}}}})
    plan_run = _until(lambda: dev.tags(run_id).get("planexec/plan_run"))
    answer = dev.query(
        """mutation($id: String!) { terminateRun(runId: $id) { __typename ... on PythonError { message }
        ... on TerminateRunFailure { message } } }""",
        id=run_id,
    )["terminateRun"]

    assert answer["__typename"] == "TerminateRunSuccess", answer
    assert dev.ended(run_id)["status"] == "CANCELED"
    assert dev.ended(plan_run)["status"] in {"CANCELED", "FAILURE"}
    rows = [row for row in dev.history("recon_report", "report_matches_result") if row["runId"] == run_id]
    assert {row["status"] for row in rows} == {"FAILED"}
    assert dev.ended(run_id)["assetMaterializations"] == []


def _until(ask, seconds=60.0):
    """What `ask` answers, once it is something."""
    import time

    end = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < end:
        time.sleep(0.5)
    return answer
