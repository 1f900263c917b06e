"""Samples of workbooks and Parquet files: their columns have names already, and their cells are shown as text."""

from __future__ import annotations

import zipfile
from contextlib import closing
from itertools import islice
from pathlib import Path

from dagster_planexec.cli.inferring.seen import MOST_RECORDS, Sample
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.delivery.workbook.container import container, sheets_in
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import records_of_sheet
from dagster_planexec.world.ingest import FileFormat


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
    if len(found) < 2:  # noqa: PLR2004 - a header and a record
        raise _empty(path)
    header, *body = [tuple(row.fields) for row in found]
    notes = (f"the workbook has {len(sheets)} sheets; {shown(sheets[0])} was read",) if len(sheets) > 1 else ()
    return Sample(
        path.name, "none", "utf-8", ",", header, tuple(r for r in body if len(r) == len(header)),
        is_whole=len(found) <= MOST_RECORDS + 1, kind="xlsx", sheet=form.sheet, notes=notes,
    )  # fmt: skip


def _of_parquet(path: Path) -> Sample:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        with pq.ParquetFile(path) as file:
            first = next(file.iter_batches(batch_size=MOST_RECORDS), None)
            types = {field.name: str(field.type) for field in file.schema_arrow}
            rows = file.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise PlanexecError("VALIDATION_ERROR", f"{path.name[:80]} cannot be read: {str(error)[:120]}") from error
    if first is None or not rows:
        raise _empty(path)
    columns = [["" if value is None else str(value) for value in column.to_pylist()] for column in first.columns]
    floats = [name for name, kind in types.items() if kind in {"float", "double", "halffloat"}]
    notes = tuple(f"column {shown(name)} is {types[name]}: as money it is refused" for name in floats)
    return Sample(
        path.name, "none", "utf-8", ",", tuple(types), tuple(zip(*columns, strict=True)),
        is_whole=rows <= MOST_RECORDS, kind="parquet", notes=notes,
    )  # fmt: skip


def _empty(path: Path) -> PlanexecError:
    return PlanexecError(
        "EMPTY_EXTRACT", f"{path.name[:80]} has a header and no record: nothing can be drafted from it",
        hint="draft from the file of a month that has lines",
    )  # fmt: skip
