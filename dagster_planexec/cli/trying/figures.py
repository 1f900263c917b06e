"""What a tried table holds, by SQL of its own: rows, exact sums, what was rejected, what is not final."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dagster_planexec.checks.effect.bill_is_final import conditions_of
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.world.ingest import REJECTS
from dagster_planexec.world.period import Period
from dagster_planexec.world.sides.relation import count_of, exact_sum

if TYPE_CHECKING:
    from dagster_planexec.world.ports import Session, SqlValue, Warehouse

SHOWN_REJECTS = 20
"""Rejects that are shown; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one table. Amounts are exact, at the scale that the contract declares."""

    rows: int = 0
    sum: Decimal = Decimal(0)
    positive: Decimal = Decimal(0)
    negative: Decimal = Decimal(0)
    by_currency: dict[str, Decimal] = field(default_factory=dict)
    in_period: int | None = None
    in_period_sum: Decimal | None = None
    rejects: int = 0
    by_reason: dict[str, int] = field(default_factory=dict)
    reject_amounts: dict[str, Decimal] = field(default_factory=dict)
    """What the rejected rows whose amount can be read are worth, by reason."""
    first_rejects: tuple[dict[str, Any], ...] = ()
    estimated_rows: int = 0
    estimated_sum: Decimal = Decimal(0)


def figures_of(warehouse: Warehouse, contract: FileContract, table: str, period: Period | None) -> Figures:
    """The figures; of a table that was never made, zeros.

    Args:
        warehouse: Where it is.
        contract: What its columns mean.
        table: `schema.table`.
        period: What `in_period` is about, if the contract has a date column.
    """
    with warehouse.session() as session:
        if session.describe(table) is None:
            return Figures()
        quoted, amount = session.quote(table), session.quote(contract.amount)
        row = session.rows(
            f"select count(*), sum({amount}), sum({amount}) filter ({amount} > 0), sum({amount}) filter ({amount} < 0) "
            f"from {quoted}"
        )[0]
        found: dict[str, Any] = dict(_counted(row, table))
        found |= _by_currency(session, contract, table) | _in_period(session, contract, table, period)
        found |= _rejected(session, table) | _not_final(session, contract, table)
    return Figures(**found)


def rows_of(
    warehouse: Warehouse, contract: FileContract, table: str, keys: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """What became of single lines: for each key the rows whose first key column says so, every cell as text.

    Args:
        warehouse: Where the table is.
        contract: Its contract.
        table: `schema.table`.
        keys: What is looked for.
    """
    if not keys:
        return {}
    with warehouse.session() as session:
        if session.describe(table) is None:
            return {key: [] for key in keys}
        names = [column.name for column in contract.columns]
        cells = ", ".join(f"left(cast({session.quote(name)} as varchar), 200)" for name in names)
        asked = (
            f"select {cells} from {session.quote(table)} "
            f"where trim(cast({session.quote(contract.key[0])} as varchar)) = ? limit {SHOWN_REJECTS}"
        )
        return {key: [dict(zip(names, row, strict=True)) for row in session.rows(asked, (key,))] for key in keys}


def _counted(row: tuple[SqlValue, ...], table: str) -> Iterator[tuple[str, int | Decimal]]:
    yield "rows", count_of(row[0])
    for name, value in zip(("sum", "positive", "negative"), row[1:], strict=True):
        yield name, exact_sum(value, table)


def _by_currency(session: Session, contract: FileContract, table: str) -> dict[str, Any]:
    amount = session.quote(contract.amount)
    if contract.currency_column is None:
        total = session.rows(f"select sum({amount}) from {session.quote(table)}")[0][0]
        return {"by_currency": {contract.in_words: exact_sum(total, table)}}
    currency = session.quote(contract.currency_column)
    rows = session.rows(
        f"select coalesce(left(trim({currency}), 40), ''), sum({amount}) from {session.quote(table)} "
        "group by 1 order by 1 limit 100"
    )
    return {"by_currency": {str(word): exact_sum(total, table) for word, total in rows}}


def _in_period(session: Session, contract: FileContract, table: str, period: Period | None) -> dict[str, Any]:
    if period is None or contract.date is None:
        return {}
    day = session.quote(contract.date)
    count, total = session.rows(
        f"select count(*), sum({session.quote(contract.amount)}) from {session.quote(table)} "
        f"where {day} >= cast(? as date) and {day} < cast(? as date)",
        (period.start.isoformat(), period.end.isoformat()),
    )[0]
    return {"in_period": count_of(count), "in_period_sum": exact_sum(total, table)}


def _rejected(session: Session, table: str) -> dict[str, Any]:
    rejects = session.quote(table + REJECTS)
    if session.describe(table + REJECTS) is None:
        return {}
    # A row can be at fault in several cells; it counts once under each reason.
    by_reason = session.rows(
        f"select reason, count(*), sum(amount) from (select distinct source, line, reason, amount from {rejects}) "
        "group by 1 order by 1"
    )
    total = session.rows(f"select count(*) from (select distinct source, line from {rejects})")[0][0]
    first = session.rows(
        f'select source, line, "column", value, reason from {rejects} order by source, line, rowid '
        f"limit {SHOWN_REJECTS}"
    )
    names = ("source", "line", "column", "value", "reason")
    return {
        "rejects": count_of(total),
        "by_reason": {str(reason): count_of(count) for reason, count, _ in by_reason},
        "reject_amounts": {str(reason): exact_sum(worth, table) for reason, _, worth in by_reason},
        "first_rejects": tuple(dict(zip(names, row, strict=True)) for row in first),
    }


def _not_final(session: Session, contract: FileContract, table: str) -> dict[str, Any]:
    if not contract.final_when:
        return {}
    broken = [one.broken(session.quote) for one in conditions_of(contract)]
    count, total = session.rows(
        f"select count(*), sum({session.quote(contract.amount)}) from {session.quote(table)} "
        f"where {' or '.join(sql for sql, _ in broken)}",
        [value for _, bound in broken for value in bound],
    )[0]
    return {"estimated_rows": count_of(count), "estimated_sum": exact_sum(total, table)}
