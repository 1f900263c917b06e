"""A year of months by backfill under a real `dagster dev`, through a deploy and a crash of the code server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from tests.projects.year.binding import waiting_room
from tests.projects.year.task import CREDITED, DATA, EMPTY, INFLATED, PERIODS, TASK
from tests.support.dagster_dev import DagsterDev
from tests.support.flagship import CREDENTIALS

# The year takes minutes where other tests share the machine.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dagster-dev"), pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
REPEATABLE = ["vendor_invoice", "recon_lines", "recon_report"]
CLOSE = "month_end_close"
BAD = f"{EMPTY}-01"
GOOD = sorted(f"{period}-01" for period in PERIODS if period != EMPTY)
PATIENCE_S = 480.0


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Of the year."""
    return tmp_path_factory.mktemp("year")


@pytest.fixture(scope="module")
def dev(home):
    """The year's world under `dagster dev`, with the shipped `dagster.yaml`, run retries on, five runs at once."""
    with LocalS3() as s3:
        DemoWorld(home, s3.endpoint, data=DATA).seed()
        shipped = yaml.safe_load((ROOT / "dagster_planexec" / "definitions" / "dagster.yaml").read_text())
        shipped["run_retries"]["max_retries"] = 2
        shipped["concurrency"]["runs"]["max_concurrent_runs"] = 5
        (home / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(shipped))
        environment = {
            "PLANEXEC_HOME": str(home),
            "AWS_ENDPOINT_URL": s3.endpoint,
            "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1",
            **CREDENTIALS,
        }
        with DagsterDev(home / "dagster", environment, workspace="tests/projects/year/workspace.yaml") as running:
            yield running


@pytest.fixture(scope="module")
def year(dev):
    """The runs of the twelve months. The server is replaced after the first month, and killed after the fourth."""
    backfill = dev.backfill([f"{period}-01" for period in PERIODS], [*REPEATABLE, CLOSE])
    first = dev.code_servers()
    _until(lambda: _settled(dev, backfill) >= 1)
    dev.reload()
    second = dev.code_servers() - first
    _until(lambda: _settled(dev, backfill) >= 4)
    for pid in dev.code_servers():
        os.kill(pid, signal.SIGKILL)
    time.sleep(3)  # the daemon meets the absent server meanwhile
    dev.reload()
    assert first
    assert second
    assert dev.code_servers().isdisjoint(first | second)
    _until(lambda: dev.backfill_state(backfill)[0] not in {"REQUESTED", "FAILING"})
    yield dev.runs(dagster__backfill=backfill)
    assert dev.backfill_state(backfill)[1] is None


def test_eleven_months_succeed_and_the_bad_one_fails(year):
    """One task run per month, whatever happened to the server."""
    ended = {run["tags"]["dagster/partition"]: run["status"] for run in year}

    assert len(year) == len(PERIODS)
    assert ended == {**dict.fromkeys(GOOD, "SUCCESS"), BAD: "FAILURE"}


def test_asset_behind_the_report_is_gated_with_it(year):
    """Reports of eleven months, and what a user builds on them, exist; of the twelfth neither does."""
    made = Counter((m["assetKey"]["path"][0], m["partition"]) for run in year for m in run["assetMaterializations"])

    for asset in (*REPEATABLE, CLOSE):
        assert sorted(partition for name, partition in made if name == asset) == GOOD, asset
    assert set(made.values()) == {1}


def test_refusal_is_one_task_run_although_run_retries_are_on(dev, year):
    """Another try of a refused month would only refuse it again."""
    runs = dev.runs(dagster__partition=BAD)

    assert sorted(run["jobName"] for run in runs) == ["__ASSET_JOB", "vendor_reconciliation__plan_run"]
    assert [run["status"] for run in runs] == ["FAILURE", "FAILURE"]


def test_one_check_row_per_gate_and_month_and_none_left_planned(dev, year):
    """Neither a row too many nor one that waits for ever."""
    for asset in REPEATABLE:
        checks = dev.checks(asset)
        assert checks
        for check in checks:
            rows = dev.history(asset, check)

            assert sorted(row["partition"] for row in rows) == sorted([*GOOD, BAD]), check
            assert {row["status"] for row in rows} <= {"SUCCEEDED", "FAILED"}, check


def test_no_credit_is_issued_in_a_backfill(dev, year, home):
    """The month over its cap waits, and so does the one under every limit: both were asked for with ten others."""
    holds = {line["period"]: (line["status"], line["code"]) for line in _status(home)}

    assert holds[INFLATED] == ("held", "CAP_EXCEEDED")
    assert holds[CREDITED] == ("held", "APPROVAL_REQUIRED")
    assert holds[EMPTY] == ("stopped", "EMPTY_EXTRACT")
    assert [status for status, _ in holds.values()].count("settled") == len(PERIODS) - 3
    assert _issued(home) == {}


