"""From the cells of a sheet to records of text, for the loader and for the counter alike; each has read them itself.

A spreadsheet keeps numbers as doubles, in its very format. They become text at once, here and nowhere else: the
shortest text that means the same double. A number of more than 15 digits is refused, as a spreadsheet cannot have kept
it: 2^53+1 comes back as 2^53, and no reader could tell.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from dagster_planexec.world.delivery.delimited import REPEATED, TRAILERS
from dagster_planexec.world.delivery.tail import last_records
from dagster_planexec.world.ingest import FileFormat, TextColumn, Trailer

DIGITS = 15
"""Significant digits that a double keeps whatever they are, and that a spreadsheet shows."""
_BLANK = " \t\r\n"
"""What XML may take for nothing between two tags: of a cell of these, some libraries keep them and some do not."""
TYPED_DATE = "%Y-%m-%d (date)"
"""How a cell that is typed as a date is written for a column of dates: no format that a person writes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sheet, and its number, from 1."""

    line: int
    values: list[object]
    fields: list[str] = field(default_factory=list)
    """As text."""


def number_text(value: float) -> str:
    """A number of a spreadsheet as text, without an exponent. The only place where an amount is a float."""
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)).normalize(), "f")


def too_many_digits(value: object) -> bool:
    """Whether a number has more digits than its file can have kept."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    digits = number_text(value).lstrip("-").replace(".", "").strip("0")
    return len(digits) > DIGITS or not (digits + "0").isdigit()


def text_of_cell(value: object, column: TextColumn | None = None) -> str:
    """The text of a cell: a number in the style of its column, a date as ISO writes it, text as it is."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            number = number_text(value)
            return number if column is None else styled(number, column)
        case dt.datetime() if (value.hour, value.minute, value.second, value.microsecond) != (0, 0, 0, 0):
            iso = value.strftime("%Y-%m-%d %H:%M:%S")
            return f"{iso[:10]} (date)" if column is not None and column.type == "date" else iso
        case dt.date():
            iso = value.strftime("%Y-%m-%d")
            return f"{iso} (date)" if column is not None and column.type == "date" else iso
        case _:
            return str(value)


def records_of_sheet(
    rows: Iterable[tuple[int, Sequence[object]]],
    form: FileFormat,
    *,
    ended: list[tuple[Trailer, Row]] | None = None,
    dropped: MutableMapping[str, int] | None = None,
) -> Iterator[Row]:
    """The header, then every record that is data: blank rows are none, and neither are trailers.

    Args:
        rows: Each row's number, from 1, and its cells.
        form: What is declared.
        ended: Where the trailers are put.
        dropped: Where records that are no data are counted.
    """
    ended, dropped = ([] if ended is None else ended), ({} if dropped is None else dropped)
    filled = _filled(rows, form)
    if form.header is not None:
        header = Row(0, list(form.header), list(form.header))
    else:
        first = next(filled, None)
        if first is None:
            return
        header = first
    yield header
    for row in last_records(filled, form.trailers, ended):
        if form.repeated_headers and row.fields == header.fields:
            dropped[REPEATED] = dropped.get(REPEATED, 0) + 1
            continue
        # Cells that are empty to the end of the row are not there in the file.
        short = len(header.fields) - len(row.fields)
        yield Row(row.line, row.values + [None] * short, row.fields + [""] * short) if short > 0 else row
    if ended:
        dropped[TRAILERS] = dropped.get(TRAILERS, 0) + len(ended)


def _filled(rows: Iterable[tuple[int, Sequence[object]]], form: FileFormat) -> Iterator[Row]:
    for line, cells in rows:
        if line <= form.skip_lines:
            continue
        fields = [text_of_cell(value) for value in cells]
        while fields and not fields[-1].strip(_BLANK):
            fields.pop()
        if fields:
            yield Row(line, list(cells[: len(fields)]), fields)


def styled(number: str, column: TextColumn) -> str:
    """A plain number as the cells of its column are written."""
    if column.type not in {"decimal", "integer"}:
        return number
    text = number.lstrip("-").replace(".", column.number.decimal_mark)
    if not number.startswith("-"):
        return text
    negatives = column.number.negatives
    match "minus" if "minus" in negatives else negatives[0]:
        case "minus":
            return f"-{text}"
        case "trailing_minus":
            return f"{text}-"
        case "parentheses":
            return f"({text})"
        case "credit":
            return f"{text} CR"
