"""A side with all its matched rows changed in one way: what a comparing query should notice.

*All* of them: thresholds in a query hide a single moved row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagster_planexec.world.ports import Session
from dagster_planexec.world.sides.relation import InputView, exact_sum

_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)\Z")
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\Z")


@dataclass(frozen=True, slots=True)
class Shift:
    """One change of a side."""

    text: str
    """What was done to the matched rows, for a person."""
    query: str
    """The side after the change."""
    unshifted: str | None = None
    """The side before it, in the types it has after it; None if the types stay the same."""


def shifts_of(session: Session, side: InputView, others: tuple[InputView, ...]) -> Iterator[Shift]:
    """Matched rows dropped, added under fresh keys, their amount +1, -1, +D, -D, / 1000; D is beyond the side's sum.

    A row is matched if another side has its key. With nothing matched every change is none, and nothing will notice it.
    """
    rows = side.query(session.quote)
    types = {column.name: column.type for column in session.describe(side.table) or ()}
    matched = " or ".join(_has_key_of(session, side, other) for other in others)
    yield Shift("matched rows dropped", f"select * from ({rows}) s where not ({matched})")
    for column in side.key:
        fresh = _fresh(session, rows, column, types[_found(types, column)])
        added = _replaced(session, types, column, fresh)
        text = "matched rows added under fresh keys" + (f" ({column})" if len(side.key) > 1 else "")
        yield Shift(text, f"{rows} union all select {added} from ({rows}) s where {matched}")
    if side.amount is not None:
        yield from _amounts(session, side, rows, types, matched)


def _amounts(session: Session, side: InputView, rows: str, types: dict[str, str], matched: str) -> Iterator[Shift]:
    assert side.amount is not None  # noqa: S101 - the caller's condition
    amount = session.quote(side.amount)
    total = session.rows(f"select sum(abs({amount})) from ({rows})")[0][0]
    far = int(exact_sum(total, f"{side.table}.{side.amount}")) + 2
    kind = types[_found(types, side.amount)]
    decimal = _DECIMAL.match(kind)
    # The far amount need not fit the column, so decimals are widened; scale, and with it every value, stays.
    wide_type = f"decimal(38, {decimal[1]})" if decimal else kind
    wide = f"cast(s.{amount} as {wide_type})"

    def with_amount(expression: str) -> str:
        changed = f"case when {matched} then {expression} else {wide} end"
        return f"select {_replaced(session, types, side.amount or '', changed)} from ({rows}) s"

    before = with_amount(wide)
    for text, by in (("amount +1", 1), ("amount -1", -1), (f"amount +{far}", far), (f"amount -{far}", -far)):
        yield Shift(text, with_amount(f"{wide} + ({by})"), before)
    # A ratio to this side grows only if the side shrinks towards zero, which no sum does.
    yield Shift("amount / 1000", with_amount(f"cast({wide} / 1000 as {wide_type})"), before)


def _has_key_of(session: Session, side: InputView, other: InputView) -> str:
    texts = zip(side.key_texts(session.quote, "s."), other.key_texts(session.quote, "o."), strict=True)
    same = " and ".join(f"{theirs} = {ours}" for ours, theirs in texts)
    return f"exists (select 1 from ({other.query(session.quote)}) o where {same})"


def _fresh(session: Session, rows: str, column: str, kind: str) -> str:
    """An expression for a key that no row has; where the type allows no such text, the query's error is recorded."""
    name = session.quote(column)
    span = f"select max({name}) - min({name}) + 1 from ({rows})"
    if _WHOLE.match(kind) or _DECIMAL.match(kind):
        return f"cast(s.{name} + ({span}) as {kind})"
    if kind == "DATE":
        return f"s.{name} + cast(({span}) as integer)"
    return f"cast(s.{name} as varchar) || '#'"


def _replaced(session: Session, types: dict[str, str], column: str, expression: str) -> str:
    """Every column in the table's order, one of them replaced; names stay as the table spells them."""
    replaced = _found(types, column)
    return ", ".join(
        f"{expression} as {session.quote(name)}" if name == replaced else f"s.{session.quote(name)}" for name in types
    )


def _found(types: dict[str, str], column: str) -> str:
    """The column as the table spells it: SQL finds `Amount` by `amount`, a dict does not."""
    return next(name for name in types if name.lower() == column.lower())
