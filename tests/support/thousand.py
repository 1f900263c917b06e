"""A task whose plan makes a result of 1,000 lines and credits them: a batch that takes a while."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_planexec.compiler.binding import PortResources, TaskBinding
from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.task import Deliverable, Limits
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.plan.model import Plan
from dagster_planexec.resources.local.local_resources import (
    DuckDbCreditsResource,
    DuckDbWarehouseResource,
    RootsResource,
)
from dagster_planexec.tools.issue_credit import IssueCredit
from dagster_planexec.world.ports import Credit, CreditApi, Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import FingerprintTable
from tests.support.toolbox import TASK as FLAGSHIP

LINES = 1_000
HOME = dg.EnvVar("PLANEXEC_HOME")


class LinesArgs(Model):
    """A result with so many lines to be credited."""

    target: TableName
    rows: int


class LinesResult(Model):
    """The result."""

    table: TableName


class MakeLines(Tool):
    """Lines of 0.25 each."""

    contract = ToolContract("make_lines", "Lines.", LinesArgs, LinesResult, "write", (), (), {})

    def call(self, args: LinesArgs, call: ToolCall) -> Outcome:
        """Make them."""
        with call.ports.warehouse.session() as session:
            session.execute("create schema if not exists recon")
            session.execute(
                f"create or replace table {args.target} as select 'L' || lpad(i::varchar, 5, '0') as charge_id,"
                " 'ledger_only' as status, 0.25::decimal(18, 2) as ledger_amount,"
                f" null::decimal(18, 2) as vendor_amount from range({args.rows}) t(i)"
            )
        return Done(LinesResult(table=args.target))

    def seal(self, args: Any, result: LinesResult, call: ToolCall) -> Probe:
        """Its fingerprint."""
        return FingerprintTable(result.table)


TASK = replace(
    FLAGSHIP,
    name="thousand",
    tools=("make_lines", "issue_credit"),
    drop=None,
    inputs=tuple(replace(named, source=named.source or "ledger.vendor") for named in FLAGSHIP.inputs[:2]),
    deliverables=(
        Deliverable("recon_lines", ("make_lines",), result=FLAGSHIP.result),
        *(made for made in FLAGSHIP.deliverables if not made.repeatable),
    ),
    limits=Limits("USD", Decimal(10_000), 5_000, Decimal("0.9")),
    required_claims={},
)
PLAN = Plan.model_validate(
    {"task": "thousand", "period": "2026-03", "steps": [
        {"id": "make_lines", "tool": "make_lines", "args": {"target": "recon.lines", "rows": LINES}},
        {"id": "issue_credit", "tool": "issue_credit", "args": {"source": {"ref": "make_lines.table"}},
         "depends_on": ["make_lines"]},
    ]}
)  # fmt: skip

on_issue: list[Callable[[int], None]] = []
"""Told of the number of each credit that this process issues, after it is issued."""


class Told(CreditApi):
    """The table, and whoever wants to be told."""

    def __init__(self, inner: CreditApi) -> None:
        self._inner, self._count = inner, 0

    @property
    def target(self) -> str:
        """The table's."""
        return self._inner.target

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        """The table's."""
        return self._inner.listed(scope, period)

    def find(self, credit: Credit) -> Credit | None:
        """The table's."""
        return self._inner.find(credit)

    def issue(self, credit: Credit) -> None:
        """Into the table."""
        self._inner.issue(credit)
        self._count += 1
        for told in on_issue:
            told(self._count)


def _watched(ports: Ports) -> Ports:
    return replace(ports, credits=Told(ports.credits))


BINDING = TaskBinding(
    task=TASK,
    tools=(MakeLines(), IssueCredit()),
    resources=PortResources(
        warehouse=DuckDbWarehouseResource(home=HOME, path="w.duckdb"),
        credits=DuckDbCreditsResource(home=HOME, path="w.duckdb"),
        roots=RootsResource(home=HOME, sql="sql", reports="reports", landing="landing"),
    ),
    ref="tests.support.thousand:BINDING",
    journal_is_durable=True,
    wrap=_watched,
)


def seed(home: Path) -> None:
    """Sources without a row."""
    from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse

    os.environ["PLANEXEC_HOME"] = str(home)
    for name in ("sql", "reports", "landing"):
        (home / name).mkdir(parents=True, exist_ok=True)
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        session.execute("create schema ledger")
        for table in ("charges", "vendor"):
            session.execute(f"create table ledger.{table} (charge_id varchar, charged_on date, amount decimal(18, 2))")
