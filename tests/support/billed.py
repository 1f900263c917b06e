"""A vendor's monthly bill against a ledger, small enough for many runs: five named steps, real parts, no Dagster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.scope import Binder
from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.task import (
    RECONCILE,
    CreditRule,
    Deliverable,
    Drop,
    Limits,
    NamedInput,
    ResultShape,
    Scope,
    Task,
)
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Event, Journal
from dagster_planexec.journal.run_report import RunReport, StepEntry
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Settling
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import Ports, Roots
from tests.support.months import Loop
from tests.support.s3 import S3Bucket

SQL = """
select
    coalesce(ledger.invoice_id, vendor.invoice_id) as invoice_id,
    coalesce(ledger.line_no, vendor.line_no) as line_no,
    case
        when vendor.invoice_id is null then 'ledger_only'
        when ledger.invoice_id is null then 'vendor_only'
        when ledger.amount = vendor.amount then 'identical'
        else 'amount_differs'
    end as status,
    ledger.amount as ledger_amount,
    vendor.amount as vendor_amount
from ledger
full outer join vendor on trim(ledger.invoice_id) = trim(vendor.invoice_id) and ledger.line_no = vendor.line_no
"""
COLUMNS = "invoice_id varchar, line_no bigint, invoice_date date, amount decimal(18,2), currency varchar"
HEADER = "invoice_id,line_no,invoice_date,amount,currency"
BEFORE = ("scope_ledger", "stage_table")


def contract(name: str) -> FileContract:
    """As the cases declare it."""
    return FileContract(
        name=name,
        version="1",
        columns=(
            Column(name="invoice_id", type="text"),
            Column(name="line_no", type="integer"),
            Column(name="invoice_date", type="date", formats=("%Y-%m-%d",)),
            Column(name="amount", type="decimal"),
            Column(name="currency", type="text"),
        ),
        key=("invoice_id", "line_no"),
        amount="amount",
        date="invoice_date",
        currency="USD",
    )


def task_of(bucket: str, prefix: str, pattern: str, manifest: Manifest | None = None) -> Task:
    """Reconcile a month's bill and credit what was overcharged."""
    shape = ResultShape(
        ("invoice_id", "line_no"), "status", "identical", "amount_differs",
        {"ledger": "ledger_only", "vendor": "vendor_only"}, {"ledger": "ledger_amount", "vendor": "vendor_amount"},
    )  # fmt: skip
    return Task(
        name="billed", version="1", goal="Reconcile the bill.", granularity="month", first_period="2026-01", zone="UTC",
        tools=tuple(t.contract.name for t in BUILTIN_TOOLS if t.contract.name != RECONCILE),
        drop=Drop(bucket, prefix, pattern, "vendor", manifest=manifest),
        inputs=(NamedInput("ledger", "side", "ledger", source="ledger.charges"), NamedInput("vendor", "side", "bill")),
        contracts={"ledger": contract("ledger"), "bill": contract("bill")},
        deliverables=(
            Deliverable("vendor_bill", ("s3.get", "warehouse.load"), input="vendor"),
            Deliverable("recon_lines", ("warehouse.snapshot", "run_sql"), result=shape),
            Deliverable("recon_report", ("write_report",)),
            Deliverable("credits", ("issue_credit",), repeatable=False, credit_rule=CreditRule("ledger", "vendor"),
                        effect_scope="billed-credits", effects_from="2026-01"),
        ),
        limits=Limits("USD", Decimal(500), 50, Decimal("0.1")),
        scope=Scope(frozenset({"ledger", "staging", "recon"}), frozenset({"staging", "recon"}), {bucket: (prefix,)}),
        approval=ApprovalPolicy(approvers=("ada",)),
    )  # fmt: skip


def plan_for(task: Task, period: str, keys: Sequence[str]) -> Plan:
    """Snapshot, table, a fetch for each key (`fetch`, `fetch_2`, ...), then load, reconcile, report, issue_credit."""
    compact = period.replace("-", "")
    assert task.drop is not None
    fetches = [("fetch" if n == 1 else f"fetch_{n}", key) for n, key in enumerate(keys, 1)]

    def step(name: str, tool: str, after: Sequence[str], /, **args: Any) -> dict[str, Any]:
        return {"id": name, "tool": tool, "args": args, "depends_on": list(after)}

    return Plan.model_validate({
        "task": task.name, "period": period, "intent": "Reconcile the bill", "expects": [],
        "steps": [
            step("scope_ledger", "warehouse.snapshot", [], source="ledger.charges", target=f"staging.ledger_{compact}"),
            step("stage_table", "warehouse.create_table", ["scope_ledger"], target=f"staging.bill_{compact}",
                 contract="bill"),
            *(step(name, "s3.get", ["stage_table"], bucket=task.drop.bucket, key=key) for name, key in fetches),
            step("load", "warehouse.load", [name for name, _ in fetches],
                 sources=[{"ref": f"{name}.landed"} for name, _ in fetches], target={"ref": "stage_table.table"}),
            step("reconcile", "run_sql", ["load"], file="reconcile.sql", target=f"recon.lines_{compact}",
                 inputs={"ledger": {"ref": "scope_ledger.table"}, "vendor": {"ref": "load.table"}}),
            step("report", "write_report", ["reconcile"], source={"ref": "reconcile.table"}, name=f"{period}-recon"),
            step("issue_credit", "issue_credit", ["report"], source={"ref": "reconcile.table"}),
        ],
    })  # fmt: skip


