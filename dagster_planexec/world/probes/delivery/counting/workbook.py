"""One sheet of a workbook, counted by openpyxl. The loader reads it with calamine."""

from __future__ import annotations

from contextlib import closing

from dagster_planexec.world.delivery.delimited import Record, ragged
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import Row, records_of_sheet, text_of_cell, too_many_digits
from dagster_planexec.world.delivery.workbook.sheet import Sheet, sheet_of
from dagster_planexec.world.ingest import Counted
from dagster_planexec.world.probes.delivery.counting.tally import Tally, amount_at, tally_of


def count_sheet(part: Part, counted: Counted | None, at_most: int | None) -> Tally:
    """Count the records of a sheet, and add up.

    Raises:
        PortError: RAGGED_ROW with its row, MISSING_COLUMN (no amount), and as `sheet_of`.
    """
    found, sheet = tally_of(counted), sheet_of(part)
    with closing(rows_by_openpyxl(part)) as rows:
        records = records_of_sheet(rows, part.form, dropped=found.dropped)
        header = next(records, None)
        if header is None:
            return found
        width, at = len(header.fields), amount_at(part, counted, header.fields)
        for row in records:
            if len(row.fields) != width:
                raise ragged(part, Record(row.line, row.fields), width)
            found.rows += 1
            if found.is_enough(at_most):
                break
            if at is not None and counted is not None:
                found.amounts.add((_amount(row, at, sheet, counted),))
    return found


def _amount(row: Row, at: int, sheet: Sheet, counted: Counted) -> str:
    value = row.values[at]
    refused = sheet.refused.get((row.line - 1, at)) or ("too many digits" if too_many_digits(value) else "")
    return refused or text_of_cell(value, counted.amount)
