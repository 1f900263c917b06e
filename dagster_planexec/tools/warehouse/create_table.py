"""`warehouse.create_table`: an empty table with the columns and types of a file contract."""

from __future__ import annotations

from dagster_planexec.checks.reconcile.views import sources_of
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import DescribeTable
from dagster_planexec.world.sides.relation import prepared_target


class CreateTableArgs(Model):
    """Which table, by which contract."""

    target: TableName
    contract: str
    """The name of one of the task's file contracts."""


class CreateTableResult(Model):
    """The table."""

    table: TableName


class WarehouseCreateTable(Tool):
    """Creates or replaces: whatever is loaded into a staging table replaces its rows anyway."""

    def call(self, args: CreateTableArgs, call: ToolCall) -> Outcome:
        """One statement."""
        contract = call.task.contracts.get(args.contract)
        if contract is None:
            known = ", ".join(sorted(call.task.contracts)) or "none"
            text = f"contract {args.contract[:80]!r} is not one of task {call.task.name}; its contracts: {known}"
            return Failed("VALIDATION_ERROR", text)
        with call.ports.warehouse.session(deadline_s=call.left_s) as session, session.transaction():
            call.require_wanted("the table")
            target = prepared_target(session, args.target, sources_of(call.task))
            columns = ", ".join(f"{session.quote(column.name)} {column.sql_type}" for column in contract.columns)
            session.execute(f"create or replace table {target} ({columns})")
        return Done(CreateTableResult(table=args.target))

    def seal(self, args: CreateTableArgs, result: CreateTableResult, call: ToolCall) -> Probe:  # noqa: ARG002 - interface
        """The columns only: what a later step loads into the table is that step's result."""
        return DescribeTable(result.table)

    contract = ToolContract(
        name="warehouse.create_table",
        description="Create an empty staging table with the columns and types of a file contract.",
        args=CreateTableArgs,
        result=CreateTableResult,
        effect="write",
        preconditions=(),
        postconditions=("schema_matches_contract",),
        errors={
            "VALIDATION_ERROR": "name one of the task's file contracts, and a staging table as target",
            "LOCKED": "wait for the process that holds the warehouse file",
            "DISK_FULL": "free space beside the warehouse file",
        },
    )
