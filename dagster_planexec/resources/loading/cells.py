"""From the text of a cell to a value, as DuckDB expressions: one for the value, one for why there is none.

Nothing here rounds, guesses or passes through a float. A cell is read exactly as its contract declares, or refused with
a code. Blanks around numbers and dates are ignored; text is kept as it is, unless its column has rules; an empty cell
is NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.resources.loading.styles.dates import day
from dagster_planexec.resources.loading.styles.numbers import number, written
from dagster_planexec.resources.loading.styles.sql import filled, literal, one_of
from dagster_planexec.resources.loading.styles.texts import normalised, unknown
from dagster_planexec.world.ingest import TextColumn

__all__ = ["REFUSED", "Cell", "absent", "cell", "cell_of_two", "literal", "refusal"]

REFUSED = "planexec refuses a cell: "


@dataclass(frozen=True, slots=True)
class Cell:
    """How one column of the table is made from the text of a record."""

    column: TextColumn
    text: str
    """The SQL expression of what stands in the file."""
    value: str
    """The SQL expression of its value: NULL if the cell is empty or refused."""
    reason: str | None
    """The SQL expression of the code it is refused with, NULL if it is not; None if any text will do."""
    must: str
    """The SQL expression of its value, or an error that ends the statement. It says nothing of the reason: DuckDB
    computes an expression that occurs twice for every row, needed or not."""
    empty: str
    """The SQL condition that there is nothing in the cell."""
    changed: str | None = None
    """The SQL condition that a text rule changed it; None if it has no rules."""


def cell(column: TextColumn, text: str) -> Cell:
    """The expressions of one column.

    Args:
        column: What the contract declares.
        text: A SQL expression for the cell's text, NULL for an empty cell.

    Raises:
        PortError: BAD_CONTRACT if a date format cannot be followed.
    """
    given, empty = _known(column, text)
    if column.type == "text":
        return _text(column, text, given)
    if column.type == "date":
        value, misread = day(column, given), "'BAD_DATE'"
    else:
        value = number(column, given)
        misread = f"case when {written(column, given)} then 'SCALE_OVERFLOW' else 'BAD_AMOUNT' end"
    of_empty = "null" if column.nullable else "'BAD_DATE'" if column.type == "date" else "'BAD_AMOUNT'"
    reason = f"case when {value} is not null then null when {empty} then {of_empty} else {misread} end"
    refused = refusal(column)
    if column.nullable:
        refused = f"case when not ({empty}) then {refused} end"
    return Cell(column, text, value, reason, f"coalesce({value}, {refused})", empty)


def cell_of_two(column: TextColumn, text: str, taken_off: str) -> Cell:
    """The expressions of an amount that stands in one of two columns; what stands in the second is taken off."""
    given, empty = _known(column, text)
    other, other_empty = _known(column, taken_off)
    one_is_filled = f"({empty}) <> ({other_empty})"
    filled_one = f"case when {empty} then {other} else {given} end"
    value = (
        f"case when not ({one_is_filled}) then null when {other_empty} then {number(column, given)} "
        f"else -({number(column, other)}) end"
    )
    reason = (
        f"case when {value} is not null then null when {one_is_filled} and {written(column, filled_one)} "
        "then 'SCALE_OVERFLOW' else 'BAD_AMOUNT' end"
    )
    both = f"concat_ws(' | ', {text}, {taken_off})"
    return Cell(column, both, value, reason, f"coalesce({value}, {refusal(column)})", f"({empty}) and ({other_empty})")


def absent(column: TextColumn) -> Cell:
    """The expressions of an optional column that a file does not have."""
    null = f"cast(null as {column.sql_type})"
    return Cell(column, null, null, None, null, "true")


def refusal(column: TextColumn) -> str:
    """An error in place of a value."""
    return f"cast(error({literal(REFUSED + column.name)}) as {column.sql_type})"


def _known(column: TextColumn, text: str) -> tuple[str, str]:
    """The text of a cell, NULL for a word that stands for an empty one; and the condition that it is empty."""
    given = f"case when {filled(text)} in {one_of(column.nulls)} then null else {text} end" if column.nulls else text
    return given, f"({given} is null or {filled(given)} = '')"


def _text(column: TextColumn, text: str, given: str) -> Cell:
    value = normalised(column, given)
    wrong, empty = unknown(column, value), f"({value} is null)"
    changed = f"({given} is not null and {value} is distinct from {given})" if column.normalise else None
    if wrong is None:
        return Cell(column, text, value, None, value, empty, changed)
    if not column.nullable:
        wrong = f"({value} is null or {wrong})"
    reason = f"case when {wrong} then 'UNKNOWN_VALUE' end"
    return Cell(
        column, text, value, reason, f"case when {wrong} then {refusal(column)} else {value} end", empty, changed
    )