def test_no_lock_of_a_database_reaches_a_person(dev, year):
    """Five months at once over one warehouse file, one journal and Dagster's own SQLite."""
    said = [
        event.get("message", "") + str(event.get("error", ""))
        for run in dev.runs()
        for event in dev.events(run["runId"])
    ]

    assert len(said) > 1_000
    assert [line for line in said if re.search("lock(ed)?\\b", line, re.IGNORECASE) and "LOCKED" not in line] == []
    assert "database is locked" not in dev.log.read_text()


def test_held_month_is_found_by_its_tag(dev, year):
    """It is green like any other; the tag says that a person is waited for."""
    held = {run["tags"]["dagster/partition"] for run in dev.runs(planexec__status="held")}

    assert held == {f"{CREDITED}-01", f"{INFLATED}-01"}


def test_month_asked_for_by_itself_issues_what_its_backfill_held(dev, year, home):
    """What was done is reused: only the credits are left to do."""
    run = dev.ended(dev.materialise("__ASSET_JOB", f"{CREDITED}-01", REPEATABLE))

    assert run["status"] == "SUCCESS", dev.why(run["tags"]["planexec/plan_run"])
    assert _issued(home) == {CREDITED: len(DATA.pair(CREDITED).truth.credits)}


def test_terminated_plan_run_is_noticed_at_its_next_step(dev, year, home):
    """The step that runs is finished, the next one says why it is not begun, and both runs have an end."""
    period, room = "2025-02", waiting_room(home, "reconcile")
    task_run, plan_run = _at(dev, room, period)
    dev.terminate(plan_run)
    _leave(room)

    ended, child = dev.ended(task_run), dev.ended(plan_run)
    steps = {e["stepKey"] for e in dev.events(plan_run) if e["__typename"] == "ExecutionStepSuccessEvent"}

    assert ended["status"] == "FAILURE"
    assert child["status"] in {"CANCELED", "FAILURE"}
    assert "CANCELLED" in " ".join(dev.why(task_run))
    assert "reconcile" in steps
    assert not steps & {"write_report", "issue_credit"}


def test_terminated_task_run_ends_its_plan_run(dev, year, home):
    """In the middle of a step."""
    room = waiting_room(home, "write_report")
    task_run, plan_run = _at(dev, room, "2025-04")
    assert dev.terminate(task_run) == "TerminateRunSuccess"

    assert dev.ended(task_run)["status"] == "CANCELED"
    assert dev.ended(plan_run)["status"] in {"CANCELED", "FAILURE"}
    _leave(room)


def test_killed_step_leaves_no_plan_run_started_after_the_next_run(dev, year, home):
    """The crash is no refusal: Dagster's own retry runs the month again, ends what was left, and goes on from there."""
    period, room = "2025-06", waiting_room(home, "write_report")
    task_run, plan_run = _at(dev, room, period)
    said = " ".join(event.get("message", "") for event in dev.events(task_run))
    captured = re.findall(r"apturing logs (?:for|in) process \(pid: (\d+)\)", said)
    assert captured, said
    os.kill(int(captured[-1]), signal.SIGKILL)
    assert dev.ended(task_run)["status"] == "FAILURE"
    _leave(room)
    again = _until(lambda: dev.runs(dagster__parent_run_id=task_run))[0]

    assert dev.ended(again["runId"])["status"] == "SUCCESS", dev.why(again["runId"])
    assert dev.ended(plan_run)["status"] == "FAILURE"
    assert task_run in dev.why(plan_run)[0]


def _settled(dev, backfill):
    return sum(1 for run in dev.runs(dagster__backfill=backfill) if run["status"] in {"SUCCESS", "FAILURE"})


def _at(dev, room, period):
    """(task run, plan run) of a month that has come to the step and waits there."""
    room.parent.mkdir(exist_ok=True)
    room.touch()
    task_run = dev.materialise(f"{TASK.name}__task_run", f"{period}-01")
    _until(room.with_suffix(".reached").exists)
    return task_run, dev.tags(task_run)["planexec/plan_run"]


def _leave(room):
    room.unlink()
    room.with_suffix(".reached").unlink(missing_ok=True)


def _issued(home):
    """Credits issued, by period."""
    with DemoWorld(home, "http://127.0.0.1:1", data=DATA).connection() as warehouse:
        if not warehouse.execute("select 1 from duckdb_tables() where schema_name = 'credits'").fetchall():
            return {}
        return dict(warehouse.execute("select period, count(*) from credits.issued group by all").fetchall())


def _status(home):
    verb = [sys.executable, "-m", "dagster_planexec.cli.main", "--project", str(ROOT / "tests" / "projects" / "year")]
    verb += ["status", TASK.name, "--home", str(home), "--json"]
    return json.loads(subprocess.run(verb, capture_output=True, check=True, cwd=home).stdout)["periods"]


def _until(ask):
    end = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.5)
    return answer
