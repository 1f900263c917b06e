"""One sheet of a workbook, counted by openpyxl. The loader reads it with calamine."""

from __future__ import annotations

from contextlib import closing

from dagster_planexec.world.delivery.delimited import Record, ragged
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import Row, records_of_sheet, text_of_cell, too_many_digits
from dagster_planexec.world.delivery.workbook.sheet import Sheet, sheet_of
from dagster_planexec.world.ingest import Counted, TextColumn
from dagster_planexec.world.probes.delivery.counting.tally import Tally, columns_at, places, tally_of


def count_sheet(part: Part, counted: Counted | None, at_most: int | None, *, broken: bool) -> Tally:
    """Count the records of a sheet, and add up.

    Args:
        part: The workbook.
        counted: What is added up.
        at_most: Where counting may stop.
        broken: As of `CountExtract`.

    Raises:
        PortError: RAGGED_ROW with its row, MISSING_COLUMN (no amount), and as `sheet_of`.
    """
    found, sheet = tally_of(counted), sheet_of(part)
    with closing(rows_by_openpyxl(part)) as rows:
        records = records_of_sheet(rows, part.form, dropped=found.dropped)
        header = next(records, None)
        if header is None:
            return found
        width, at = len(header.fields), places(part, counted, header.fields)
        columns = () if counted is None else columns_at(counted)
        for row in records:
            fits = len(row.fields) == width
            if not fits and not broken:
                raise ragged(part, Record(row.line, row.fields), width)
            found.rows += 1
            if found.is_enough(at_most):
                break
            if not fits:
                found.amounts.skip()
            elif at:
                found.amounts.add([_cell(row, i, sheet, column) for i, column in zip(at, columns, strict=True)])
    return found


def _cell(row: Row, at: int, sheet: Sheet, column: TextColumn) -> str:
    value = row.values[at]
    refused = sheet.refused.get((row.line - 1, at)) or ("too many digits" if too_many_digits(value) else "")
    return refused or text_of_cell(value, column)
