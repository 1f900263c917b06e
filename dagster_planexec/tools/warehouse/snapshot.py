"""`warehouse.snapshot`: the rows of a live table that lie in the period, copied, so that they stand still."""

from __future__ import annotations

from typing import Any

from dagster_planexec.checks.reconcile.views import input_with_source, sources_of
from dagster_planexec.contract.layout import view_of
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.sides.relation import count_of, prepared_target


class SnapshotArgs(Model):
    """What to copy, and where to."""

    source: TableName
    """A live table that the task declares as the source of an input."""
    target: TableName


class SnapshotResult(Model):
    """The copy."""

    table: TableName
    rows: int


class WarehouseSnapshot(Tool):
    """Copies what is in scope in one statement, so of one state of the live table."""

    def call(self, args: SnapshotArgs, call: ToolCall) -> Outcome:
        """Create or replace the copy."""
        named = input_with_source(call.task, args.source)
        if named is None:
            known = ", ".join(sorted(i.source for i in call.task.inputs if i.source)) or "none"
            text = f"{args.source[:80]!r} is not the source of an input of task {call.task.name}; sources: {known}"
            return Failed("VALIDATION_ERROR", text)
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            rows_in_scope = view_of(call.task, call.period, named, args.source).query(session.quote)
            call.require_wanted("the copy")
            with session.transaction():
                target = prepared_target(session, args.target, sources_of(call.task))
                session.execute(f"create or replace table {target} as {rows_in_scope}")
            rows = count_of(session.rows(f"select count(*) from {target}")[0][0])
        return Done(SnapshotResult(table=args.target, rows=rows))

    def seal(self, args: SnapshotArgs, result: SnapshotResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the interface
        """The copy, row for row."""
        return FingerprintTable(result.table)

    def measure(self, name: str, args: Any, result: SnapshotResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - interface
        """The rows of the table."""
        return CountTable(result.table)

    contract = ToolContract(
        name="warehouse.snapshot",
        description="Copy the rows of a live table that lie in the period into a staging table.",
        args=SnapshotArgs,
        result=SnapshotResult,
        effect="write",
        preconditions=(),
        postconditions=("snapshot_is_complete", "snapshot_is_as_admitted", "keys_are_present", "keys_are_unique"),
        errors={
            "VALIDATION_ERROR": "name a table that the task declares as the source of an input",
            "TABLE_GONE": "the live table is not in the warehouse; look at its name and at the warehouse's path",
            "TIMEOUT": "the live table is larger than the deadline allows",
            "LOCKED": "wait for the process that holds the warehouse file",
            "DISK_FULL": "free space beside the warehouse file",
        },
        deadline_s=300.0,
        measures={"rows": "the rows of the table it made"},
    )
