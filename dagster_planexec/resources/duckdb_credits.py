"""A credit system in a table: each (scope, period, line key, ordinal) at most once, by the table's own constraint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from decimal import Decimal

from dagster_planexec.errors import PortError, RefusedError
from dagster_planexec.world.ports import Clock, Credit, CreditApi, Session, Warehouse

TABLE = "credits.issued"
_OLD = "credits.issued_without_ordinal"
_SCALE = 2
_COLUMNS = "effect_scope, period, line_key, ordinal, amount, currency, issued_at"
_DDL = f"""create table if not exists {TABLE} (
    effect_scope varchar not null,
    period varchar not null,
    line_key varchar not null,
    ordinal integer not null check (ordinal > 0),
    amount decimal(18, {_SCALE}) not null check (amount > 0),
    currency varchar not null,
    issued_at timestamp not null, -- UTC
    primary key (effect_scope, period, line_key, ordinal)
)"""


class DuckDbCredits(CreditApi):
    """Credits as rows of the warehouse: what the example issues into instead of a vendor's API.

    Args:
        warehouse: Where the table is; it is made with the first credit, and given ordinals if it has none.
        clock: Stamps the rows.
        deadline_s: For each call, the wait for a locked file included.
    """

    def __init__(self, warehouse: Warehouse, clock: Clock, *, deadline_s: float = 60.0) -> None:
        self._warehouse = warehouse
        self._clock = clock
        self._deadline_s = deadline_s

    @property
    def target(self) -> str:
        """The table and the name of the file it is in."""
        return f"table {TABLE} of warehouse {self._warehouse.name}"

    def looking(self) -> DuckDbCredits:
        """The same table, through the warehouse's own mode for reading only."""
        return DuckDbCredits(self._warehouse.looking(), self._clock, deadline_s=self._deadline_s)

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        """Every row of the scope and period; nothing while the table is not there."""
        with self._warehouse.session(deadline_s=self._deadline_s) as session:
            return _read(session, scope, period)

    def find(self, credit: Credit) -> Credit | None:
        """The row of that key."""
        with self._warehouse.session(deadline_s=self._deadline_s) as session:
            return _held(session, credit)

    def issue(self, credit: Credit) -> None:
        """Insert the row, in a transaction of its own.

        Raises:
            RefusedError: EFFECT_DIFFERS if the key holds another amount or currency, SCALE_OVERFLOW or BAD_AMOUNT for
                an amount that is no positive sum of cents; what the warehouse says before anything is committed.
            PortError: The commit itself broke off.
        """
        _refuse_unsound(credit)
        now = self._clock.now().astimezone(UTC).replace(tzinfo=None)
        commits = False
        try:
            with self._warehouse.session(deadline_s=self._deadline_s) as session, session.transaction():
                _make_table(session)
                held = _held(session, credit)
                if held is None:
                    row = (credit.scope, credit.period, credit.key, credit.ordinal, credit.amount, credit.currency, now)
                    session.execute(f"insert into {TABLE} ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)", row)
                else:
                    _refuse_another(held, credit)
                commits = True
        except PortError as error:
            if commits or isinstance(error, RefusedError):
                raise
            raise RefusedError(error.code, error.message, hint=error.hint) from error


def _read(session: Session, scope: str, period: str) -> list[Credit]:
    columns = session.describe(TABLE)
    if columns is None:
        return []
    ordinal = "ordinal" if any(column.name == "ordinal" for column in columns) else "1"
    rows = session.rows(
        f"""select line_key, {ordinal}, amount, currency from {TABLE} where effect_scope = ? and period = ?
        order by all""",
        (scope, period),
    )
    return [Credit(scope, period, str(k), int(str(n)), Decimal(str(a)), str(c)) for k, n, a, c in rows]


def _held(session: Session, credit: Credit) -> Credit | None:
    columns = session.describe(TABLE)
    if columns is None:
        return None
    ordinal = "ordinal" if any(column.name == "ordinal" for column in columns) else "1"
    rows = session.rows(
        f"""select amount, currency from {TABLE}
        where effect_scope = ? and period = ? and line_key = ? and {ordinal} = ?""",
        (credit.scope, credit.period, credit.key, credit.ordinal),
    )
    if not rows:
        return None
    amount, currency = rows[0]
    return Credit(credit.scope, credit.period, credit.key, credit.ordinal, Decimal(str(amount)), str(currency))


def _make_table(session: Session) -> None:
    columns = session.describe(TABLE)
    if columns is not None and any(column.name == "ordinal" for column in columns):
        return
    session.execute("create schema if not exists credits")
    if columns is not None:  # from before a line could be issued in parts; a constraint cannot be changed in place
        session.execute(f"alter table {TABLE} rename to {_OLD.partition('.')[2]}")
    session.execute(_DDL)
    if columns is not None:
        session.execute(
            f"""insert into {TABLE} ({_COLUMNS})
            select effect_scope, period, line_key, 1, amount, currency, issued_at from {_OLD}"""
        )
        session.execute(f"drop table {_OLD}")


def _refuse_unsound(credit: Credit) -> None:
    said = f"line {credit.key[:80]!r} credits {credit.amount}; nothing was issued"
    if credit.amount <= 0:
        raise RefusedError("BAD_AMOUNT", said)
    if credit.amount != round(credit.amount, _SCALE):
        raise RefusedError("SCALE_OVERFLOW", said)


def _refuse_another(held: Credit, credit: Credit) -> None:
    if (held.amount, held.currency) == (credit.amount, credit.currency):
        return
    raise RefusedError(
        "EFFECT_DIFFERS",
        f"line {credit.key[:80]!r} was credited before: {held.amount} {held.currency}, now {credit.amount}"
        f" {credit.currency}; nothing was issued",
        hint="run the month again: it asks a person, with the difference",
    )
