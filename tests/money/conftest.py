"""A small task, a real DuckDB file, and the ports around them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.outcome import Outcome
from dagster_planexec.contract.task import CreditRule, Deliverable, Drop, Limits, NamedInput, ResultShape, Scope, Task
from dagster_planexec.contract.tool import Admission, EffectTool, Tool, ToolCall, ToolRegistry
from dagster_planexec.contract.verdict import Phase, Verdict
from dagster_planexec.errors import PortError
from dagster_planexec.execute.effect.carry_out import carry_out
from dagster_planexec.execute.work import Run, Work, call_of
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.plan.model import Plan
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.tools.issue_credit import IssueCredit
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Clock, ObjectStore, Ports, Roots
from dagster_planexec.world.probe import Probe

RESULT = "recon.lines_202603"
RUNS = itertools.count(1)
Row = tuple[str | None, str | None, str | None, str | None]
"""Line key, status, ledger amount, vendor amount."""


class StillClock(Clock):
    """Saturday, 09:02; nothing passes."""

    def now(self) -> datetime:
        return datetime(2026, 3, 7, 9, 2, tzinfo=UTC)

    def sleep(self, seconds: float) -> None:
        """At once: what is waited for here is a system that does not change."""


class NoStore(ObjectStore):
    """No part of this room reads objects."""

    def head(self, bucket, key):
        raise AssertionError(key)

    def list(self, bucket, prefix):
        raise AssertionError(prefix)

    def open(self, bucket, key, *, if_match=None):
        raise AssertionError(key)


def make_task(**limits: Any) -> Task:
    contract = FileContract(
        name="charges",
        version="1",
        columns=(
            Column(name="charge_id", type="text"),
            Column(name="amount", type="decimal"),
            Column(name="charged_on", type="date", formats=("%Y-%m-%d",)),
        ),
        key=("charge_id",),
        amount="amount",
        date="charged_on",
        currency="USD",
    )
    shape = ResultShape(
        key=("line_key",),
        status="status",
        identical="identical",
        differs="amount_differs",
        only={"ledger": "ledger_only", "vendor": "vendor_only"},
        amounts={"ledger": "ledger_amount", "vendor": "vendor_amount"},
    )
    bounds = {
        "currency": "USD",
        "credit_cap": Decimal("500.00"),
        "credit_lines_threshold": 50,
        "min_matched_share": Decimal("0.9"),
    }
    return Task(
        name="vendor_reconciliation",
        version="3",
        goal="reconcile",
        granularity="month",
        first_period="2026-01",
        zone="UTC",
        tools=("write_report", "issue_credit"),
        drop=Drop("vendor-drops", "vendor/exports/", r"{period}-invoice\.csv", "vendor"),
        inputs=(
            NamedInput("ledger", "side", "charges", source="ledger.charges"),
            NamedInput("vendor", "side", "charges"),
        ),
        contracts={"charges": contract},
        deliverables=(
            Deliverable("recon_lines", ("run_sql",), result=shape),
            Deliverable("recon_report", ("write_report",)),
            Deliverable(
                "credits",
                ("issue_credit",),
                repeatable=False,
                credit_rule=CreditRule("ledger", "vendor"),
                effect_scope="vendor-credits",
                effects_from="2026-02",
            ),
        ),
        limits=Limits(**{**bounds, **limits}),
        scope=Scope(frozenset({"ledger"}), frozenset({"recon"}), {}),
    )


@dataclass
class Desk:
    """Everything a step of this room is given, with the verdicts of its checks a call away."""

    task: Task
    ports: Ports
    admission: Admission
    period: Period
    journal: Journal

    def put(self, rows: Iterable[Row], *, amount_type: str = "decimal(18, 2)") -> None:
        """Replace the result by these rows."""
        with self.ports.warehouse.session() as session:
            session.execute("create schema if not exists recon")
            session.execute(
                f"create or replace table {RESULT} (line_key varchar, status varchar,"
                f" ledger_amount {amount_type}, vendor_amount {amount_type})"
            )
            for row in rows:
                session.execute(f"insert into {RESULT} values (?, ?, ?, ?)", row)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with self.ports.warehouse.session() as session:
            return session.rows(text)

    def call(self) -> ToolCall:
        return ToolCall(self.task, self.period, "step", self.ports, self.admission, 60.0)

    def issue(self, args: Any, *, released: Iterable[str] = (), run_id: str | None = None, **more: Any) -> Outcome:
        """What the harness makes of one call of `issue_credit`; each call is a run of its own unless it is named."""
        return self.carried(args, released=released, run_id=run_id, **more)[0]

    def carried(
        self, args: Any, *, released: Iterable[str] = (), run_id: str | None = None, tool: EffectTool | None = None,
        seen: bool = True, **more: Any,
    ) -> tuple[Outcome, bool]:  # fmt: skip
        """The outcome, and whether something may have happened that nobody knows of."""
        tool = tool or IssueCredit()
        run = self.run(run_id, tool, **more)
        call = call_of(run, "issue_credit", tool.contract)
        probe = tool.preview(args, call) if seen else None
        shown = look(probe, self.ports) if probe is not None else None
        call = replace(call, preview=shown, released=frozenset(released))
        return carry_out(run, tool, args, call, grace_s=1.0)

    def run(self, run_id: str | None, tool: EffectTool, **more: Any) -> Run:
        """A run of a plan that only issues."""
        plan = Plan.model_validate({"task": self.task.name, "period": self.period.text, "steps": [
            {"id": "issue_credit", "tool": tool.contract.name, "args": {"source": RESULT}}]})  # fmt: skip
        work = Work(self.task, ToolRegistry([tool]), self.ports, self.journal)
        return Run(work, "att", plan, "digest", self.period, self.admission, run_id or f"run-{next(RUNS)}", **more)

    def effects(self) -> list[tuple[str, int, Decimal, str]]:
        """The ledger: key, ordinal, amount, state."""
        found = effects_of(self.journal, "vendor-credits", self.period.text)
        return [(e.key, e.ordinal, e.amount, e.state) for e in found]

    def scope(self, tool: Tool, args: Any, result: Any = None) -> StepScope:
        return StepScope(self.task, self.period, "step", tool.contract, args, result, self.admission, self.ports.roots)

    def verdicts(self, binder: Callable, scope: StepScope, phase: Phase = "pre") -> list[Verdict]:
        """Observe and judge, as the executor does, without its deadlines."""
        out = []
        for check in binder(scope, phase):
            probes = getattr(check, "probes", ())
            seen = {probe: look(probe, self.ports) for probe in probes}
            out.append(check.verdict(seen) if probes else check.verdict())
        return out


def look(probe: Probe, ports: Ports) -> Observation:
    """Observe; what a port raises is an errored observation."""
    try:
        return probe.observe(ports)
    except PortError as error:
        return Observation(probe.source(ports), "errored", {}, error.code, error.message)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    warehouse = DuckDbWarehouse(tmp_path / "warehouse.duckdb")
    clock = StillClock()
    roots = Roots(tmp_path / "sql", tmp_path / "reports", tmp_path / "landing")
    ports = Ports(NoStore(), warehouse, DuckDbCredits(warehouse, clock), clock, roots)
    yield Desk(make_task(), ports, Admission((), {}, {}), Period.parse("2026-03", "month"), journal)
    journal.close()


@pytest.fixture
def with_limits(desk: Desk) -> Callable[..., Desk]:
    def build(**limits: Any) -> Desk:
        return replace(desk, task=make_task(**limits))

    return build
