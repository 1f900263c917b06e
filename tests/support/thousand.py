"""A task whose plan makes a result of 1,000 lines and credits them: a batch that takes a while."""

from __future__ import annotations

import os
import signal
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
    """Where the result goes."""

    target: TableName


class LinesResult(Model):
    """The result."""

    table: TableName


class MakeLines(Tool):
    """The charges that the vendor has not billed, 0.25 each, and all the others."""

    contract = ToolContract("make_lines", "Lines.", LinesArgs, LinesResult, "write", (), (), {})

    def call(self, args: LinesArgs, call: ToolCall) -> Outcome:
        """Make them."""
        with call.ports.warehouse.session() as session:
            session.execute("create schema if not exists recon")
            session.execute(
                f"create or replace table {args.target} as select l.charge_id,"
                " case when v.charge_id is null then 'ledger_only' else 'identical' end as status,"
                " l.amount as ledger_amount, v.amount as vendor_amount"
                " from ledger.charges l left join ledger.vendor v using (charge_id)"
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
        {"id": "make_lines", "tool": "make_lines", "args": {"target": "recon.lines"}},
        {"id": "issue_credit", "tool": "issue_credit", "args": {"source": {"ref": "make_lines.table"}},
         "depends_on": ["make_lines"]},
    ]}
)  # fmt: skip

DIES_AT = "THOUSAND_DIES_AT"
"""The process that issues is killed when it has issued so many credits."""

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
        if os.environ.get(DIES_AT) == str(self._count):
            os.kill(os.getpid(), signal.SIGKILL)
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


IN_PROCESSES = replace(
    BINDING,
    executor=dg.multiprocess_executor.configured({"max_concurrent": 1}),
    ref="tests.support.thousand:IN_PROCESSES",
)
"""Each step in a process of its own."""


def seed(home: Path) -> None:
    """Ten times as many charges as are to be credited: the vendor has billed all the others."""
    from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse

    os.environ["PLANEXEC_HOME"] = str(home)
    for name in ("sql", "reports", "landing"):
        (home / name).mkdir(parents=True, exist_ok=True)
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        session.execute("create schema ledger")
        for table, first in (("charges", 0), ("vendor", LINES)):
            session.execute(
                f"create table ledger.{table} as select 'L' || lpad(i::varchar, 5, '0') as charge_id,"
                " date '2026-03-05' as charged_on, 0.25::decimal(18, 2) as amount"
                f" from range({first}, {10 * LINES}) t(i)"
            )
