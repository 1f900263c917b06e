"""One `dagster dev` in a session and process group of its own, spoken to as a browser does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
START_S = 120.0
RUN_S = 180.0
LOCATION = {"repositoryLocationName": "definitions.py", "repositoryName": "__repository__"}

LAUNCH = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
RUN = """query($id: ID!) { runOrError(runId: $id) { __typename ... on Run {
  status jobName tags { key value } assetMaterializations { assetKey { path } partition } } } }"""
LOGS = """query($id: ID!, $after: String) { logsForRun(runId: $id, afterCursor: $after) { ... on EventConnection {
  cursor hasMore events { __typename ... on MessageEvent { message stepKey eventType timestamp }
  ... on ExecutionStepFailureEvent { error { message } }
  ... on AssetCheckEvaluationEvent { evaluation { assetKey { path } checkName success severity partition description } }
  ... on ObservationEvent { assetKey { path } partition
     metadataEntries { label ... on TextMetadataEntry { text } ... on MarkdownMetadataEntry { mdStr } } } } } } }"""
RUNS = """query($f: RunsFilter) { runsOrError(filter: $f, limit: 500) { ... on Runs { results {
  runId status jobName tags { key value } assetMaterializations { assetKey { path } partition } } } } }"""
BACKFILL = """mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) { __typename
  ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL_STATE = """query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill {
  status error { message } } } }"""
TERMINATE = """mutation($id: String!) { terminateRun(runId: $id) { __typename ... on PythonError { message }
  ... on TerminateRunFailure { message } } }"""
RELOAD = """mutation($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) { __typename
  ... on PythonError { message } } }"""
CHECKS = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  assetChecksOrError { ... on AssetChecks { checks { name } } } } } }"""
TICKS = """query($s: SensorSelector!) { sensorOrError(sensorSelector: $s) { ... on Sensor {
  sensorState { ticks(limit: 50) { status skipReason runIds error { message } } } } } }"""
HISTORY = """query($key: AssetKeyInput!, $name: String!) {
  assetCheckExecutions(assetKey: $key, checkName: $name, limit: 20) { status partition runId
    evaluation { success severity description metadataEntries { label ... on TextMetadataEntry { text } } } } }"""


class DagsterDev(AbstractContextManager["DagsterDev"]):
    """Starts on entering the block; the whole process group is gone on leaving it.

    Args:
        home: DAGSTER_HOME.
        environment: More variables.
        workspace: Which project.
    """

    def __init__(self, home: Path, environment: Mapping[str, str], *, workspace: str = "workspace.yaml") -> None:
        self._home = home
        self._environment = environment
        self._workspace = workspace
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.log = home / "dagster-dev.log"

    def __enter__(self) -> Self:
        self._port = _free_port()
        command = [sys.executable, "-m", "dagster", "dev", "-w", self._workspace, "-h", "127.0.0.1"]
        command += ["-p", str(self._port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "DAGSTER_HOME": str(self._home), **self._environment},
            )  # fmt: skip
        until = time.monotonic() + START_S
        while True:
            try:
                if self.query("{ version }")["version"]:
                    return self
            except OSError:
                pass  # not listening yet; the deadline below ends the wait
            if time.monotonic() > until or self._process.poll() is not None:
                self.__exit__()
                raise AssertionError(f"dagster dev did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.5)

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        try:
            # Not SIGINT: a shell that starts something in the background has it ignored, and all its children with it.
            for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)):
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(patience)
                    break
                except subprocess.TimeoutExpired:
                    continue
            os.killpg(self._process.pid, signal.SIGKILL)  # what the group's leader left behind
        except ProcessLookupError:
            pass  # all of it is gone, which was asked for

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self._port}"

    def query(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data of a GraphQL answer."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            f"{self.url}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own server
            body = json.load(answer)
        assert "errors" not in body, body["errors"]
        return body["data"]

    def materialise(
        self, job: str, partition: str, assets: list[str] | None = None, config: Mapping[str, Any] | None = None
    ) -> str:
        """Launch a run as the UI does; the run's id."""
        selector: dict[str, Any] = {**LOCATION, "jobName": job}
        if assets is not None:
            selector["assetSelection"] = [{"path": [name]} for name in assets]
        tags = [{"key": "dagster/partition", "value": partition}]
        params = {"selector": selector, "runConfigData": config or {}, "executionMetadata": {"tags": tags}}
        answer = self.query(LAUNCH, p=params)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return answer["run"]["runId"]

    def ended(self, run_id: str) -> dict[str, Any]:
        """The run, once it has ended."""
        until = time.monotonic() + RUN_S
        while time.monotonic() < until:
            run = self.query(RUN, id=run_id)["runOrError"]
            if run["status"] in {"SUCCESS", "FAILURE", "CANCELED"}:
                return run | {"tags": {tag["key"]: tag["value"] for tag in run["tags"]}}
            time.sleep(0.5)
        raise AssertionError(f"run {run_id} has not ended:\n{self.log.read_text()[-4000:]}")

    def runs(self, **tags: str) -> list[dict[str, Any]]:
        """Every run with these tags, newest first; a tag's `__` stands for `/`."""
        wanted = [{"key": name.replace("__", "/"), "value": value} for name, value in tags.items()]
        found = self.query(RUNS, f={"tags": wanted} if wanted else {})["runsOrError"]["results"]
        return [run | {"tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found]

    def backfill(self, partitions: list[str], assets: list[str]) -> str:
        """Launch a backfill as the asset page does; its id."""
        params = {"assetSelection": [{"path": [name]} for name in assets], "partitionNames": partitions}
        answer = self.query(BACKFILL, p=params)["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return answer["backfillId"]

    def backfill_state(self, backfill: str) -> tuple[str, str | None]:
        """Its status, and what went wrong with the backfill itself."""
        state = self.query(BACKFILL_STATE, id=backfill)["partitionBackfillOrError"]
        return state["status"], (state["error"] or {}).get("message")

    def terminate(self, run_id: str) -> str:
        """Ask for a run to be ended, as the run page does; the type of the answer."""
        return self.query(TERMINATE, id=run_id)["terminateRun"]["__typename"]

    def reload(self) -> None:
        """Have the code location loaded anew by a new server."""
        answer = self.query(RELOAD, name=LOCATION["repositoryLocationName"])["reloadRepositoryLocation"]
        assert answer["__typename"] == "WorkspaceLocationEntry", answer

    def code_servers(self) -> set[int]:
        """Process ids of the servers that have loaded user code; those that drain after a reload are among them."""
        assert self._process is not None
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    above = (Path("/proc") / str(parent) / "cmdline").read_bytes().split(b"\0")
                    own = os.getsid(int(entry.name)) == self._process.pid
                except (OSError, ValueError):
                    continue  # it has just ended
                if own and {b"api", b"grpc"} <= set(words) and b"code-server" in above:
                    found.add(int(entry.name))
        return found

    def tags(self, run_id: str) -> dict[str, str]:
        """The tags a run has now."""
        return {tag["key"]: tag["value"] for tag in self.query(RUN, id=run_id)["runOrError"]["tags"]}

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """Every event of a run."""
        found: list[dict[str, Any]] = []
        after = None
        while True:
            page = self.query(LOGS, id=run_id, after=after)["logsForRun"]
            found += page["events"]
            if not page["hasMore"]:
                return found
            after = page["cursor"]

    def why(self, run_id: str) -> list[str]:
        """What the failing events of a run say."""
        events = self.events(run_id)
        return [e.get("message", "") + str(e.get("error", "")) for e in events if "Failure" in e["__typename"]]

    def ticks(self, sensor: str) -> list[dict[str, Any]]:
        """The ticks of a sensor, newest first."""
        found = self.query(TICKS, s={**LOCATION, "sensorName": sensor})
        return found["sensorOrError"]["sensorState"]["ticks"]

    def checks(self, asset: str) -> list[str]:
        """The checks that are declared for an asset."""
        found = self.query(CHECKS, key={"path": [asset]})["assetNodeOrError"]["assetChecksOrError"]["checks"]
        return [check["name"] for check in found]

    def history(self, asset: str, check: str) -> list[dict[str, Any]]:
        """Every execution of a check."""
        return self.query(HISTORY, key={"path": [asset]}, name=check)["assetCheckExecutions"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