class Planned(Planner):
    """Has a plan for each period."""

    name = "pinned"
    revises = False

    def __init__(self, task: Task, keys: Mapping[str, Sequence[str]]) -> None:
        self._task, self._keys = task, keys

    def propose(self, request: PlanRequest) -> Proposal:
        period = request.period.text
        plan = plan_for(self._task, period, self._keys[period])
        return Proposal(plan, self.name, "by hand", model_called=False)


@dataclass
class Billed:
    """The bill's world, and what became of it."""

    s3: S3Bucket
    home: Path
    task: Task
    keys: Mapping[str, Sequence[str]]
    """Period to the keys that its plan reads."""
    told: list[Callable[[str, str | None], None]] = field(default_factory=list)
    reports: list[RunReport] = field(default_factory=list)
    checks: Mapping[str, Binder] = field(default_factory=lambda: BINDERS)

    def __post_init__(self) -> None:
        for folder in ("sql", "reports", "landing"):
            (self.home / folder).mkdir(exist_ok=True)
        (self.home / "sql" / "reconcile.sql").write_text(SQL)
        with self.warehouse.session() as session:
            for schema in ("ledger", "staging", "recon"):
                session.execute(f"create schema if not exists {schema}")
            session.execute(f"create table if not exists ledger.charges ({COLUMNS})")

    @property
    def warehouse(self) -> DuckDbWarehouse:
        """The warehouse file."""
        return DuckDbWarehouse(self.home / "w.duckdb")

    def charge(self, csv: str) -> None:
        """Lines of the ledger, below a header."""
        lines = [line.split(",") for line in csv.strip().splitlines()[1:]]
        with self.warehouse.session() as session:
            for line in lines:
                session.execute("insert into ledger.charges values (?, ?, ?, ?, ?)", line)

    def when(self, kind: str, step: str, strike: Callable[[], object]) -> None:
        """Do something in the world when an event of the run is written, once."""
        due = [strike]

        def told(event: str, at: str | None) -> None:
            if (event, at) == (kind, step) and due:
                due.pop()()

        self.told.append(told)

    @contextmanager
    def work(self) -> Any:
        """The task's parts."""
        clock, warehouse = SystemClock(), self.warehouse
        roots = Roots(self.home / "sql", self.home / "reports", self.home / "landing")
        ports = Ports(self.s3.store(), warehouse, DuckDbCredits(warehouse, clock), clock, roots)
        journal = Journal(listeners=self.told)
        try:
            yield Work(
                self.task, ToolRegistry(BUILTIN_TOOLS).restricted_to(self.task.tools), ports, journal, self.checks
            )
        finally:
            journal.close()

    def settle(self, period: str = "2026-03", **changes: Any) -> RunReport:
        """One run of a month; `changes` are of the task."""
        self.task = replace(self.task, **changes)
        with self.work() as work:
            settling = Settling(work, Planned(self.task, self.keys), Loop(work), f"task-run-{uuid.uuid4().hex[:8]}")
            report = settle(settling, self.task.period(period))
        self.reports.append(report)
        return report

    def events(self, *kinds: str, period: str = "2026-03") -> list[Event]:
        """What the journal has of the newest attempt of a month."""
        journal = Journal()
        try:
            attempt = journal.newest_attempt(self.task.name, period)
            return [] if attempt is None else list(journal.events(attempt.id, kinds=kinds))
        finally:
            journal.close()

    def called(self, period: str = "2026-03") -> list[str]:
        """Steps whose tool was called, by the journal."""
        return [str(event.step) for event in self.events("calling", period=period)]

    def credits(self, period: str = "2026-03") -> Mapping[str, Decimal]:
        """What the credit system holds."""
        return DuckDbCredits(self.warehouse, SystemClock()).issued("billed-credits", period)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What stands in the warehouse."""
        with self.warehouse.session() as session:
            return session.rows(sql)


def step_of(report: RunReport, name: str) -> StepEntry:
    """One step of a run."""
    return next(step for step in report.steps if step.id == name)
