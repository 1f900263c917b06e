"""A small registry with the contracts of the flagship's seven tools, a task for it, and the flagship plan.

The tools do nothing: what is tested with them reads contracts only. Real tools have their own tests.
"""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.outcome import Failed, Outcome
from dagster_planexec.contract.task import (
    CreditRule,
    Deliverable,
    Drop,
    Limits,
    NamedInput,
    ResultShape,
    Scope,
    Task,
)
from dagster_planexec.contract.tool import (
    Effect,
    LandedDigest,
    Model,
    ReportName,
    TableName,
    Tool,
    ToolContract,
    ToolRegistry,
)
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.probe import Probe
from tests.support.paying import OneLine


class GetArgs(Model):
    bucket: str
    key: str


class GetResult(Model):
    landed: LandedDigest
    size: int


class SnapshotArgs(Model):
    source: TableName
    target: TableName


class TableResult(Model):
    table: TableName
    rows: int = 0


class CreateArgs(Model):
    target: TableName
    contract: str


class LoadArgs(Model):
    sources: tuple[LandedDigest, ...] = Field(min_length=1)
    target: TableName


class SqlArgs(Model):
    file: str
    inputs: dict[str, TableName]
    target: TableName


class ReportArgs(Model):
    source: TableName
    name: ReportName


class ReportResult(Model):
    report: ReportName


class CreditArgs(Model):
    source: TableName
    cap: Annotated[str, Field(max_length=20)] | None = None
    threshold: int | None = None


class CreditResult(Model):
    issued: int


class CountArgs(Model):
    bucket: str
    prefix: str


class CountResult(Model):
    objects: int


class _Idle(Tool):
    """A tool that has a contract and does nothing."""

    def __init__(self, contract: ToolContract) -> None:
        self.contract = contract

    def call(self, args: Any, call: Any) -> Outcome:
        return Failed("INTERNAL", "an idle tool was called")

    def seal(self, args: Any, result: Any, call: Any) -> Probe:
        raise NotImplementedError


class _IdleEffect(OneLine, _Idle):
    """The same, of a call that cannot be undone."""


def idle_tool(
    name: str,
    args: type[Model],
    result: type[Model],
    *,
    effect: Effect = "write",
    pre: tuple[str, ...] = (),
    post: tuple[str, ...] = (),
    writes: str | None = "target",
    perishable: bool = False,
) -> Tool:
    """A tool with this contract."""
    lookup = "by-key" if effect == "irreversible" else "none"
    return (_IdleEffect if effect == "irreversible" else _Idle)(
        ToolContract(
            name, name, args, result, effect, pre, post, {}, lookup=lookup, writes=writes, perishable=perishable
        )
    )


TOOLS = (
    idle_tool("warehouse.snapshot", SnapshotArgs, TableResult, post=("row_counts_agree",)),
    idle_tool("warehouse.create_table", CreateArgs, TableResult, post=("schema_matches_contract",)),
    idle_tool(
        "s3.get",
        GetArgs,
        GetResult,
        effect="read",
        pre=("object_exists", "object_is_non_empty"),
        post=("landed_is_intact",),
        writes=None,
        perishable=True,
    ),
    idle_tool(
        "warehouse.load", LoadArgs, TableResult, pre=("extract_has_rows",), post=("row_counts_agree", "amounts_agree")
    ),
    idle_tool("run_sql", SqlArgs, TableResult, post=("both_sides_contribute", "closing_identities_hold")),
    idle_tool("write_report", ReportArgs, ReportResult, post=("report_matches_result",), writes="name"),
    idle_tool(
        "issue_credit",
        CreditArgs,
        CreditResult,
        effect="irreversible",
        pre=("within_cap", "within_approval_threshold"),
        writes=None,
    ),
    idle_tool("s3.count", CountArgs, CountResult, effect="read", writes=None),
    idle_tool("warehouse.drop_schema", CreateArgs, TableResult),  # registered, and not among the task's tools
)

REGISTRY = ToolRegistry(TOOLS)


def _contract(name: str, min_rows: int) -> FileContract:
    columns = (
        Column(name="charge_id", type="text"),
        Column(name="charged_on", type="date", formats=("%Y-%m-%d",)),
        Column(name="amount", type="decimal"),
    )
    return FileContract(
        name=name,
        version="1",
        columns=columns,
        key=("charge_id",),
        amount="amount",
        date="charged_on",
        currency="USD",
        min_rows=min_rows,
    )


