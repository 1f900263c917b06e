"""The rows of a sheet, read by openpyxl one after another."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.workbook.container import bad_format
from dagster_planexec.world.delivery.workbook.sheet import bad_number, sheet_of
from dagster_planexec.world.local.regular import without_links


def rows_by_openpyxl(part: Part) -> Generator[tuple[int, Sequence[object]], None, None]:
    """Every row with its number, from 1; formulas as they were computed last.

    Raises:
        PortError: As `sheet_of`; BAD_FORMAT if openpyxl cannot read it.
    """
    sheet = sheet_of(part)
    with open(part.path, "rb", opener=without_links) as file:
        try:
            yield from _rows(file, sheet.name)
        except PortError:
            raise
        except Exception as error:
            # It raises whatever its code met in the XML: KeyError, TypeError, ValueError, its own.
            why = bad_number(part, sheet.name) or f"{type(error).__name__}: {str(error)[:120]}"
            raise bad_format(part, why) from error


def _rows(file: Any, name: str) -> Iterator[tuple[int, Sequence[object]]]:  # noqa: ANN401 - an open file
    from openpyxl import load_workbook  # noqa: PLC0415 - heavy, and only needed here

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that hold no data
        book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            sheet: Any = book[name]
            sheet.reset_dimensions()  # what a sheet says of its own size would cut it off
            rows = sheet.iter_rows(values_only=True)
        except BaseException:
            book.close()
            raise
    try:
        yield from enumerate(rows, start=1)
    finally:
        book.close()
