"""What a named input stands for: one table, in scope of one period, as a query that every reader shares."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import Session, SqlValue
from dagster_planexec.world.sides.comparison.shape import BLANKS, Word

Part = Literal["side", "lookup", "filter"]
_ODD = "[^!-~]"
"""Of a text, anything but visible ASCII; without it nothing can be blank, and DuckDB trims named characters slowly."""


@dataclass(frozen=True, slots=True)
class InputView:
    """A named input bound to a table. The tool that runs SQL and the checks after it bind the very same object."""

    name: str
    part: Part
    table: str
    """`schema.table`."""
    key: tuple[str, ...]
    """Columns that identify a row; compared as trimmed text."""
    amount: str | None = None
    """The column that holds money."""
    date: str | None = None
    """The column that says which period a row belongs to; None: every row is in scope."""
    start: dt.date | None = None
    end: dt.date | None = None
    """The first day after the scope."""
    normalise: tuple[Word, ...] | None = None
    """What is done to the text of its key before it is compared; None: it is trimmed, as SQL trims."""

    def __post_init__(self) -> None:
        if self.date is not None and (self.start is None or self.end is None):
            msg = f"input {self.name!r} has a date column but no period"
            raise ValueError(msg)

    def query(self, quote: Callable[[str], str]) -> str:
        """The rows in scope. A view takes no bound values, so the two days are literals made of `date` objects."""
        rows = f"select * from {quote(self.table)}"
        if self.date is None:
            return rows
        column = quote(self.date)
        return f"{rows} where {column} >= {_day(self.start)} and {column} < {_day(self.end)}"

    def key_texts(self, quote: Callable[[str], str], row: str = "") -> tuple[str, ...]:
        """An expression for the text of each key column as it is compared; '' or null where there is none.

        Written apart from what a typed comparison generates, so that the harness reads keys by itself.
        """
        return tuple(_text(f"cast({row}{quote(column)} as varchar)", self.normalise) for column in self.key)


def _text(column: str, words: tuple[Word, ...] | None) -> str:
    if words is None:
        return f"trim({column})"
    blanks = blanks_in_sql()
    text = f"case when regexp_matches({column}, '{_ODD}') then trim({column}, {blanks}) else {column} end"
    for word in words:
        match word:
            case "upper" | "lower":
                text = f"{word}({text})"
            case "collapse_spaces" | "remove_spaces":
                by = " " if word == "collapse_spaces" else ""
                text = f"regexp_replace({text}, '[' || {blanks} || ']+', '{by}', 'g')"
            case "remove_hyphens":
                text = f"replace({text}, '-', '')"
            case "strip_leading_zeros":
                text = f"regexp_replace({text}, '^0+(.)', '\\1')"
    return f"trim({text}, {blanks})" if words else text


def blanks_in_sql() -> str:
    """An expression for the text of all blanks."""
    return " || ".join(f"chr({ord(blank)})" for blank in BLANKS)


def _day(value: dt.date | None) -> str:
    if type(value) is not dt.date:  # a datetime is a date too, and would be cut
        msg = f"expected a date, saw {type(value).__name__}"
        raise TypeError(msg)
    return f"DATE '{value.isoformat()}'"


@contextmanager
def by_contract(table: str) -> Iterator[None]:
    """Around SQL that is made of a contract's columns, and of nothing that somebody wrote.

    Raises:
        PortError: SCHEMA_DRIFT where the table does not bear it: a column is gone, or of a type that it cannot have.
    """
    try:
        yield
    except PortError as error:
        if error.code != "VALIDATION_ERROR":
            raise
        raise PortError(
            "SCHEMA_DRIFT",
            f"table {table[:130]} is not as its contract says: {error.message}",
            hint="compare the table with the contract",
        ) from error


def bind_views(session: Session, views: tuple[InputView, ...]) -> None:
    """Make every name stand for its rows in scope on this session.

    Raises:
        PortError: TABLE_GONE if a table is not there.
    """
    for view in views:
        session.bind_view(view.name, view.query(session.quote))


def prepared_target(session: Session, target: str, read: Iterable[str]) -> str:
    """The quoted name of a table that may be written, its schema made if it is not there.

    Raises:
        PortError: VALIDATION_ERROR if it is not `schema.table`, or one of the tables that are read.
    """
    quoted = session.quote(target)
    if target.count(".") != 1:
        raise PortError("VALIDATION_ERROR", f"target {target[:80]!r} is not schema.table", hint="name a staging table")
    if target.lower() in {name.lower() for name in read}:
        raise PortError(
            "VALIDATION_ERROR", f"target {target[:80]!r} is a table that is read", hint="write to a table of its own"
        )
    session.execute(f"create schema if not exists {session.quote(target.partition('.')[0])}")
    return quoted


def count_of(value: SqlValue) -> int:
    """A count as a warehouse returned it."""
    return int(str(value))


def exact_sum(value: SqlValue | float, what: str) -> Decimal:
    """A sum as a warehouse returned it; a sum of nothing is zero.

    Raises:
        PortError: SCHEMA_DRIFT if it is a float, because a column of floats holds no money.
    """
    if value is None:
        return Decimal(0)
    if isinstance(value, bool | dt.datetime | str) or not isinstance(value, int | Decimal):
        raise PortError(
            "SCHEMA_DRIFT",
            f"the sum of {what} is a {type(value).__name__}; money is DECIMAL",
            hint="cast the column to DECIMAL where it is made",
        )
    return Decimal(value)
