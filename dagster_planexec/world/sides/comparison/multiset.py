"""Lines that repeat on both sides: as many as both have of one key and amount agree, what is left over differs.

A key has one line for what agrees and one for what is left, so nothing is paired by order and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dagster_planexec.world.sides.comparison.lines import (
    Lines,
    above,
    col,
    decimal,
    is_null,
    keyless,
    keys_of,
    long,
    marked,
    named,
    num,
    source,
    standing_alone,
    text,
    total,
)
from dagster_planexec.world.sides.comparison.shape import (
    AMOUNT_DIFFERS,
    CURRENCY_DIFFERS,
    IDENTICAL,
    OUT_OF_PERIOD,
    SUM_DIGITS,
    Comparison,
    only,
)


def multiset_lines(comparison: Comparison) -> Lines:
    """Rows without a key; then for each key and currency what agrees, what is left, or that all of it lies outside."""
    ctes = [
        ("counted", _counted(comparison)),
        ("paired", _paired(comparison)),
        ("by_currency", _by_currency(comparison)),
        ("weighed", _weighed(comparison)),
    ]
    outside = exp.EQ(this=col("all_outside"), expression=col("all_rows"))
    inside = exp.NEQ(this=col("all_outside"), expression=col("all_rows"))
    everything = [col(f"every_amount_{at}") for at in (0, 1)]
    counts = [exp.Add(this=col("same"), expression=col(f"left_{at}")) for at in (0, 1)]
    parts = [
        standing_alone(comparison),
        _line(comparison, [col("same")] * 2, [col("same_amount")] * 2, text(IDENTICAL)).where(
            exp.and_(above(col("same"), 0), inside)
        ),
        _line(
            comparison,
            [col(f"left_{at}") for at in (0, 1)],
            [col(f"left_amount_{at}") for at in (0, 1)],
            _left_over(comparison),
        ).where(
            exp.and_(above(exp.Add(this=col("left_0"), expression=col("left_1")), 0), inside.copy()),
        ),
        _line(comparison, counts, everything, text(OUT_OF_PERIOD)).where(outside),
    ]
    return Lines(ctes, parts)


def _counted(comparison: Comparison) -> exp.Select:
    """How often each side has each key, currency and amount."""
    keys = [col(k) for k in keys_of(comparison)]
    currency, amount = (exp.func("COALESCE", col(f"{name}_0"), col(f"{name}_1")) for name in ("currency", "amount"))
    return (
        exp.select(
            *keys,
            named(currency, "currency"),
            named(amount, "amount"),
            *(named(total(col(f"n_{at}")), f"n_{at}") for at in (0, 1)),
            named(total(col("outside")), "outside"),
        )
        .from_(source("both_sides"))
        .where(exp.Not(this=exp.paren(keyless(comparison))))
        .group_by(*(k.copy() for k in keys), currency.copy(), amount.copy())
    )


def _paired(comparison: Comparison) -> exp.Select:
    """The same, with how many of them agree. An amount or a currency that nobody knows agrees with nothing."""
    unknown = exp.or_(is_null(col("amount")), is_null(col("currency")))
    same = exp.case().when(unknown, num(0)).else_(exp.func("LEAST", col("n_0"), col("n_1")))
    names = [*keys_of(comparison), "currency", "amount", "n_0", "n_1", "outside"]
    return exp.select(*(col(name) for name in names), named(same, "same")).from_(source("counted"))


def _by_currency(comparison: Comparison) -> exp.Select:
    """For each key and currency: rows that agree, rows that are left on each side, and what they are worth."""
    keys = [col(k) for k in keys_of(comparison)]
    values = [named(total(col("same")), "same"), named(total(_worth(comparison, col("same"))), "same_amount")]
    for at in (0, 1):
        left = exp.Sub(this=col(f"n_{at}"), expression=col("same"))
        values.append(named(total(left), f"left_{at}"))
        for name, count in (("left", left), ("every", col(f"n_{at}"))):
            worth = exp.case().when(above(count.copy(), 0), _worth(comparison, count)).else_(exp.null())
            values.append(named(total(worth), f"{name}_amount_{at}"))
    values.append(named(total(col("outside")), "outside"))
    values.append(named(total(exp.Add(this=col("n_0"), expression=col("n_1"))), "rows_of_key"))
    return (
        exp.select(*keys, col("currency"), *values)
        .from_(source("paired"))
        .group_by(*(k.copy() for k in keys), col("currency"))
    )


def _weighed(comparison: Comparison) -> exp.Select:
    """The same, with what the key has left in any currency, and how many of its rows lie outside the period."""
    keys = [col(k) for k in keys_of(comparison)]

    def over_key(name: str) -> exp.Expr:
        return exp.Window(this=total(col(name)), partition_by=[k.copy() for k in keys])

    columns = [
        "same",
        "same_amount",
        *(f"{name}_{at}" for name in ("left", "left_amount", "every_amount") for at in (0, 1)),
    ]
    return exp.select(
        *keys,
        col("currency"),
        *(col(name) for name in columns),
        named(over_key("left_0"), "all_left_0"),
        named(over_key("left_1"), "all_left_1"),
        named(over_key("outside"), "all_outside"),
        named(over_key("rows_of_key"), "all_rows"),
    ).from_(source("by_currency"))


def _line(
    comparison: Comparison, counts: Sequence[exp.Expr], amounts: Sequence[exp.Expr], status: exp.Expr
) -> exp.Select:
    columns: list[exp.Expr] = [col(k) for k in keys_of(comparison)]
    columns += [named(count.copy(), f"n_{at}") for at, count in enumerate(counts)]
    for at, amount in enumerate(amounts):
        there = above(exp.paren(counts[at].copy()), 0)
        columns.append(named(exp.case().when(there, amount).else_(exp.null()), f"amount_{at}"))
    for at in (0, 1):
        there = above(exp.paren(counts[at].copy()), 0)
        columns.append(named(exp.case().when(there, col("currency")).else_(exp.null()), f"currency_{at}"))
    return exp.select(*columns, *marked(comparison, status)).from_(source("weighed"))


def _left_over(comparison: Comparison) -> exp.Expr:
    one, other = comparison.names
    none = num(0)
    both = exp.and_(above(col("left_0"), 0), above(col("left_1"), 0), exp.Not(this=exp.paren(is_null(col("currency")))))
    return (
        exp.case()
        .when(both, text(AMOUNT_DIFFERS))
        .when(exp.EQ(this=col("all_left_1"), expression=none), text(only(one)))
        .when(exp.EQ(this=col("all_left_0"), expression=none.copy()), text(only(other)))
        .else_(text(CURRENCY_DIFFERS))
    )


def _worth(comparison: Comparison, count: exp.Expr) -> exp.Expr:
    number = comparison.amount
    amount = long(col("amount"), number, number.digits)
    return exp.Mul(this=exp.cast(exp.paren(count.copy()), decimal(SUM_DIGITS, 0)), expression=amount)
