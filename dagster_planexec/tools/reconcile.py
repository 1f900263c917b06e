"""`reconcile`: the task's two sides, compared as its specification says, become a table of what became of each line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.reconcile.views import compared_views, sources_of
from dagster_planexec.contract.layout import comparison
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.task import RECONCILE
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.world.ports import Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.sides.comparison.shape import Comparison
from dagster_planexec.world.sides.relation import InputView, bind_views, count_of, prepared_target

_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_WHOLE = re.compile(r"(TINY|SMALL|BIG)?INT(EGER)?")


class ReconcileArgs(Model):
    """Which tables are compared, into what. What is compared, and when two lines agree, the task says."""

    inputs: Mapping[str, TableName]
    """Each side of the task to the table that fills it."""
    target: TableName


class StatusResult(Model):
    """The lines of one status: how many, and each side's amount of them as a decimal text."""

    lines: int
    amounts: Mapping[str, str]


class ReconcileResult(Model):
    """What the comparison left."""

    table: TableName
    rows: int
    statuses: Mapping[str, StatusResult]
    """Every status word, those without a line too."""
    keys_changed: Mapping[str, int]
    """Side to its rows whose key normalising changed."""


class Reconcile(Tool):
    """Binds each side as a view and stores what the generated query gives, in one transaction."""

    def call(self, args: ReconcileArgs, call: ToolCall) -> Outcome:
        """Refuse what cannot be compared as declared; then run."""
        from dagster_planexec.world.sides.comparison.sql import (  # noqa: PLC0415 - sqlglot: 100 ms
            changed_keys_sql,
            comparison_sql,
        )

        task, dialect = call.task, call.ports.warehouse.dialect
        if task.reconciliation is None:
            return Failed(
                "VALIDATION_ERROR", f"task {task.name} declares no reconciliation; {RECONCILE} compares by it"
            )
        try:
            compared = comparison(task, call.period)
            views = compared_views(task, call.period, args.inputs)
            text = comparison_sql(compared, dialect)
        except PlanexecError as error:
            return Failed(error.code, error.message)
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            require_declared_types(session, compared, views)
            bind_views(session, views)
            call.require_wanted("the comparison")
            with session.transaction():
                target = prepared_target(session, args.target, [*args.inputs.values(), *sources_of(task)])
                session.execute(f"create or replace table {target} as\n{text}")
            statuses = _by_status(session, target, compared)
            changed = {str(side): count_of(rows) for side, rows in session.rows(changed_keys_sql(compared, dialect))}
        rows = sum(status.lines for status in statuses.values())
        return Done(ReconcileResult(table=args.target, rows=rows, statuses=statuses, keys_changed=changed))

    def seal(self, args: ReconcileArgs, result: ReconcileResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the tool's interface
        """The result, row for row."""
        return FingerprintTable(result.table)

    def measure(self, name: str, args: Any, result: ReconcileResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - interface
        """The rows of the table."""
        return CountTable(result.table)

    contract = ToolContract(
        name=RECONCILE,
        description="Compare the two sides by the task's reconciliation and store what became of each line as a table.",
        args=ReconcileArgs,
        result=ReconcileResult,
        effect="write",
        preconditions=(),
        postconditions=(
            "keys_can_be_matched",
            "amounts_share_a_currency",
            "both_sides_contribute",
            "closing_identities_hold",
            "match_rate_is_plausible",
            "expectations_hold",
        ),
        errors={
            "VALIDATION_ERROR": "give both sides, and a table of its own as target; the task says what is compared",
            "BAD_CONTRACT": "correct the reconciliation, or the file contracts of the sides",
            "SCHEMA_DRIFT": "a side's table has other types than its contract; make it by the contract",
            "TABLE_GONE": "a side was dropped after it was judged; make it again",
            "TIMEOUT": "the comparison is too slow for its deadline; look at what else the warehouse does",
            "LOCKED": "wait for the process that holds the warehouse file",
            "DISK_FULL": "free space beside the warehouse file",
        },
        deadline_s=600.0,
        measures={"rows": "the rows of the table it made"},
    )


def require_declared_types(session: Session, compared: Comparison, views: Sequence[InputView]) -> None:
    """Numbers are exact and no wider than declared: the comparison casts to what the contracts say, and must not round.

    Raises:
        PortError: TABLE_GONE; SCHEMA_DRIFT with the column, its type and what was declared.
    """
    numbers = [compared.amount, *(number for _, number in compared.numbers)]
    for at, side in enumerate(compared.sides):
        table = next(view.table for view in views if view.name == side.name)
        found = session.describe(table)
        if found is None:
            raise PortError("TABLE_GONE", f"there is no table {table[:130]}")
        types = {column.name.lower(): column.type.upper() for column in found}
        for number in numbers:
            name, most, scale = number.columns[at], number.precision[at], number.scale[at]
            seen = types.get(name, "missing")
            exact = _DECIMAL.fullmatch(seen)
            fits = exact is not None and int(exact[2]) <= scale and int(exact[1]) - int(exact[2]) <= most - scale
            if not fits and not (_WHOLE.fullmatch(seen) and scale == 0):
                raise PortError(
                    "SCHEMA_DRIFT",
                    f"column {name!r} of {table[:130]} is {seen[:40]}; its contract declares DECIMAL({most},{scale})",
                    hint="make the table by its contract: a cast here would round",
                )


def _by_status(session: Session, target: str, compared: Comparison) -> dict[str, StatusResult]:
    columns = [session.quote(f"{side}_amount") for side in compared.names]
    sums = ", ".join(f"sum({column})" for column in columns)
    found = {
        str(word): figures
        for word, *figures in session.rows(f"select status, count(*), {sums} from {target} group by status")
    }
    zero = Decimal(0).scaleb(-compared.amount.places)
    out = {}
    for word in compared.words:
        lines, *amounts = found.get(word, (0, *([None] * len(columns))))
        shown = {
            side: f"{Decimal(str(zero if a is None else a)):f}" for side, a in zip(compared.names, amounts, strict=True)
        }
        out[word] = StatusResult(lines=count_of(lines), amounts=shown)
    return out
