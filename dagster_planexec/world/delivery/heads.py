"""The header of one part of a delivered file and the trailers at its end, whatever its format."""

from __future__ import annotations

from contextlib import closing

from dagster_planexec.world.delivery.columnar import parquet_names
from dagster_planexec.world.delivery.delimited import Record, header_record, trailers_of_text
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import Row, records_of_sheet
from dagster_planexec.world.ingest import RECORD_KINDS, Trailer


def head_of(part: Part) -> Record | None:
    """The names of its columns as the part has them, and the line they stand on; None for one without a record.

    Raises:
        PortError: As the reader of its format.
    """
    match part.form.kind:
        case "delimited":
            return header_record(part)
        case "parquet":
            return Record(0, list(parquet_names(part)))
        case "xlsx":
            with closing(rows_by_openpyxl(part)) as rows:
                first = next(records_of_sheet(rows, part.form), None)
            return None if first is None else Record(first.line, first.fields)
        case "x12" | "nacha":
            return Record(0, list(part.form.header or ()))


def header_of(part: Part) -> tuple[str, ...]:
    """The names alone, untrimmed; none for a part without a record. Raises as `head_of`."""
    first = head_of(part)
    return tuple(first.fields) if first is not None else ()


def trailers_of(part: Part) -> list[tuple[Trailer, list[str]]]:
    """The trailers of a part with their fields, the first of them first. Raises as `head_of`."""
    if part.form.kind in RECORD_KINDS:
        return []
    if part.form.kind != "xlsx":
        return trailers_of_text(part)
    ended: list[tuple[Trailer, Row]] = []
    with closing(rows_by_openpyxl(part)) as rows:
        for _ in records_of_sheet(rows, part.form, ended=ended):
            pass
    return [(rule, row.fields) for rule, row in ended]
