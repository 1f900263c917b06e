"""`run_sql`: one admitted query over the task's named inputs becomes a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster_planexec.checks.reconcile.views import sources_of, views_of
from dagster_planexec.checks.sql_lint import lint_sql
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.sides.relation import bind_views, count_of, prepared_target
from dagster_planexec.world.sides.sql_file import read_sql, without_semicolon


class RunSqlArgs(Model):
    """What to run, over what, into what."""

    file: str
    """Below the task's SQL folder."""
    inputs: Mapping[str, TableName]
    """Named input to the table that fills it; every side of the task is among them."""
    target: TableName


class RunSqlResult(Model):
    """What the query left."""

    table: TableName
    rows: int


class RunSql(Tool):
    """Binds each named input as a view and stores what the query gives, in one transaction."""

    def call(self, args: RunSqlArgs, call: ToolCall) -> Outcome:
        """Refuse what was not admitted or cannot be judged; then run."""
        admitted = call.admission.sql_sha256.get(args.file)
        if admitted is None:
            names = ", ".join(sorted(call.admission.sql_sha256)) or "none"
            return Failed("VALIDATION_ERROR", f"SQL file {args.file[:80]!r} was not admitted; admitted: {names[:200]}")
        try:
            text = read_sql(call.ports.roots.sql, args.file, admitted)
            views = views_of(call.task, call.period, args.inputs)
        except PlanexecError as error:
            return Failed(error.code, error.message)
        problems = lint_sql(
            text,
            inputs=[view.name for view in views],
            keys=[view.key for view in views],
            dialect=call.ports.warehouse.dialect,
        )
        if problems:
            return Failed("VALIDATION_ERROR", f"{args.file}: " + "; ".join(f"{p.code}: {p.text}" for p in problems[:5]))
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            bind_views(session, views)
            call.require_wanted("the query")
            with session.transaction():
                target = prepared_target(session, args.target, [*args.inputs.values(), *sources_of(call.task)])
                session.execute(f"create or replace table {target} as\n{without_semicolon(text)}")
            rows = count_of(session.rows(f"select count(*) from {target}")[0][0])
        return Done(RunSqlResult(table=args.target, rows=rows))

    def seal(self, args: RunSqlArgs, result: RunSqlResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the tool's interface
        """The result, row for row."""
        return FingerprintTable(result.table)

    def measure(self, name: str, args: Any, result: RunSqlResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - interface
        """The rows of the table."""
        return CountTable(result.table)

    contract = ToolContract(
        name="run_sql",
        description="Run one SQL file of the task over its named inputs and store the result as a table.",
        args=RunSqlArgs,
        result=RunSqlResult,
        effect="write",
        preconditions=(),
        postconditions=(
            "both_sides_contribute",
            "closing_identities_hold",
            "match_rate_is_plausible",
            "expectations_hold",
        ),
        errors={
            "VALIDATION_ERROR": "name a SQL file of the task, every side, and a table of its own as target",
            "TABLE_GONE": "an input was dropped after it was judged; make it again",
            "TIMEOUT": "the query is too slow for its deadline; look for a join without keys",
            "LOCKED": "wait for the process that holds the warehouse file",
            "DISK_FULL": "free space beside the warehouse file",
        },
        deadline_s=600.0,
        measures={"rows": "the rows of the table it made"},
    )