TASK = Task(
    name="vendor_reconciliation",
    version="1",
    goal="Reconcile the vendor's invoice with the ledger",
    granularity="month",
    first_period="2025-01",
    zone="UTC",
    tools=(*(tool.contract.name for tool in TOOLS[:-1]), "postgres.load"),
    drop=Drop("vendor-drops", "vendor/exports/", r"{period}-invoice.*\.csv(\.gz)?", "vendor"),
    inputs=(
        NamedInput("ledger", "side", "ledger_charges", source="ledger.charges"),
        NamedInput("vendor", "side", "vendor_invoice"),
        NamedInput("rates", "lookup", "ledger_charges", source="ledger.rates"),
    ),
    contracts={"vendor_invoice": _contract("vendor_invoice", 10), "ledger_charges": _contract("ledger_charges", 1)},
    deliverables=(
        Deliverable("vendor_invoice", ("s3.get", "warehouse.load"), input="vendor"),
        Deliverable(
            "recon_lines",
            ("run_sql",),
            result=ResultShape(
                ("charge_id",),
                "status",
                "identical",
                "amount_differs",
                {"ledger": "ledger_only", "vendor": "vendor_only"},
                {"ledger": "ledger_amount", "vendor": "vendor_amount"},
            ),
        ),
        Deliverable("recon_report", ("write_report",)),
        Deliverable(
            "credits",
            ("issue_credit",),
            repeatable=False,
            credit_rule=CreditRule("ledger", "vendor"),
            effect_scope="vendor-invoice-credits",
            effects_from="2025-01",
        ),
    ),
    limits=Limits("USD", Decimal("500.00"), 50, Decimal("0.9"), max_steps=12),
    scope=Scope(frozenset({"ledger"}), frozenset({"staging", "recon"}), {"vendor-drops": ("vendor/exports/",)}),
    required_claims={"warehouse.load": ("period_is_covered",)},
)

SQL = {
    "reconcile.sql": """
        select coalesce(l.charge_id, v.charge_id) as charge_id, l.amount as ledger_amount, v.amount as vendor_amount,
               case when v.charge_id is null then 'ledger_only' when l.charge_id is null then 'vendor_only'
                    when l.amount = v.amount then 'identical' else 'amount_differs' end as status
        from ledger l full outer join vendor v on l.charge_id = v.charge_id
    """
}


def _step(step_id: str, tool: str, args: dict[str, Any], *needs: str, claims: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "id": step_id,
        "tool": tool,
        "args": args,
        "depends_on": list(needs),
        "claims": [{"claim": claim, "args": {}} for claim in claims],
        "rationale": "",
    }


_FLAGSHIP: dict[str, Any] = {
    "task": "vendor_reconciliation",
    "period": "2026-03",
    "intent": "Reconcile the March vendor invoice with the ledger and credit overcharges",
    "expects": [{"about": "drop", "measure": "objects", "op": "==", "value": 1}],
    "steps": [
        _step("scope_ledger", "warehouse.snapshot", {"source": "ledger.charges", "target": "staging.ledger_202603"}),
        _step(
            "stage_table",
            "warehouse.create_table",
            {"target": "staging.vendor_invoice_202603", "contract": "vendor_invoice"},
            "scope_ledger",
        ),
        _step(
            "fetch_export",
            "s3.get",
            {"bucket": "vendor-drops", "key": "vendor/exports/2026-03-invoice.csv"},
            "stage_table",
            claims=("object_is_non_empty",),
        ),
        _step(
            "load_staging",
            "warehouse.load",
            {"sources": [{"ref": "fetch_export.landed"}], "target": {"ref": "stage_table.table"}},
            "fetch_export",
        ),
        _step(
            "reconcile",
            "run_sql",
            {
                "file": "reconcile.sql",
                "inputs": {"ledger": {"ref": "scope_ledger.table"}, "vendor": {"ref": "load_staging.table"}},
                "target": "recon.lines_202603",
            },
            "load_staging",
        ),
        _step(
            "write_report", "write_report", {"source": {"ref": "reconcile.table"}, "name": "2026-03-recon"}, "reconcile"
        ),
        _step("issue_credit", "issue_credit", {"source": {"ref": "reconcile.table"}}, "write_report"),
    ],
}


def flagship_json() -> dict[str, Any]:
    """The seven-step plan of the design as plain data, to be edited."""
    return copy.deepcopy(_FLAGSHIP)


def flagship() -> Plan:
    """The seven-step plan of the design."""
    return Plan.model_validate(flagship_json())
