"""From the text of a cell to a value, as DuckDB expressions: one for the value, one for why there is none.

Nothing here rounds, guesses or passes through a float. A cell is read exactly as its contract declares, or refused with
a code. Blanks around numbers and dates are ignored; text is kept as it is, and an empty cell is NULL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import TextColumn

_FIRST_DAY, _LAST_DAY = "date '1900-01-01'", "date '9999-12-30'"
"""Days outside are typing errors: `%Y` reads the 26 of 02/03/26 as the year 26, and `infinity` as a day."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How one column of the table is made from one text expression."""

    column: TextColumn
    text: str
    """The SQL expression of the cell's text."""
    value: str
    """The SQL expression of its value: NULL if the cell is empty or refused."""
    reason: str | None
    """The SQL expression of the code it is refused with, NULL if it is not; None if any text will do."""

    @property
    def empty(self) -> str:
        """The SQL condition that there is nothing in the cell."""
        return f"({self.text} is null or trim({self.text}, ' \t') = '')"


def cell(column: TextColumn, text: str) -> Cell:
    """The expressions of one column.

    Args:
        column: What the contract declares.
        text: A SQL expression for the cell's text, NULL for an empty cell.

    Raises:
        PortError: BAD_CONTRACT if a date format cannot be followed.
    """
    if column.type == "text":
        return Cell(column, text, text, None)
    if column.type == "date":
        value = _date(column, text)
        return Cell(column, text, value, _reason(column, text, value, "'BAD_DATE'"))
    value = _number(column, text, column.scale)
    misread = f"case when regexp_full_match({text}, {_style(column, None)}) then 'SCALE_OVERFLOW' else 'BAD_AMOUNT' end"
    return Cell(column, text, value, _reason(column, text, value, misread))


def literal(text: str) -> str:
    """A SQL string literal of text that our own code or a checked contract wrote."""
    return "'" + text.replace("'", "''") + "'"


def _reason(column: TextColumn, text: str, value: str, code: str) -> str:
    empty = Cell(column, text, value, None).empty
    of_empty = "null" if column.nullable else "'BAD_DATE'" if column.type == "date" else "'BAD_AMOUNT'"
    return f"case when {value} is not null then null when {empty} then {of_empty} else {code} end"


def _number(column: TextColumn, text: str, scale: int) -> str:
    plain = text
    if column.number.thousands:
        plain = f"replace({plain}, {literal(column.number.thousands)}, '')"
    if column.number.decimal_mark != ".":
        plain = f"replace({plain}, {literal(column.number.decimal_mark)}, '.')"
    cast = f"try_cast({plain} as {column.sql_type})"
    # The cast alone would take E notation and underscores, and would round; the style admits neither.
    styled = f"when regexp_full_match({text}, {_style(column, scale)}) then {cast}"
    if plain != text:
        return f"case {styled} end"
    # Most cells are what the number is written as. That is of the style, and told in half the time of a pattern.
    return f"case when cast({cast} as varchar) = {text} then {cast} {styled} end"


def _style(column: TextColumn, scale: int | None) -> str:
    """The pattern of a number, with at most `scale` decimals (None: any number of them)."""
    whole = "[0-9]+"
    if column.number.thousands:
        whole = f"(?:[0-9]+|[0-9]{{1,3}}(?:{re.escape(column.number.thousands)}[0-9]{{3}})+)"
    pattern = whole
    if column.type == "decimal":
        digits = "+" if scale is None else f"{{1,{scale}}}"
        mark = re.escape(column.number.decimal_mark)
        if scale != 0:
            pattern = f"(?:{whole}(?:{mark}[0-9]{digits})?|{mark}[0-9]{digits})"
    return literal(f"[ \t]*[+-]?{pattern}[ \t]*")


def _date(column: TextColumn, text: str) -> str:
    for form in column.formats:
        if "%z" in form or "%Z" in form:
            raise PortError(
                "BAD_CONTRACT",
                f"column {column.name!r} declares the date format {form!r}: an offset would move rows to another day",
                hint="declare the format without an offset, and the zone with the task",
            )
    formats = ", ".join(literal(form) for form in column.formats)
    day = f"cast(try_strptime({text}, [{formats}]) as date)"
    # `epoch` is a day to DuckDB in any format; it is the only one of its words that lies between the two bounds.
    meant = f"({day} <> date '1970-01-01' or not contains(lower({text}), 'epoch'))"
    return f"case when {day} between {_FIRST_DAY} and {_LAST_DAY} and {meant} then {day} end"
