"""What the ways of matching share: names inside the query, small expressions, and when two values agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from dagster_planexec.world.sides.comparison.shape import NULL_KEY, Comparison, Number, places_of

_LONG = 19
"""Digits from which on a decimal is long in DuckDB: one more than eight bytes hold."""


@dataclass(frozen=True)
class Lines:
    """Named parts of the query, and the selects whose rows together are the lines."""

    ctes: Sequence[tuple[str, exp.Select]]
    parts: Sequence[exp.Select]


def col(name: str, table: str | None = None) -> exp.Column:
    """A column inside the query."""
    return exp.column(name, table=table, quoted=True)


def text(value: str) -> exp.Literal:
    """A string."""
    return exp.Literal.string(value)


def num(value: int) -> exp.Expr:
    """A number."""
    return exp.Literal.number(str(value))


def named(value: exp.Expr, name: str) -> exp.Expr:
    """A value under a name."""
    return exp.alias_(value, name, quoted=True)


def source(name: str) -> exp.Table:
    """A part of the query."""
    return exp.table_(name, quoted=True)


def decimal(precision: int, scale: int) -> exp.DataType:
    """`DECIMAL(p, s)`."""
    return exp.DataType.build(f"DECIMAL({precision:d}, {scale:d})")


def long(value: exp.Expr, number: Number, width: int) -> exp.Expr:
    """A value to be multiplied: DuckDB keeps the product of two short decimals short, and ends with an overflow."""
    return exp.cast(value, decimal(max(width, _LONG), number.places))


def total(value: exp.Expr) -> exp.Expr:
    """A sum."""
    return exp.func("SUM", value)


def above(value: exp.Expr, least: int) -> exp.Expr:
    """Whether a count is more than that."""
    return exp.GT(this=value, expression=num(least))


def is_null(value: exp.Expr) -> exp.Expr:
    """Whether there is none."""
    return exp.Is(this=value, expression=exp.null())


def keys_of(comparison: Comparison) -> list[str]:
    """The key's columns inside the query."""
    return [f"k{n}" for n in range(len(comparison.key))]


def carried(comparison: Comparison) -> list[str]:
    """The columns that a line has beside key, status and `differing`, in order."""
    return [
        f"{name}_{at}"
        for name in (
            "n", "amount", "currency", *(n for n, _ in comparison.numbers), *(n for n, _ in comparison.attributes)
        )
        for at in (0, 1)
        if name != "currency" or comparison.carries_currency(at)
    ]  # fmt: skip


def keyless(comparison: Comparison) -> exp.Expr:
    """Whether some part of the key is missing."""
    return exp.or_(*(is_null(col(name)) for name in keys_of(comparison)))


def standing_alone(comparison: Comparison) -> exp.Select:
    """Rows without a key: each a line of its own, for a key that is missing is the same as no other."""
    columns = [col(name) for name in [*keys_of(comparison), *carried(comparison)]]
    return (
        exp.select(*columns, *marked(comparison, text(NULL_KEY))).from_(source("both_sides")).where(keyless(comparison))
    )


def marked(comparison: Comparison, status: exp.Expr, differing: exp.Expr | None = None) -> list[exp.Expr]:
    """The status column, and `differing` where columns are compared."""
    out = [named(status, "status")]
    if comparison.has_columns:
        out.append(named(differing if differing is not None else exp.cast(exp.null(), "TEXT"), "differing"))
    return out


def agrees(number: Number, one: exp.Expr, other: exp.Expr, comparison: Comparison) -> exp.Expr:
    """Whether two numbers agree within the tolerance. Null if one of them is missing: that is no agreement."""
    tolerance = number.tolerance
    if tolerance.kind == "exact":
        return exp.EQ(this=one, expression=other)
    width = number.width(comparison.match)
    wide = decimal(width, number.places)
    gap = exp.func("ABS", exp.Sub(this=exp.cast(one, wide), expression=exp.cast(other, wide)))
    if tolerance.kind == "absolute":
        return exp.LTE(this=gap, expression=exp.cast(text(tolerance.digits), wide))
    # gap <= share * least, with both sides multiplied until the share is whole: no division, so nothing is rounded.
    places = places_of(tolerance.digits)
    factor = decimal(places + 1, 0)
    share = str(int(Decimal(tolerance.digits).scaleb(places)))
    least = long(exp.func("LEAST", exp.func("ABS", one.copy()), exp.func("ABS", other.copy())), number, width)
    return exp.LTE(
        this=exp.Mul(this=long(gap, number, width), expression=exp.cast(text(str(10**places)), factor)),
        expression=exp.Mul(this=least, expression=exp.cast(text(share), factor.copy())),
    )
