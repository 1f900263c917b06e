"""The tools that come with this package. A task allows some of them; a project may add its own."""

from __future__ import annotations

from dagster_planexec.contract.tool import Tool
from dagster_planexec.tools.issue_credit import IssueCredit
from dagster_planexec.tools.reconcile import Reconcile
from dagster_planexec.tools.run_sql import RunSql
from dagster_planexec.tools.s3_get import S3Get
from dagster_planexec.tools.warehouse.create_table import WarehouseCreateTable
from dagster_planexec.tools.warehouse.load import WarehouseLoad
from dagster_planexec.tools.warehouse.snapshot import WarehouseSnapshot
from dagster_planexec.tools.write_report import WriteReport

BUILTIN_TOOLS: tuple[Tool, ...] = (
    WarehouseSnapshot(),
    WarehouseCreateTable(),
    S3Get(),
    WarehouseLoad(),
    RunSql(),
    Reconcile(),
    WriteReport(),
    IssueCredit(),
)
"""In the order in which a reconciliation uses them."""
