"""Settling without Dagster: a task on a real S3 server and a real DuckDB file; a scripted planner writes its plans."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from assets.demo.local_s3 import LocalS3
from dagster_planexec.contract.task import Drop, Limits, Scope, Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.s3_object_store import S3ObjectStore
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Launcher, Settling
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports, Roots
from tests.support.bench import CHECKS, CopyArgs, RealClock, TableTool

PERIOD = Period.parse("2026-03", "month")
_runs = itertools.count(1)

TASK = Task(
    name="toy", version="1", goal="Make tables.", granularity="month", first_period="2026-01", zone="UTC",
    tools=("make", "copy", "pay"), drop=Drop("drops", "p/", r"{period}.*\.csv", "x"), inputs=(), contracts={},
    deliverables=(), limits=Limits("USD", Decimal(1), 1, Decimal("0.9")),
    scope=Scope(frozenset({"staging"}), frozenset({"staging"}), {"drops": ("p/",)}),
    replannable=frozenset({"ROWCOUNT_MISMATCH"}),
)  # fmt: skip


class StepLauncher(Launcher):
    """Runs a plan's steps one after the other, as the ops of its job would, again while they ask for it."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        """The id of the run."""
        run_id = f"run-{next(_runs)}"
        plan = self._work.journal.load_plan(plan_digest)
        run = Run(self._work, attempt.id, plan, plan_digest, period, decode_admission(attempt.admission), run_id,
                  lease_token=lease_token)  # fmt: skip
        for step_id in topological_order(edges(plan)):
            while run_step(run, step_id).state is None:
                pass
        return run_id


class ScriptedPlanner(Planner):
    """Answers with what a function makes of the request, and remembers what it was asked."""

    name = "scripted"
    revises = True

    def __init__(self, answer: Callable[[PlanRequest, int], Plan | Proposal | None]) -> None:
        self._answer = answer
        self.asked: list[PlanRequest] = []

    def propose(self, request: PlanRequest) -> Proposal:
        """The answer to the n-th request."""
        self.asked.append(request)
        answer = self._answer(request, len(self.asked))
        if isinstance(answer, Proposal):
            return answer
        if answer is None:
            return Proposal(None, self.name, "a test", model_called=False, code="UNAVAILABLE", message="nobody there")
        return Proposal(answer, self.name, "a test", model_called=False)


@dataclass
class Place:
    """A world in which the toy task can be settled."""

    work: Work
    s3: Any
    calls: list[str] = field(default_factory=list)

    def settle(self, planner: Planner, *, replan: bool = False, **changes: Any) -> RunReport:
        """Settle the month; `changes` are of the task."""
        self.work = replace(self.work, task=replace(self.work.task, **changes))
        return settle(Settling(self.work, planner, StepLauncher(self.work)), PERIOD, replan=replan)

    def put(self, key: str, content: bytes = b"a,b\n1,2\n") -> None:
        """Deliver an object."""
        self.s3.put_object(Bucket="drops", Key=key, Body=content)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """What somebody else does to the warehouse."""
        with self.work.ports.warehouse.session() as session:
            return session.rows(statement)

    def kinds(self, *kinds: str) -> list[Any]:
        """The events of those kinds of the newest attempt."""
        attempt = self.work.journal.newest_attempt("toy", "2026-03")
        assert attempt is not None
        return list(self.work.journal.events(attempt.id, kinds=kinds))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[LocalS3]:
    """One server for all tests of a process; each has a fresh bucket."""
    with LocalS3() as server:
        yield server


def _without_bucket(client: Any) -> None:
    """The server keeps its buckets for the whole process, whoever made them and with all versions."""
    try:
        found = client.list_object_versions(Bucket="drops")
    except client.exceptions.NoSuchBucket:
        return
    for one in (*found.get("Versions", ()), *found.get("DeleteMarkers", ())):
        client.delete_object(Bucket="drops", Key=one["Key"], VersionId=one["VersionId"])
    client.delete_bucket(Bucket="drops")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3_server: LocalS3) -> Iterator[Place]:
    """The toy task's world: a bucket with one object, a warehouse with a staging schema, tools that make tables."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    client = boto3.client("s3", endpoint_url=s3_server.endpoint, region_name="us-east-1",
                          aws_access_key_id="x", aws_secret_access_key="x")  # fmt: skip
    _without_bucket(client)
    client.create_bucket(Bucket="drops")
    for folder in ("sql", "reports", "landing"):
        (tmp_path / folder).mkdir()
    warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
    with warehouse.session() as session:
        session.execute("create schema if not exists staging")
    calls: list[str] = []
    registry = ToolRegistry(
        [
            TableTool("make", calls, post=("has_three_rows",), measures={"rows": "its rows"}),
            TableTool("copy", calls, args=CopyArgs, measures={"rows": "its rows"}),
            TableTool("pay", calls, args=CopyArgs, effect="irreversible"),
        ]
    )
    journal = Journal()
    ports = Ports(S3ObjectStore(client), warehouse, DuckDbCredits(warehouse, RealClock()), RealClock(),
                  Roots(tmp_path / "sql", tmp_path / "reports", tmp_path / "landing"))  # fmt: skip
    made = Place(Work(TASK, registry, ports, journal, CHECKS), client, calls)
    made.put("p/2026-03.csv")
    yield made
    journal.close()


def plan_of(*steps: dict[str, Any], expects: Sequence[dict[str, Any]] = (), intent: str = "") -> Plan:
    """A plan of the toy task."""
    return Plan.model_validate(
        {"task": "toy", "period": "2026-03", "intent": intent, "expects": list(expects), "steps": list(steps)}
    )


def make(
    step_id: str, rows: int, *, after: Sequence[str] = (), table: str | None = None, **more: Any
) -> dict[str, Any]:
    """A step that makes a table with so many rows; three pass its check."""
    args = {"target": f"staging.{step_id}_202603", "rows": rows}
    return {"id": step_id, "tool": "make", "args": args, "depends_on": list(after), **more}


def copy(step_id: str, source: str, **more: Any) -> dict[str, Any]:
    """A step that copies the table of another step."""
    args = {"target": f"staging.{step_id}_202603", "source": {"ref": f"{source}.table"}}
    return {"id": step_id, "tool": "copy", "args": args, "depends_on": [source], **more}


def pay(source: str, **more: Any) -> dict[str, Any]:
    """The step that cannot be undone."""
    args = {"target": "staging.paid_202603", "source": {"ref": f"{source}.table"}}
    return {"id": "pay", "tool": "pay", "args": args, "depends_on": [source], **more}
