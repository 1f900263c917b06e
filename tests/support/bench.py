"""A small task on a real DuckDB file: one tool that makes a table, one that copies it, one that cannot be undone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.check import BoundCheck, Check, Stated, equal
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.task import Drop, Limits, Scope, Task
from dagster_planexec.contract.tool import (
    Admission,
    Effect,
    Model,
    TableName,
    Tool,
    ToolCall,
    ToolContract,
    ToolRegistry,
)
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, StepReport, Work
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.s3_object_store import S3ObjectStore
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Clock, Ports, Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.subject import Subject
from tests.support.paying import paying


class RealClock(Clock):
    """Now is now."""

    def now(self) -> datetime:
        """The present instant."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class MakeArgs(Model):
    """A table with so many rows."""

    target: TableName
    rows: int


class CopyArgs(Model):
    """A table from another."""

    source: TableName
    target: TableName


class TableResult(Model):
    """The table that was made."""

    table: TableName


class TableTool(Tool):
    """Runs one statement per call, and counts its calls in the order in which they come."""

    def __new__(cls, *_: Any, effect: Effect = "write", **__: Any) -> Any:
        """One whose call cannot be undone is carried out line by line."""
        return super().__new__(paying(cls) if effect == "irreversible" else cls)

    def __init__(self, name: str, calls: list[str], *, args: type[Model] = MakeArgs, effect: Effect = "write",
                 pre: tuple[str, ...] = (), post: tuple[str, ...] = (), fails: Failed | None = None,
                 during: str | None = None,
                 **more: Any) -> None:  # fmt: skip
        self.contract = ToolContract(
            name, "For tests.", args, TableResult, effect, pre, post, {},
            lookup="by-key" if effect == "irreversible" else "none", **more,
        )  # fmt: skip
        self._calls = calls
        self._fails = fails
        self._during = during

    def call(self, args: Any, call: ToolCall) -> Outcome:
        """Make the table."""
        self._calls.append(call.step)
        if self._fails is not None:
            return self._fails
        query = (
            f"select * from {args.source}" if isinstance(args, CopyArgs) else f"select i from range({args.rows}) t(i)"
        )
        with call.ports.warehouse.session() as session:
            session.execute(f"create or replace table {args.target} as {query}")
            if self._during is not None:
                session.execute(self._during)
        return Done(TableResult(table=args.target))

    def seal(self, args: Any, result: Any, call: ToolCall) -> Probe:
        """The table's fingerprint."""
        return FingerprintTable(result.table)

    def measure(self, name: str, args: Any, result: Any, call: ToolCall) -> Probe:
        """Its rows."""
        return CountTable(result.table)


@dataclass(frozen=True)
class OddProbe(Probe):
    """A probe that does not do what probes do."""

    kind: str

    @property
    def subject(self) -> Subject:
        """Something."""
        return Subject("test", self.kind)

    @property
    def reader(self) -> str:
        """Nobody."""
        return "odd"

    def observe(self, ports: Ports) -> Observation:
        """Raise, hang, or answer nothing."""
        if self.kind == "raises":
            raise RuntimeError("the probe broke")
        if self.kind == "hangs":
            time.sleep(30)
        if self.kind == "absent":
            return self.absent(ports)
        return None  # type: ignore[return-value]


def odd(kind: str) -> Callable[[StepScope, Phase], tuple[BoundCheck, ...]]:
    """The binder of a check on an odd probe."""

    def bind(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
        stated = Stated(1, scope.stated_by_contract("odd"))
        return (Check(kind, phase, OddProbe(kind), stated, lambda _seen, _against: 1 / 0),)  # type: ignore[return-value,arg-type]

    return bind


def has_three_rows(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The target has three rows."""
    stated = Stated(3, scope.stated_by_contract("three"))
    probe = CountTable(scope.args.target)
    return (Check("has_three_rows", phase, probe, stated,
                  lambda seen, _: equal("ROWCOUNT_MISMATCH", 3, seen["rows"], what="rows")),)  # fmt: skip


CHECKS = {**BINDERS, "has_three_rows": has_three_rows, **{k: odd(k) for k in ("raises", "hangs", "nothing", "judge")}}

TASK = Task(
    name="toy", version="1", goal="", granularity="month", first_period="2026-01", zone="UTC", tools=(),
    drop=Drop("b", "p/", "{period}", "x"), inputs=(), contracts={}, deliverables=(),
    limits=Limits("USD", Decimal(1), 1, Decimal("0.9")), scope=Scope(frozenset(), frozenset(), {}),
)  # fmt: skip


@dataclass
class Bench:
    """A place to run small plans."""

    work: Work
    attempt: str
    calls: list[str] = field(default_factory=list)

    def run(self, plan: Plan, run_id: str) -> Run:
        """A run of a plan."""
        period = Period.parse("2026-03", "month")
        return Run(self.work, self.attempt, plan, full_digest(plan), period, Admission((), {}, {}), run_id)

    def go(self, plan: Plan, run_id: str = "run-1") -> list[StepReport]:
        """Every step in order, as the compiler's ops would."""
        run = self.run(plan, run_id)
        return [run_step(run, step.id) for step in plan.steps]

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """What somebody else does to the warehouse."""
        with self.work.ports.warehouse.session() as session:
            return session.rows(statement)


BenchMaker = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BenchMaker]:
    """Makes a bench whose tools are given by keyword: name to the keyword arguments of TableTool."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    number = itertools.count()

    def make(**tools: dict[str, Any]) -> Bench:
        calls: list[str] = []
        registry = ToolRegistry(TableTool(name, calls, **given) for name, given in tools.items())
        warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
        client = boto3.client("s3", endpoint_url="http://127.0.0.1:9", region_name="us-east-1",
                              aws_access_key_id="x", aws_secret_access_key="x")  # fmt: skip
        ports = Ports(S3ObjectStore(client), warehouse, DuckDbCredits(warehouse, RealClock()), RealClock(),
                      Roots(tmp_path, tmp_path, tmp_path))  # fmt: skip
        with warehouse.session() as session:
            session.execute("create schema if not exists staging")
        work = Work(TASK, registry, ports, journal, CHECKS)
        attempt, _ = journal.open_attempt(
            task="toy", version="1", period="2026-03", inputs_digest=str(next(number)), admission={}
        )
        return Bench(work, attempt.id, calls)

    yield make
    journal.close()
