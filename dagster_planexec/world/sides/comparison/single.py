"""One-to-one and one-to-many: a line for each key, with the sum of the rows where one side may have several."""

from __future__ import annotations

from sqlglot import exp

from dagster_planexec.world.sides.comparison.lines import (
    Lines,
    above,
    agrees,
    carried,
    col,
    is_null,
    keyless,
    keys_of,
    marked,
    named,
    num,
    source,
    standing_alone,
    text,
)
from dagster_planexec.world.sides.comparison.shape import (
    AMOUNT_DIFFERS,
    COLUMN_DIFFERS,
    CURRENCY_DIFFERS,
    DUPLICATE_KEY,
    IDENTICAL,
    OUT_OF_PERIOD,
    Comparison,
    Number,
    only,
)


def single_lines(comparison: Comparison) -> Lines:
    """Rows without a key, rows of keys that cannot be paired, and a line for each other key."""
    keys = keys_of(comparison)
    same = exp.and_(*(exp.EQ(this=col(k, "both_sides"), expression=col(k, "by_key")) for k in keys))
    apart = col("apart", "by_key")
    unpaired = (
        exp.select(
            *(col(name, "both_sides") for name in [*keys, *carried(comparison)]),
            *marked(comparison, apart),
        )
        .from_(source("both_sides"))
        .join(source("by_key"), on=same)
        .where(exp.Not(this=is_null(apart.copy())))
    )
    status, differing = _status(comparison)
    paired = (
        exp.select(*(col(name) for name in [*keys, *carried(comparison)]), *marked(comparison, status, differing))
        .from_(source("by_key"))
        .where(is_null(col("apart")))
    )
    return Lines([("by_key", _grouped(comparison))], [standing_alone(comparison), unpaired, paired])


def _grouped(comparison: Comparison) -> exp.Select:
    """Each key once, with `apart` where its rows cannot be taken together."""
    keys = keys_of(comparison)
    # With one row at most the largest is the value, and no sum can overflow.
    fold = "MAX" if comparison.match == "one-to-one" else "SUM"
    values = [named(_ones(f"n_{at}"), f"n_{at}") for at in (0, 1)]
    for name in ("amount", *(n for n, _ in comparison.numbers)):
        values += [named(exp.func(fold, col(f"{name}_{at}")), f"{name}_{at}") for at in (0, 1)]
        if comparison.many is not None:
            values.append(named(exp.func("COUNT", col(f"{name}_{comparison.many}")), f"{name}_known"))
    texts = [f"{name}_{at}" for name, _ in comparison.attributes for at in (0, 1)]
    texts += [f"currency_{at}" for at in (0, 1) if comparison.carries_currency(at)]
    values += [named(exp.func("MAX", col(name)), name) for name in texts]
    if comparison.has_period:
        values.append(named(_ones("outside"), "outside"))
    values.append(named(_apart(comparison), "apart"))
    return (
        exp.select(*(col(k) for k in keys), *values)
        .from_(source("both_sides"))
        .where(exp.Not(this=exp.paren(keyless(comparison))))
        .group_by(*(col(k) for k in keys))
    )


def _ones(name: str) -> exp.Expr:
    """How many rows have a 1 there and not a 0. Counting is cheaper than a sum, whose state is twice as wide."""
    return exp.func("COUNT", exp.func("NULLIF", col(name), num(0)))


def _apart(comparison: Comparison) -> exp.Expr:
    """Why the rows of a key stay single lines; null if they do not."""
    repeated = exp.or_(*(above(_ones(f"n_{at}"), 1) for at in (0, 1) if at != comparison.many))
    case = exp.case().when(repeated, text(DUPLICATE_KEY))
    if comparison.many is not None and comparison.sides[comparison.many].currency_column is not None:
        currency = f"currency_{comparison.many}"
        several = exp.NEQ(this=exp.func("MIN", col(currency)), expression=exp.func("MAX", col(currency)))
        unknown = exp.and_(
            above(exp.func("COUNT", col(currency)), 0),
            exp.LT(this=exp.func("COUNT", col(currency)), expression=_ones(f"n_{comparison.many}")),
        )
        case = case.when(exp.or_(several, unknown), text(CURRENCY_DIFFERS))
    return case.else_(exp.cast(exp.null(), "TEXT"))


def _status(comparison: Comparison) -> tuple[exp.Expr, exp.Expr]:
    """What became of a key, and which compared columns do not agree."""
    one, other = comparison.sides
    rows = exp.Add(this=col("n_0"), expression=col("n_1"))
    case = exp.case()
    if comparison.has_period:
        case = case.when(exp.EQ(this=col("outside"), expression=rows), text(OUT_OF_PERIOD))
    for at, side in ((1, one), (0, other)):
        case = case.when(exp.EQ(this=col(f"n_{at}"), expression=num(0)), text(only(side.name)))
    constants = {side.currency for side in comparison.sides if side.currency_column is None}
    if len(constants) != 1 or any(side.currency_column is not None for side in comparison.sides):
        currencies = [
            col(f"currency_{at}") if comparison.carries_currency(at) else text(side.currency or "")
            for at, side in enumerate(comparison.sides)
        ]
        differ = exp.or_(
            exp.NEQ(this=currencies[0], expression=currencies[1]), *(is_null(c.copy()) for c in currencies)
        )
        case = case.when(differ, text(CURRENCY_DIFFERS))
    amounts = _agree("amount", comparison.amount, comparison)
    differing = [(name, exp.Not(this=exp.paren(test))) for name, test in _columns(comparison)]
    if not differing:
        return case.when(amounts, text(IDENTICAL)).else_(text(AMOUNT_DIFFERS)), exp.cast(exp.null(), "TEXT")
    case = case.when(exp.and_(amounts, exp.paren(exp.or_(*(test for _, test in differing)))), text(COLUMN_DIFFERS))
    words = [exp.case().when(test.copy(), text(f" {name}")).else_(text("")) for name, test in differing]
    joined: exp.Expr = words[0]
    for word in words[1:]:
        joined = exp.DPipe(this=joined, expression=word)
    both = exp.and_(above(col("n_0"), 0), above(col("n_1"), 0))
    trimmed = exp.func("NULLIF", exp.func("TRIM", joined), text(""))
    shown = exp.case().when(both, trimmed).else_(exp.cast(exp.null(), "TEXT"))
    return case.when(amounts.copy(), text(IDENTICAL)).else_(text(AMOUNT_DIFFERS)), shown


def _columns(comparison: Comparison) -> list[tuple[str, exp.Expr]]:
    """Each further column with whether it agrees: never null, for absent on both sides is the same."""
    out: list[tuple[str, exp.Expr]] = []
    for name, number in comparison.numbers:
        near = _agree(name, number, comparison)
        missing = exp.and_(*(is_null(col(f"{name}_{at}")) for at in (0, 1)))
        out.append((name, exp.func("COALESCE", exp.case().when(near, exp.true()).when(missing, exp.true()).else_(exp.false()), exp.false())))  # fmt: skip  # noqa: E501
    for name, _ in comparison.attributes:
        out.append((name, exp.NullSafeEQ(this=col(f"{name}_0"), expression=col(f"{name}_1"))))
    return out


def _agree(name: str, number: Number, comparison: Comparison) -> exp.Expr:
    """Whether both sides' numbers agree. A sum leaves out what is missing; of rows that lack one it says nothing."""
    near = agrees(number, col(f"{name}_0"), col(f"{name}_1"), comparison)
    if comparison.many is None:
        return near
    return exp.and_(near, exp.EQ(this=col(f"{name}_known"), expression=col(f"n_{comparison.many}")))
