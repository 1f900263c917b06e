"""Comparisons of two small tables, run on DuckDB and on Postgres, and what plain Python says of the same rows."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

from dagster_planexec.world.sides.comparison.shape import EXACT, ComparedSide, Comparison, Number
from dagster_planexec.world.sides.comparison.sql import comparison_sql

MARCH = {"date": "day", "start": dt.date(2026, 3, 1), "end": dt.date(2026, 4, 1)}
DAY = dt.date(2026, 3, 5)
COLUMNS = "id text, amount decimal(18,{scale}), currency text, day date, tax decimal(18,2), memo text"
Row = tuple[str | None, Any, str | None, dt.date | None, Any, str | None]
"""Key, amount, currency, day, tax, memo."""


def row(key, amount, currency="USD", day=DAY, tax=None, memo=None):
    """A row, its amounts as texts."""
    return key, None if amount is None else Decimal(amount), currency, day, None if tax is None else Decimal(tax), memo


def compared(match="one-to-one", *, scales=(2, 2), tolerance=EXACT, by_row=False, period=True, **more):
    """A comparison of `ledger` and `vendor` by `id`."""
    currency = (None, "currency") if by_row else ("USD", None)
    sides = [ComparedSide(name, ("id",), *currency, **(MARCH if period else {})) for name in ("ledger", "vendor")]
    many = 1 if match == "one-to-many" else None
    amount = Number(("amount", "amount"), (18, 18), scales, tolerance)
    return Comparison(sides[0], sides[1], ("id",), amount, match, many, **more)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


_sql = cache(comparison_sql)


def on_duckdb(comparison: Comparison, ledger: list[Row], vendor: list[Row]) -> list[dict[str, Any]]:
    """The lines, in some fixed order."""
    with _database().cursor() as db:
        for name, rows, scale in zip(("ledger", "vendor"), (ledger, vendor), comparison.amount.scale, strict=True):
            db.execute(f"create or replace table {name} ({COLUMNS.format(scale=scale)})")
            if rows:
                db.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?)", rows)
        done = db.execute(_sql(comparison, "duckdb"))
        assert not {"FLOAT", "DOUBLE"} & {str(column[1]) for column in done.description}
        return _lines([column[0] for column in done.description], done.fetchall())


def on_postgres(connection: Any, comparison: Comparison, ledger: list[Row], vendor: list[Row]) -> list[dict[str, Any]]:
    """The same on a Postgres server, in tables that end with the transaction."""
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        for name, rows, scale in zip(("ledger", "vendor"), (ledger, vendor), comparison.amount.scale, strict=True):
            cursor.execute(f"create temp table {name} ({COLUMNS.format(scale=scale)})")
            if rows:
                cursor.executemany(f"insert into {name} values (%s, %s, %s, %s, %s, %s)", rows)
        cursor.execute(_sql(comparison, "postgres"))
        return _lines([column.name for column in cursor.description], cursor.fetchall())


def _lines(names: list[str], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return sorted((dict(zip(names, values, strict=True)) for values in rows), key=str)


def tally(lines: list[dict[str, Any]]) -> dict[str, tuple[int, int, int, Decimal, Decimal]]:
    """Status to lines, rows and amounts of both sides."""
    out: dict[str, list[Any]] = defaultdict(lambda: [0, 0, 0, Decimal(0), Decimal(0)])
    for line in lines:
        figures = out[line["status"]]
        figures[0] += 1
        for at, side in enumerate(("ledger", "vendor")):
            figures[1 + at] += line[f"{side}_rows"]
            figures[3 + at] += line[f"{side}_amount"] or Decimal(0)
    return {status: tuple(figures) for status, figures in sorted(out.items())}


# ------------------------------------------------------------------------- what plain Python says


def model(comparison: Comparison, ledger: list[Row], vendor: list[Row]) -> dict[str, tuple[Any, ...]]:
    """The tally that the rows have by the words of the vocabulary, in Decimal, one key after the other."""
    by_key: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    lines: list[dict[str, Any]] = []
    for at, rows in enumerate((ledger, vendor)):
        for one in rows:
            key = _key(one[0])
            if key is None:
                lines.append(_line("null_key", *(([one], []) if at == 0 else ([], [one]))))
            else:
                by_key[key][at].append(one)
    for mine, theirs in by_key.values():
        lines += _of_key(comparison, mine, theirs)
    return tally(lines)


def _of_key(comparison: Comparison, mine: list[Row], theirs: list[Row]) -> list[dict[str, Any]]:
    both = [*mine, *theirs]
    if comparison.match == "multiset":
        return _counted(comparison, mine, theirs)
    alone = [_line("?", [one], []) for one in mine] + [_line("?", [], [one]) for one in theirs]
    if len(mine) > 1 or (len(theirs) > 1 and comparison.match == "one-to-one"):
        return [{**line, "status": "duplicate_key"} for line in alone]
    by_row = comparison.first.currency_column is not None
    if by_row and len(theirs) > 1 and len({one[2] for one in theirs}) > 1:
        return [{**line, "status": "currency_differs"} for line in alone]
    if all(_outside(comparison, one) for one in both):
        status = "out_of_period"
    elif not theirs or not mine:
        status = "ledger_only" if mine else "vendor_only"
    elif by_row and (mine[0][2] is None or mine[0][2] != theirs[0][2]):
        status = "currency_differs"
    else:
        sums = [_sum(rows) for rows in (mine, theirs)]
        status = "identical" if None not in sums and _near(comparison, sums[0], sums[1]) else "amount_differs"
    return [_line(status, mine, theirs)]


def _counted(comparison: Comparison, mine: list[Row], theirs: list[Row]) -> list[dict[str, Any]]:
    by_row = comparison.first.currency_column is not None
    outside = all(_outside(comparison, one) for one in [*mine, *theirs])

    def thing(one: Row) -> tuple[Any, ...]:
        return (one[2] if by_row else "USD", one[1])

    counts = [Counter(map(thing, rows)) for rows in (mine, theirs)]
    agreed = {what: n for what, n in (counts[0] & counts[1]).items() if None not in what}
    lines = []
    for currency in {what[0] for count in counts for what in count}:
        same = {what[1]: n for what, n in agreed.items() if what[0] == currency}
        left = [
            [amount for (code, amount), n in count.items() if code == currency for _ in range(n - same.get(amount, 0))]
            for count in counts
        ]
        everywhere = [sum(n - agreed.get(what, 0) for what, n in count.items()) for count in counts]
        kept = [amount for amount, n in same.items() for _ in range(n)]
        if outside:
            lines.append(_sums("out_of_period", kept + left[0], kept + left[1]))
            continue
        if kept:
            lines.append(_sums("identical", kept, kept))
        if left[0] and left[1] and currency is not None:
            lines.append(_sums("amount_differs", *left))
        elif left[0] or left[1]:
            status = "ledger_only" if not everywhere[1] else "vendor_only" if not everywhere[0] else "currency_differs"
            lines.append(_sums(status, *left))
    return lines


def _line(status: str, mine: list[Row], theirs: list[Row]) -> dict[str, Any]:
    return _sums(status, [one[1] for one in mine], [one[1] for one in theirs])


def _sums(status: str, mine: list[Any], theirs: list[Any]) -> dict[str, Any]:
    out = {"status": status}
    for side, amounts in (("ledger", mine), ("vendor", theirs)):
        out |= {f"{side}_rows": len(amounts), f"{side}_amount": sum((a for a in amounts if a is not None), Decimal(0))}
    return out


def _sum(rows: list[Row]) -> Decimal | None:
    amounts = [one[1] for one in rows]
    return None if None in amounts else sum(amounts, Decimal(0))


def _near(comparison: Comparison, one: Decimal, other: Decimal) -> bool:
    tolerance, gap = comparison.amount.tolerance, abs(one - other)
    if tolerance.kind == "relative":
        return gap <= Decimal(tolerance.digits) * min(abs(one), abs(other))
    return gap <= Decimal(tolerance.digits)


def _outside(comparison: Comparison, one: Row) -> bool:
    day, side = one[3], comparison.first
    return side.has_period and day is not None and not side.start <= day < side.end


def _key(text: str | None) -> str | None:
    return (text.strip(" \t\u00a0") or None) if text is not None else None
