"""One sheet of a workbook, read by pandas with calamine: records of text, each cell in the style of its column.

The sheet is held in memory. What calamine is given is the workbook written again, uncompressed, from bytes that were
bounded and whose checksums hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster_planexec.world.delivery.delimited import Record
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.workbook.container import bad_format, repacked
from dagster_planexec.world.delivery.workbook.rows import DIGITS, Row, records_of_sheet, text_of_cell, too_many_digits
from dagster_planexec.world.delivery.workbook.sheet import Sheet, bad_number, sheet_of
from dagster_planexec.world.ingest import TextColumn

Reject = tuple[str, str, str]
"""Column, bounded value and code."""
_REFUSED = {"decimal": "BAD_AMOUNT", "integer": "BAD_AMOUNT", "date": "BAD_DATE", "text": "UNKNOWN_VALUE"}


def sheet_records(
    part: Part, columns: Mapping[int, TextColumn], scratch: Path, dropped: Counter[str]
) -> Iterator[tuple[Record, Reject | None]]:
    """Every record that is data, and why it is refused, if it is before any of its cells is converted.

    Args:
        part: The workbook.
        columns: Those that the table takes, by their position in the sheet.
        scratch: An empty folder.
        dropped: Where records that are no data are counted.

    Raises:
        PortError: As `sheet_of`; BAD_FORMAT if calamine cannot read it.
    """
    sheet = sheet_of(part)
    found = records_of_sheet(_rows(part, sheet.name, scratch), part.form, dropped=dropped)
    next(found)
    for row in found:
        refused = next(_refused(row, columns, sheet), None)
        fields = list(row.fields)
        for index, column in columns.items():
            if index < len(fields):
                fields[index] = text_of_cell(row.values[index], column)
        yield Record(row.line, fields), refused


def _refused(row: Row, columns: Mapping[int, TextColumn], sheet: Sheet) -> Iterator[Reject]:
    for index, column in columns.items():
        why = sheet.refused.get((row.line - 1, index))
        if why is not None:
            yield column.name, why, _REFUSED[column.type]
        elif index < len(row.values) and too_many_digits(row.values[index]):
            # Text as well: the key that was meant is another one, and nobody can say which.
            # The digits that were read are not those of the file, so they are not shown.
            yield column.name, f"a number of more than {DIGITS} digits", "SCALE_OVERFLOW"


def _rows(part: Part, name: str, scratch: Path) -> Iterator[tuple[int, Sequence[object]]]:
    import pandas as pd  # noqa: PLC0415 - heavy, and only workbooks need it

    path = scratch / "workbook.xlsx"
    repacked(part, path)
    try:
        frame: Any = pd.read_excel(path, sheet_name=name, header=None, dtype=object, engine="calamine", na_filter=False)
    except Exception as error:
        # calamine raises errors of its own, and pandas whatever it met.
        why = bad_number(part, name) or f"{type(error).__name__}: {str(error)[:120]}"
        raise bad_format(part, why) from error
    finally:
        path.unlink()
    yield from enumerate(frame.itertuples(index=False, name=None), start=1)
