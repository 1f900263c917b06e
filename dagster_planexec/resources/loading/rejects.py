"""The slow way: a file with a fault is read again record by record, so that every reject is kept with its line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, literal
from dagster_planexec.resources.loading.files import File
from dagster_planexec.resources.loading.formats.parquet import relation
from dagster_planexec.resources.loading.formats.workbook import Reject, sheet_records
from dagster_planexec.resources.loading.reader import REFUSED, is_cut_off, reader_of
from dagster_planexec.resources.loading.target import inserted, quoted, replacing, table
from dagster_planexec.world.delivery.columnar import cut_off
from dagster_planexec.world.delivery.delimited import Record, records, undecoded
from dagster_planexec.world.delivery.words import SHOWN, shown
from dagster_planexec.world.ingest import FileFormat, IngestReport, TextIngest

if TYPE_CHECKING:
    import duckdb

_REJECT_COLUMNS = ("source", "line", "column", "value", "reason")


def load_by_record(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File], scratch: Path, fault: str
) -> IngestReport:
    """Load what converts and keep what does not, in one transaction.

    Args:
        connection: As of `ingest_text`.
        request: As of `ingest_text`.
        files: The files of the request.
        scratch: An empty folder.
        fault: What ended the fast way.

    Raises:
        PortError: As `ingest_text`; INTERNAL if the fast way met a fault that is not found again.
    """
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    rows, dropped = 0, Counter[str]()
    with replacing(connection, request):
        for number, file in enumerate(files):
            reader, whole = _by_record(connection, request, file, scratch / f"{number}", dropped)
            judged = [c for c in file.cells if c.reason is not None]
            reasons = [f"({c.reason})" for c in judged]
            try:
                if judged:
                    _keep_rejects(connection, request, _refused_cells(file, judged, reader), whole)
                values = ", ".join(f"{c.value} as {quoted(c.column.name)}" for c in file.cells)
                good = " and ".join(f"{reason} is null" for reason in reasons) or "true"
                query = f"select {values} from {reader} where {good}"
                rows += inserted(connection, request, query, whole)
            except duckdb.InvalidInputException as error:
                if is_cut_off(file, error):
                    raise cut_off(file.part, error) from error
                raise PortError(
                    "RAGGED_ROW",
                    f"{file.name} cannot be read: {' '.join(str(error).split())[:300]}",
                    hint="look at the line; a cell of more than 2 MB is the usual cause",
                ) from error
        counts, first, code = _summary(connection, request, files)
    if not counts and REFUSED in fault:
        raise PortError("INTERNAL", f"a cell was refused ({fault[:200]}), but no reject was found")
    return IngestReport(rows, counts, first, code, dropped=dict(+dropped))


def _by_record(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, file: File, scratch: Path, dropped: Counter[str]
) -> tuple[str, Path]:
    """What to select lines and cells from, and the path it takes; what cannot be converted at all is kept already."""
    if file.part.form.kind == "parquet":
        return relation(len(file.header), numbered=True), file.part.path.absolute()
    scratch.mkdir()
    whole, broken, form = scratch / "whole.csv", scratch / "broken.csv", FileFormat()
    _divide(file, whole, broken, dropped)
    _keep_rejects(connection, request, f"select * from {reader_of(form, _REJECT_COLUMNS)}", broken)
    return reader_of(form, ("line", *(f"f{index}" for index in range(len(file.header))))), whole


def _divide(file: File, whole: Path, broken: Path, dropped: Counter[str]) -> None:
    """Write every record again, with its line: those of the header's width to one file, all others to another."""
    width = len(file.header)
    with whole.open("w", encoding="utf-8", newline="") as good, broken.open("w", encoding="utf-8", newline="") as bad:
        keep, drop = csv.writer(good), csv.writer(bad)
        keep.writerow(["line", *(f"f{index}" for index in range(width))])
        drop.writerow(_REJECT_COLUMNS)
        for record, refused in _records(file, whole.parent, dropped):
            reject = _structural(record, file, width) or refused
            if reject is None:
                keep.writerow([record.line, *record.fields])
            else:
                drop.writerow([file.name, record.line, *reject])


def _records(file: File, scratch: Path, dropped: Counter[str]) -> Iterator[tuple[Record, Reject | None]]:
    if file.part.form.kind == "xlsx":
        yield from sheet_records(file.part, file.columns, scratch, dropped)
        return
    found = records(file.part, errors="surrogateescape", dropped=dropped)
    next(found)
    for record in found:
        yield record, None


def _structural(record: Record, file: File, width: int) -> tuple[str, str, str] | None:
    """Column, bounded value and code of a record that cannot be converted at all."""
    if len(record.fields) != width:
        text = file.part.form.delimiter.join(record.fields)
        return f"{len(record.fields)} fields, the header has {width}", _printable(text), "RAGGED_ROW"
    for name, text in zip(file.header, record.fields, strict=True):
        if undecoded(text):
            return name.strip(), _printable(text), "BAD_ENCODING"
    return None


def _printable(text: str) -> str:
    return text[:SHOWN].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _refused_cells(file: File, judged: Sequence[Cell], reader: str) -> str:
    found = ", ".join(
        f"{{'column': {literal(c.column.name)}, 'value': left({c.text}, {SHOWN}), 'reason': {c.reason}}}"
        for c in judged
    )
    some = " or ".join(f"({c.reason}) is not null" for c in judged)
    return (
        f"select {literal(file.name)}, line, u['column'], u['value'], u['reason'] "
        f"from (select line, unnest([{found}]) as u from {reader} where {some}) where u['reason'] is not null"
    )


def _keep_rejects(connection: duckdb.DuckDBPyConnection, request: TextIngest, query: str, path: Path) -> None:
    connection.execute(f"insert into {table(request.rejects)} {query}", [str(path)])


def _summary(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File]
) -> tuple[dict[str, int], str, str]:
    """Rejected rows by the code of their first reject; the first of all in words, and its code."""
    kept = table(request.rejects)
    by_row = connection.execute(
        f"select reason, count(*) from (select source, line, arg_min(reason, n) as reason from "
        f"(select *, rowid as n from {kept}) group by source, line) group by reason order by reason"
    ).fetchall()
    counts = dict(by_row)
    # Files in the order of the request, then lines: the first thing to look at.
    order = " ".join(f"when {literal(file.name)} then {n}" for n, file in enumerate(files))
    row = connection.execute(
        f'select source, line, "column", value, reason from {kept} '
        f"order by case source {order} end, line, rowid limit 1"
    ).fetchone()
    if row is None:
        return {}, "", ""
    source, line, column, value, reason = row
    cell_text = "an empty cell" if value is None else shown(value)
    where = column if reason == "RAGGED_ROW" else f"column {column!r}"
    return counts, f"{source} line {line}, {where}: {cell_text} ({reason})", reason
