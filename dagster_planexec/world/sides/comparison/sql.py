"""The query of a typed comparison, made of sqlglot expressions for any dialect. Nothing is pasted, nothing is fetched.

Both sides are put under one another and grouped by key, so there is no join that could multiply a row and none in which
a null meets a null. Rows without a key, and rows of a key that repeats, stand for themselves.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from dagster_planexec.errors import PortError
from dagster_planexec.world.sides.comparison.keys import key_parts
from dagster_planexec.world.sides.comparison.lines import Lines, decimal
from dagster_planexec.world.sides.comparison.multiset import multiset_lines
from dagster_planexec.world.sides.comparison.shape import ComparedSide, Comparison, Number
from dagster_planexec.world.sides.comparison.single import single_lines

_BIGQUERY_PLACES = 9
SIDES = (0, 1)


def comparison_sql(comparison: Comparison, dialect: str) -> str:
    """The query: a row for each line of either side, or for each group, with what became of it.

    Columns: the key, `status`, `differing` (if further columns are compared), each side's amount, `difference` (first
    minus second; null where the currencies differ), each side's currency, how many rows of each side the line stands
    for, and each side's further columns.

    Raises:
        PlanexecError: BAD_CONTRACT if a value could be rounded or overflow.
        PortError: VALIDATION_ERROR if the dialect's decimals are too short.
    """
    for _, number in (("", comparison.amount), *comparison.numbers):
        number.require_room(comparison.match)
        if dialect == "bigquery" and number.places > _BIGQUERY_PLACES:
            raise PortError(
                "VALIDATION_ERROR",
                f"column {number.columns[0]!r} has {number.places} decimals; BigQuery's NUMERIC has {_BIGQUERY_PLACES}",
            )
    both = exp.union(*(_rows(comparison, at, dialect) for at in SIDES), distinct=False)
    made = multiset_lines(comparison) if comparison.match == "multiset" else single_lines(comparison)
    query = _shown(comparison, made)
    for name, rows in (("both_sides", both), *made.ctes):
        query = query.with_(exp.to_identifier(name, quoted=True), as_=rows, copy=False)
    return query.sql(dialect=dialect, pretty=True)


def changed_keys_sql(comparison: Comparison, dialect: str) -> str:
    """For each side, its name and how many of its rows have a key that normalising changed."""

    def counted(side: ComparedSide) -> exp.Select:
        texts = [exp.cast(_column(name), "TEXT") for name in side.key]
        normal = key_parts(side.key, comparison.normalise, dialect)
        changed = [
            exp.and_(
                exp.Not(this=exp.Is(this=text.copy(), expression=exp.null())),
                exp.Not(this=exp.NullSafeEQ(this=text, expression=part)),
            )
            for text, part in zip(texts, normal, strict=True)
        ]
        count = exp.func("SUM", exp.case().when(exp.or_(*changed), _number(1)).else_(_number(0)))
        return exp.select(
            exp.alias_(exp.Literal.string(side.name), "side", quoted=True),
            exp.alias_(exp.cast(exp.func("COALESCE", count, _number(0)), "BIGINT"), "changed", quoted=True),
        ).from_(_table(side.name))

    return exp.union(*(counted(side) for side in comparison.sides), distinct=False).sql(dialect=dialect, pretty=True)


def _rows(comparison: Comparison, at: int, dialect: str) -> exp.Select:
    """One side's rows, with the other side's columns empty."""
    side = comparison.sides[at]
    columns: list[tuple[str, exp.Expr]] = [
        (f"k{n}", part) for n, part in enumerate(key_parts(side.key, comparison.normalise, dialect))
    ]
    for where in SIDES:
        mine = where == at
        columns.append((f"n_{where}", _number(1 if mine else 0)))
        columns.append((f"amount_{where}", _value(comparison.amount, at, comparison, mine=mine)))
        if comparison.carries_currency(where):
            currency = _currency(side) if mine else exp.cast(exp.null(), "TEXT")
            columns.append((f"currency_{where}", currency))
        for name, number in comparison.numbers:
            columns.append((f"{name}_{where}", _value(number, at, comparison, mine=mine)))
        for name, attribute in comparison.attributes:
            text = key_parts((attribute.columns[at],), (), dialect)[0] if mine else exp.cast(exp.null(), "TEXT")
            columns.append((f"{name}_{where}", text))
    if comparison.has_period or comparison.match == "multiset":
        columns.append(("outside", _outside(side)))
    return exp.select(*(exp.alias_(value, name, quoted=True) for name, value in columns)).from_(_table(side.name))


def _value(number: Number, at: int, comparison: Comparison, *, mine: bool) -> exp.Expr:
    # One row is no wider than declared; what is made of it is widened there. Eight bytes in place of sixteen.
    digits = number.digits if comparison.match == "one-to-one" else number.width(comparison.match)
    return exp.cast(_column(number.columns[at]) if mine else exp.null(), decimal(digits, number.places))


def _currency(side: ComparedSide) -> exp.Expr:
    if side.currency_column is None:
        return exp.cast(exp.Literal.string(side.currency or ""), "TEXT")
    text = exp.func("TRIM", exp.cast(_column(side.currency_column), "TEXT"))
    return exp.func("NULLIF", text, exp.Literal.string(""))


def _outside(side: ComparedSide) -> exp.Expr:
    if side.date is None or side.start is None or side.end is None:
        return _number(0)
    day = _column(side.date)
    first, after = (exp.cast(exp.Literal.string(d.isoformat()), "DATE") for d in (side.start, side.end))
    out = exp.or_(exp.LT(this=day, expression=first), exp.GTE(this=day.copy(), expression=after))
    return exp.case().when(out, _number(1)).else_(_number(0))


def _shown(comparison: Comparison, made: Lines) -> exp.Select:
    """The lines under the names that a reader knows."""
    match, (one, other) = comparison.match, comparison.names
    amount = decimal(comparison.amount.width(match), comparison.amount.places)
    zero = exp.cast(exp.Literal.string("0"), amount)
    gap = exp.Sub(
        this=exp.func("COALESCE", exp.cast(_column("amount_0"), amount), zero.copy()),
        expression=exp.func("COALESCE", exp.cast(_column("amount_1"), amount), zero.copy()),
    )
    apart = exp.and_(
        exp.EQ(this=_column("status"), expression=exp.Literal.string("currency_differs")),
        exp.GT(this=_column("n_0"), expression=_number(0)),
        exp.GT(this=_column("n_1"), expression=_number(0)),
    )
    out: list[tuple[str, exp.Expr]] = [(name, _column(f"k{n}")) for n, name in enumerate(comparison.key)]
    out.append(("status", _column("status")))
    if comparison.has_columns:
        out.append(("differing", _column("differing")))
    out += [(f"{side}_amount", exp.cast(_column(f"amount_{at}"), amount)) for at, side in enumerate((one, other))]
    out.append(("difference", exp.case().when(apart, exp.cast(exp.null(), amount)).else_(exp.cast(gap, amount))))
    out += [(f"{side}_currency", _currency_shown(comparison, at)) for at, side in enumerate((one, other))]
    out += [(f"{side}_rows", exp.cast(_column(f"n_{at}"), "BIGINT")) for at, side in enumerate((one, other))]
    for name, number in comparison.numbers:
        kind = decimal(number.width(match), number.places)
        out += [(f"{side}_{name}", exp.cast(_column(f"{name}_{at}"), kind)) for at, side in enumerate((one, other))]
    for name, _ in comparison.attributes:
        out += [(f"{side}_{name}", _column(f"{name}_{at}")) for at, side in enumerate((one, other))]
    return exp.select(*(exp.alias_(value, name, quoted=True) for name, value in out)).from_(
        exp.alias_(exp.union(*made.parts, distinct=False).subquery(), "lines", quoted=True)
        if len(made.parts) > 1
        else made.parts[0].subquery("lines")
    )


def _currency_shown(comparison: Comparison, at: int) -> exp.Expr:
    if comparison.carries_currency(at):
        return _column(f"currency_{at}")
    there = exp.GT(this=_column(f"n_{at}"), expression=_number(0))
    return exp.case().when(there, _currency(comparison.sides[at])).else_(exp.cast(exp.null(), "TEXT"))


def _column(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _table(name: str) -> exp.Table:
    return exp.table_(name, quoted=True)


def _number(value: int | Decimal) -> exp.Expr:
    return exp.Literal.number(str(value))
