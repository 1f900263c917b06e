"""All lines that do not agree, as Parquet and XLSX: streamed from the table, money exact, no cell that computes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, BinaryIO, Protocol

from dagster_planexec.tools.report.text import visible
from dagster_planexec.world.ports import Session, SqlValue
from dagster_planexec.world.sides.result import ResultLayout

SHEET_ROWS = 1_048_576
"""Rows of one sheet, its header among them; what is more goes to another sheet."""
MOST_CHARACTERS = 1_000
"""Of one text cell."""
BATCH = 10_000
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_KINDS = {"BIGINT": "int64", "INTEGER": "int32", "SMALLINT": "int16", "TINYINT": "int8", "BOOLEAN": "bool",
          "DATE": "date32", "VARCHAR": "string"}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the begin of a formula, when a text is typed, pasted or imported."""
_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""`_x0041_` inside a sheet means `A`; such text is written so that it stays what it is."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the result."""

    name: str
    kind: str
    """A name of `_KINDS`' values, `decimal`, or `text`: anything else, as the warehouse writes it."""
    precision: int = 0
    scale: int = 0


class Lines(Protocol):
    """Rows of a table, to be read as often as they are written."""

    @property
    def title(self) -> str:
        """What its sheets are called."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of each row, in order."""

    def batches(self, columns: Sequence[Column]) -> Iterator[list[tuple[SqlValue, ...]]]:
        """The rows, a bounded number at a time."""


@dataclass(frozen=True, slots=True)
class Differences:
    """The lines of one result that are not identical."""

    session: Session
    table: str
    layout: ResultLayout
    title: str = "differences"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the table, in its order."""
        return columns_of(self.session, self.table)

    def batches(self, columns: Sequence[Column]) -> Iterator[list[tuple[SqlValue, ...]]]:
        """The lines in the order of their keys, a bounded number at a time."""
        quote = self.session.quote
        shown = ", ".join(f"cast({quote(c.name)} as varchar)" if c.kind == "text" else quote(c.name) for c in columns)
        order = ", ".join(quote(name) for name in self.layout.key)
        yield from self.session.batches(
            f"select {shown} from {quote(self.table)} where {quote(self.layout.status)} is distinct from ? "
            f"order by {order}",
            (self.layout.identical,),
            size=BATCH,
        )


def columns_of(session: Session, table: str) -> tuple[Column, ...]:
    """The columns of a table as files hold them, in its order."""
    return tuple(_column(c.name, c.type) for c in session.describe(table) or ())


def parquet_of(lines: Lines) -> Callable[[BinaryIO], None]:
    """What writes them as Parquet: DECIMAL as decimal128, text as it is."""

    def write(stream: BinaryIO) -> None:
        import pyarrow as pa  # noqa: PLC0415 - only reports pay for it
        from pyarrow import parquet  # noqa: PLC0415 - as above

        columns = lines.columns
        schema = pa.schema([(c.name, _arrow(pa, c)) for c in columns])
        with parquet.ParquetWriter(stream, schema) as writer:
            for rows in lines.batches(columns):
                values = [
                    pa.array(list(column), field.type)
                    for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                ]
                writer.write_batch(pa.record_batch(values, schema=schema))

    return write


def xlsx_of(lines: Lines, *, sheet_rows: int = SHEET_ROWS) -> Callable[[BinaryIO], None]:
    """What writes them as a workbook: numbers digit for digit, everything else as text that stays text."""

    def write(stream: BinaryIO) -> None:
        from openpyxl import Workbook  # noqa: PLC0415 - 200 ms that only reports pay

        columns = lines.columns
        book = Workbook(write_only=True)
        sheet, left = _sheet(book, lines.title, columns), sheet_rows - 1
        for rows in lines.batches(columns):
            for row in rows:
                if not left:
                    sheet, left = _sheet(book, lines.title, columns), sheet_rows - 1
                sheet.append([_cell(sheet, value) for value in row])
                left -= 1
        book.save(stream)

    return write


def _column(name: str, kind: str) -> Column:
    exact = _DECIMAL.fullmatch(kind.upper())
    if exact is not None:
        return Column(name, "decimal", int(exact[1]), int(exact[2]))
    return Column(name, _KINDS.get(kind.upper(), "text"))


def _arrow(pa: Any, column: Column) -> Any:  # noqa: ANN401 - pyarrow has no types
    if column.kind == "decimal":
        return pa.decimal128(column.precision, column.scale)
    return pa.string() if column.kind == "text" else getattr(pa, "bool_" if column.kind == "bool" else column.kind)()


def _sheet(book: Any, title: str, columns: Sequence[Column]) -> Any:  # noqa: ANN401 - openpyxl has no types
    number = len(book.worksheets) + 1
    sheet = book.create_sheet(title if number == 1 else f"{title} {number}")
    sheet.append([_cell(sheet, column.name) for column in columns])
    return sheet


def _cell(sheet: Any, value: SqlValue | dt.date) -> Any:  # noqa: ANN401 - as above
    """A cell whose type is said, never found out.

    openpyxl formats numbers through float; given as text, with the type of a number, they are written as they are.
    """
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415 - loaded by whoever made the sheet

    if value is None:
        return None
    if isinstance(value, bool):
        return WriteOnlyCell(sheet, value)
    if isinstance(value, int | Decimal):
        cell = WriteOnlyCell(sheet, f"{value:f}" if isinstance(value, Decimal) else str(value))
        cell.data_type = "n"
        return cell
    text = str(value)
    cell = WriteOnlyCell(sheet, _ESCAPE.sub("_x005F_", visible(text, most=MOST_CHARACTERS)))
    cell.data_type = "s"
    if text.startswith(_FORMULA):
        cell.quotePrefix = True  # it stays text when somebody edits the cell
    return cell
