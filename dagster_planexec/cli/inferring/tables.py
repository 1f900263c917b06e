"""Samples of workbooks and Parquet files: their columns have names already, and their cells are shown as text."""

from __future__ import annotations

import zipfile
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from dagster_planexec.cli.inferring.seen import MOST_RECORDS, Sample
from dagster_planexec.cli.inferring.tails import above_header, without_tail
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.columnar import cut_off
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.delivery.workbook.container import container, sheets_in
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import records_of_sheet
from dagster_planexec.world.ingest import FileFormat

_LOOKED_AT = 2_000


def sample_of_table(path: Path) -> Sample | None:
    """The sample of a workbook or a Parquet file; None for anything else.

    Raises:
        PlanexecError: EMPTY_EXTRACT without a record; as the reader of its format.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return _of_parquet(path)
    if head == b"PK\x03\x04" and _is_workbook(path):
        return _of_workbook(path)
    return None


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _of_workbook(path: Path) -> Sample:
    part = Part(path, FileFormat(kind="xlsx"))
    with container(part) as opened:
        sheets = list(sheets_in(part, opened))
    form = FileFormat(kind="xlsx", sheet=sheets[0] if len(sheets) > 1 else None)
    with closing(rows_by_openpyxl(Part(path, form))) as rows:
        found = list(islice(records_of_sheet(rows, form), MOST_RECORDS + 2))
    widths = [sum(1 for field in row.fields if field.strip()) for row in found[:_LOOKED_AT]]
    above = above_header(widths)
    found = found[above:]
    if len(found) < 2:  # noqa: PLR2004 - a header and a record
        raise _empty(path)
    is_whole = len(found) <= MOST_RECORDS + 1
    header = tuple(found[0].fields)
    body = [tuple(row.fields + [""] * (len(header) - len(row.fields))) for row in found[1:]]
    data, tail = without_tail(body, len(header)) if is_whole else (body, ())
    notes = (f"the workbook has {len(sheets)} sheets; {shown(sheets[0])} was read",) if len(sheets) > 1 else ()
    return Sample(
        path.name, "none", "utf-8", ",", header, tuple(r for r in data if len(r) == len(header)),
        found[0].line - 1 if above else 0, tail, is_whole=is_whole, kind="xlsx", sheet=form.sheet, notes=notes,
    )  # fmt: skip


def _of_parquet(path: Path) -> Sample:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        with pq.ParquetFile(path) as file:
            first = next(file.iter_batches(batch_size=MOST_RECORDS), None)
            fields = list(file.schema_arrow)
            rows = file.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise cut_off(Part(path, FileFormat(kind="parquet")), error) from error
    if first is None or not rows:
        raise _empty(path)
    unfit = [n for n, field in enumerate(fields) if _is_unfit(field.type)]
    is_money = (pa.types.is_decimal, pa.types.is_integer)
    fit = [n for n in range(len(fields)) if n not in unfit]
    if any(is_a(fields[n].type) for n in fit for is_a in is_money):  # the bill stands in another column
        notes = tuple(f"column {shown(fields[n].name)} is {str(fields[n].type)[:40]}: it is left out" for n in unfit)
    else:
        notes = tuple(f"column {shown(fields[n].name)} is {str(fields[n].type)[:40]}: it is refused" for n in unfit)
        fit, unfit = list(range(len(fields))), []
    cells = [["" if value is None else str(value) for value in first.column(n).to_pylist()] for n in fit]
    return Sample(
        path.name, "none", "utf-8", ",", tuple(fields[n].name for n in fit), tuple(zip(*cells, strict=True)),
        is_whole=rows <= MOST_RECORDS, kind="parquet", notes=notes, left_out=bool(unfit),
    )  # fmt: skip


def _is_unfit(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    """Whether no column of a contract takes it: what is not exact, and what is no single value."""
    import pyarrow as pa  # noqa: PLC0415 - loaded by whoever asks

    of = pa.types
    return bool(
        of.is_floating(kind) or of.is_nested(kind) or of.is_binary(kind) or of.is_time(kind) or of.is_duration(kind)
    )


def _empty(path: Path) -> PlanexecError:
    return PlanexecError(
        "EMPTY_EXTRACT", f"{path.name[:80]} has a header and no record: nothing can be drafted from it",
        hint="draft from the file of a month that has lines",
    )  # fmt: skip
