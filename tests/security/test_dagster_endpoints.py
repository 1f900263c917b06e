"""Somebody who reaches Dagster's GraphQL and has no key: it is open, so nothing that it takes may move money.

One real `dagster dev`. January's credits exceed the cap, so its month waits for a person; whatever is sent, nothing is
issued for January, and for February nothing but what its own plan issues.
"""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from tests.support.dagster_dev import LAUNCH, LOCATION, DagsterDev
from tests.support.flagship import CREDENTIALS, TASK

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dagster-dev")]

ROOT = Path(__file__).resolve().parents[2]
HELD = "2026-01-01"
ASSETS = ["vendor_invoice", "recon_lines", "recon_report"]
REEXECUTE = """mutation($p: ReexecutionParams!) { launchRunReexecution(reexecutionParams: $p) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
RE_RUN = """mutation($p: ExecutionParams!) { launchRunReexecution(executionParams: $p) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
REPORT = """mutation($p: ReportRunlessAssetEventsParams!) { reportRunlessAssetEvents(eventParams: $p) { __typename
  ... on PythonError { message } } }"""
WIPE = """mutation($r: [PartitionsByAssetSelector!]!) { wipeAssets(assetPartitionRanges: $r) { __typename
  ... on PythonError { message } } }"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the project."""
    return tmp_path_factory.mktemp("attacked")


@pytest.fixture(scope="module")
def dev(home: Path) -> Iterator[DagsterDev]:
    """A seeded world with January inflated, under `dagster dev`."""
    with LocalS3() as s3:
        DemoWorld(home, s3.endpoint).seed()
        FAULTS["inflate-credits"].apply(DemoWorld(home, s3.endpoint, period=HELD[:7]))
        shutil.copy(ROOT / "dagster_planexec" / "definitions" / "dagster.yaml", home / "dagster")
        environment = {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": s3.endpoint, **CREDENTIALS}
        with DagsterDev(home / "dagster", environment) as running:
            yield running


@pytest.fixture(scope="module")
def held(dev: DagsterDev) -> dict[str, Any]:
    """January, which waits for a person."""
    run = dev.ended(dev.materialise(f"{TASK}__task_run", HELD))
    assert run["tags"]["planexec/status"] == "held", run["tags"]
    return run


def issued(home: Path, period: str = HELD[:7]) -> int:
    with DuckDbWarehouse(home / "warehouse.duckdb").looking().session() as session:
        if session.describe("credits.issued") is None:
            return 0
        return int(str(session.rows("select count(*) from credits.issued where period = ?", [period])[0][0]))


def sent(dev: DagsterDev, query: str, **variables: Any) -> dict[str, Any]:
    """What the endpoint answers, an error too."""
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{dev.url}/graphql", json.dumps({"query": query, "variables": variables}).encode(),
        {"Content-Type": "application/json"},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def run_id_in(answer: dict[str, Any]) -> str | None:
    """The run that was launched, if one was."""
    for value in (answer.get("data") or {}).values():
        if isinstance(value, dict) and isinstance(value.get("run"), dict):
            return str(value["run"]["runId"])
    return None


def launch(dev: DagsterDev, job: str, *, config: Any = None, **tags: str) -> dict[str, Any]:
    metadata = {"tags": [{"key": name.replace("__", "/"), "value": value} for name, value in tags.items()]}
    params = {"selector": {**LOCATION, "jobName": job}, "runConfigData": config or {}, "executionMetadata": metadata}
    return sent(dev, LAUNCH, p=params)


def test_a_plan_run_cannot_be_launched_or_repeated(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """Its job is in no code location; its run has no origin there from which it could be started again."""
    plan_run = held["tags"]["planexec/plan_run"]
    launched = launch(dev, f"{TASK}__plan_run", dagster__partition=HELD)
    assert run_id_in(launched) is None
    for strategy in ("ALL_STEPS", "FROM_FAILURE"):
        again = run_id_in(sent(dev, REEXECUTE, p={"parentRunId": plan_run, "strategy": strategy}))
        if again is not None:
            assert dev.ended(again)["status"] != "SUCCESS"
    edited = {"selector": {**LOCATION, "jobName": f"{TASK}__plan_run"}, "runConfigData": {}, "stepKeys": ["issue_credit"],  # noqa: E501
              "executionMetadata": {"parentRunId": plan_run, "rootRunId": plan_run, "tags": []}}  # fmt: skip
    assert run_id_in(sent(dev, RE_RUN, p=edited)) is None
    assert issued(home) == 0


def test_forged_tags_of_a_task_run_release_nothing(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """Attempt, plan, lease, status, task run: what waits for a person waits again."""
    forged = {
        "planexec__attempt": held["tags"]["planexec/attempt"], "planexec__plan": "f" * 12, "planexec__lease": "1",
        "planexec__task_run": "x", "planexec__status": "succeeded", "planexec__code": "none",
        "planexec__plan_run": held["tags"]["planexec/plan_run"], "planexec__approved": "true",
        "planexec__hold": "approved", "dagster__backfill": "", "planexec__backfill": "",
    }  # fmt: skip
    answer = launch(dev, f"{TASK}__task_run", dagster__partition=HELD, **forged)
    run_id = run_id_in(answer)
    assert run_id is not None, answer
    run = dev.ended(run_id)
    assert run["tags"]["planexec/status"] != "succeeded"
    assert issued(home) == 0


@pytest.mark.parametrize(
    "config",
    [
        {"ops": {TASK: {"config": {"replan": False, "cap": "999999999.00"}}}},
        {"ops": {TASK: {"config": {"approved": True}}}},
        {"resources": {"planexec": {"config": {"digest": "f" * 64, "approved": True}}}},
        {"ops": {"issue_credit": {"config": {}}}},
        {"execution": {"config": {"in_process": {"step_keys": ["issue_credit"]}}}},
    ],
)
def test_run_config_takes_nothing_that_counts(
    dev: DagsterDev, home: Path, held: dict[str, Any], config: dict[str, Any]
) -> None:
    """The one field it has asks for another plan; anything else is refused before a run exists."""
    answer = launch(dev, f"{TASK}__task_run", config=config, dagster__partition=HELD)
    assert run_id_in(answer) is None, answer
    assert issued(home) == 0


def test_events_reported_by_hand_open_no_gate(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """A materialisation that never was, on every asset, then the month again: gates are judged anew."""
    for asset in (*ASSETS, "credits"):
        for kind in ("ASSET_MATERIALIZATION", "ASSET_OBSERVATION"):
            params = {"eventType": kind, "assetKey": {"path": [asset]}, "partitionKeys": [HELD],
                      "description": "approved"}  # fmt: skip
            sent(dev, REPORT, p=params)
    run = dev.ended(dev.materialise(f"{TASK}__task_run", HELD))
    assert run["tags"]["planexec/status"] != "succeeded"
    assert issued(home) == 0


def test_money_is_no_button(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """The credits are an external asset: no job materialises them, alone or in a backfill."""
    selector = {**LOCATION, "jobName": "__ASSET_JOB", "assetSelection": [{"path": ["credits"]}]}
    answer = sent(dev, LAUNCH, p={"selector": selector, "runConfigData": {},
                                  "executionMetadata": {"tags": [{"key": "dagster/partition", "value": HELD}]}})  # fmt: skip  # noqa: E501
    run_id = run_id_in(answer)
    assert run_id is None or dev.ended(run_id)["status"] != "SUCCESS"
    assert issued(home) == 0


def test_wiping_what_dagster_knows_pays_nothing_twice(dev: DagsterDev, home: Path) -> None:
    """February is settled, forgotten by Dagster, and run again: the target knows what was issued."""
    february = "2026-02-01"
    first = dev.ended(dev.materialise(f"{TASK}__task_run", february))
    assert first["tags"]["planexec/status"] == "succeeded"
    once = issued(home, february[:7])
    assert once > 0
    for asset in (*ASSETS, "credits"):
        sent(dev, WIPE, r=[{"assetKey": {"path": [asset]}}])
    again = dev.ended(dev.materialise(f"{TASK}__task_run", february))
    assert again["status"] == "SUCCESS"
    assert issued(home, february[:7]) == once


def test_continuing_what_nobody_has_approved_pays_nothing(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """Anybody can start the job that continues a month, for any hold; without a signed decision nothing is done."""
    for hold in (held["tags"]["planexec/hold"], "hold_000000000000", "'; drop table planexec_holds; --"):
        config = {"ops": {f"{TASK}__finish": {"config": {"hold": hold}}}}
        run = dev.ended(dev.materialise(f"{TASK}__continue", HELD, config=config))
        assert (run["status"], run["tags"]["planexec/status"] in {"stopped", "error"}) == ("FAILURE", True)
    assert issued(home) == 0


def test_a_decision_that_nobody_has_signed_is_none(dev: DagsterDev, home: Path, held: dict[str, Any]) -> None:
    """The form takes any name; the worker has no key of ada's, and whoever fills it in has none either."""
    said = {"hold": held["tags"]["planexec/hold"], "decision": "approve", "by": "ada", "reason": "mine"}
    for signed in ("", "planexec1:e30:00", "approved"):
        config = {"ops": {f"{TASK}__take_decision": {"config": {**said, "signed": signed}}}}
        params = {"selector": {**LOCATION, "jobName": f"{TASK}__decide"}, "runConfigData": config}
        run_id = run_id_in(sent(dev, LAUNCH, p=params))
        assert run_id is not None
        assert dev.ended(run_id)["tags"]["planexec/status"] == "refused"
    assert issued(home) == 0
