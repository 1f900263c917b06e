"""A credit system in a table: each (scope, period, line key) at most once, kept so by the table's own constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from decimal import Decimal

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import Clock, CreditApi, CreditLine, IssueReport, Session, SqlValue, Warehouse

TABLE = "credits.issued"
_SCALE = 2
_ROWS_PER_STATEMENT = 500
_DDL = f"""create table if not exists {TABLE} (
    effect_scope varchar not null,
    period varchar not null,
    line_key varchar not null,
    amount decimal(18, {_SCALE}) not null check (amount > 0),
    currency varchar not null,
    issued_at timestamp not null, -- UTC
    primary key (effect_scope, period, line_key)
)"""


class DuckDbCredits(CreditApi):
    """Credits as rows of the warehouse: what the example issues into instead of a vendor's API.

    Args:
        warehouse: Where the table is; it is made with the first credit.
        clock: Stamps the rows.
        deadline_s: For each call, the wait for a locked file included.
    """

    def __init__(self, warehouse: Warehouse, clock: Clock, *, deadline_s: float = 60.0) -> None:
        self._warehouse = warehouse
        self._clock = clock
        self._deadline_s = deadline_s

    def looking(self) -> DuckDbCredits:
        """The same table, through the warehouse's own mode for reading only."""
        return DuckDbCredits(self._warehouse.looking(), self._clock, deadline_s=self._deadline_s)

    def issued(self, scope: str, period: str) -> Mapping[str, Decimal]:
        """Line key to amount; nothing while the table is not there."""
        with self._warehouse.session(deadline_s=self._deadline_s) as session:
            return {key: amount for key, (amount, _) in _known(session, scope, period).items()}

    def issue(self, scope: str, period: str, lines: Sequence[CreditLine], currency: str) -> IssueReport:
        """Insert the lines that are not there yet in one transaction.

        Raises:
            PortError: EFFECT_DIFFERS if a known key holds another amount or currency, DUPLICATE_KEY if a key comes
                twice, SCALE_OVERFLOW or BAD_AMOUNT for an amount that is no positive sum of cents: nothing is issued.
        """
        _refuse_unsound(lines)
        if not lines:
            return IssueReport(0, 0, Decimal(0))
        now = self._clock.now().astimezone(UTC).replace(tzinfo=None)
        with self._warehouse.session(deadline_s=self._deadline_s) as session, session.transaction():
            session.execute("create schema if not exists credits")
            session.execute(_DDL)
            known = _known(session, scope, period)
            fresh = [line for line in lines if line.key not in known]
            _refuse_other_amounts(known, lines, currency)
            for chunk in _chunks(fresh):
                marks = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(chunk))
                values: list[SqlValue] = []
                for line in chunk:
                    values += (scope, period, line.key, line.amount, currency, now)
                session.execute(f"insert into {TABLE} values {marks}", values)
        amount = sum((line.amount for line in fresh), Decimal(0))
        return IssueReport(len(fresh), len(lines) - len(fresh), amount)


_Known = dict[str, tuple[Decimal, str]]


def _known(session: Session, scope: str, period: str) -> _Known:
    if session.describe(TABLE) is None:
        return {}
    rows = session.rows(
        f"select line_key, amount, currency from {TABLE} where effect_scope = ? and period = ?", (scope, period)
    )
    return {str(key): (Decimal(str(amount)), str(currency)) for key, amount, currency in rows}


def _refuse_unsound(lines: Sequence[CreditLine]) -> None:
    seen: set[str] = set()
    for line in lines:
        if line.key in seen:
            raise PortError("DUPLICATE_KEY", f"line key {line.key[:80]!r} comes twice in one call; nothing was issued")
        if line.amount <= 0:
            raise PortError("BAD_AMOUNT", f"line {line.key[:80]!r} credits {line.amount}; nothing was issued")
        if line.amount != round(line.amount, _SCALE):
            raise PortError("SCALE_OVERFLOW", f"line {line.key[:80]!r} credits {line.amount}; nothing was issued")
        seen.add(line.key)


def _refuse_other_amounts(known: _Known, lines: Sequence[CreditLine], currency: str) -> None:
    other = [line for line in lines if known.get(line.key, (line.amount, currency)) != (line.amount, currency)]
    if not other:
        return
    first = other[0]
    amount, held = known[first.key]
    delta = sum((line.amount - known[line.key][0] for line in other), Decimal(0))
    raise PortError(
        "EFFECT_DIFFERS",
        f"{len(other)} line keys were credited before with another amount, {delta} more is asked for in all; first"
        f" {first.key[:80]!r}: issued {amount} {held}, now {first.amount} {currency}; nothing was issued",
        hint="settle the difference by hand",
    )


def _chunks(lines: Sequence[CreditLine]) -> Iterator[Sequence[CreditLine]]:
    for start in range(0, len(lines), _ROWS_PER_STATEMENT):
        yield lines[start : start + _ROWS_PER_STATEMENT]
