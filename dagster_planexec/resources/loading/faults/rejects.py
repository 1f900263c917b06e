"""The slow way: a file with a fault is read again record by record, so that every reject is kept with its line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import REFUSED, Cell, literal
from dagster_planexec.resources.loading.changes import Changes
from dagster_planexec.resources.loading.files import File
from dagster_planexec.resources.loading.formats.parquet import relation
from dagster_planexec.resources.loading.formats.workbook import Reject, sheet_records
from dagster_planexec.resources.loading.reader import is_cut_off, reader_of
from dagster_planexec.resources.loading.target import inserted, quoted, replacing, table
from dagster_planexec.world.delivery.columnar import cut_off
from dagster_planexec.world.delivery.delimited import Record, records, undecoded
from dagster_planexec.world.delivery.records.part import records_of_part
from dagster_planexec.world.delivery.text.words import SHOWN, shown
from dagster_planexec.world.ingest import RECORD_KINDS, FileFormat, IngestReport, TextIngest

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

    rows, dropped, changes = 0, Counter[str](), Changes(request)
    with replacing(connection, request):
        for number, file in enumerate(files):
            reader, whole = _by_record(connection, request, file, scratch / f"{number}", dropped)
            judged = [c for c in file.cells if c.reason is not None]
            reasons = [f"({c.reason})" for c in judged]
            try:
                if judged:
                    _keep_rejects(connection, request, _refused_cells(file, judged, request, reader), whole)
                values = ", ".join(f"{c.value} as {quoted(c.column.name)}" for c in file.cells)
                good = " and ".join(f"{reason} is null" for reason in reasons) or "true"
                query = f"select {values} from {reader} where {good}"
                rows += inserted(connection, request, query, whole)
                changes.count(connection, file, reader, whole, where=good)
            except duckdb.InvalidInputException as error:
                if is_cut_off(file, error):
                    raise cut_off(file.part, error) from error
                raise PortError(
                    "RAGGED_ROW",
                    f"{file.name} cannot be read: {' '.join(str(error).split())[:300]}",
                    hint="look at the line; a cell of more than 2 MB is the usual cause",
                ) from error
        counts, amounts = _by_code(connection, request)
        first, code = _first(connection, request, files)
    if not counts and REFUSED in fault:
        raise PortError("INTERNAL", f"a cell was refused ({fault[:200]}), but no reject was found")
    return IngestReport(rows, counts, first, code, amounts, dict(+dropped), changes.by_column)


def _by_record(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, file: File, scratch: Path, dropped: Counter[str]
) -> tuple[str, Path]:
    """What to select lines and cells from, and the path it takes; what cannot be converted at all is kept already."""
    if file.part.form.kind == "parquet":
        return relation(len(file.header), numbered=True), file.part.path.absolute()
    scratch.mkdir()
    whole, broken, form = scratch / "whole.csv", scratch / "broken.csv", FileFormat()
    _divide(file, whole, broken, dropped)
    _keep_rejects(connection, request, f"select *, null from {reader_of(form, _REJECT_COLUMNS)}", broken)
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
    if file.part.form.kind in RECORD_KINDS:
        yield from ((record, None) for record in records_of_part(file.part))
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


def _refused_cells(file: File, judged: Sequence[Cell], request: TextIngest, reader: str) -> str:
    worth = next((c.value for c in file.cells if c.column.name == request.amount), "null")
    found = ", ".join(
        f"{{'column': {literal(c.column.name)}, 'value': left({c.text}, {SHOWN}), 'reason': {c.reason}}}"
        for c in judged
    )
    some = " or ".join(f"({c.reason}) is not null" for c in judged)
    return (
        f"select {literal(file.name)}, line, u['column'], u['value'], u['reason'], worth "
        f"from (select line, {worth} as worth, unnest([{found}]) as u from {reader} where {some}) "
        "where u['reason'] is not null"
    )


def _keep_rejects(connection: duckdb.DuckDBPyConnection, request: TextIngest, query: str, path: Path) -> None:
    connection.execute(f"insert into {table(request.rejects)} {query}", [str(path)])


def _by_code(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> tuple[dict[str, int], dict[str, Decimal]]:
    """Rejected rows, and what those are worth whose amount can be read, by the code of a row's first reject."""
    found = connection.execute(
        "select reason, count(*), sum(worth) from (select source, line, arg_min(reason, n) as reason, "
        f"any_value(amount) as worth from (select *, rowid as n from {table(request.rejects)}) "
        "group by source, line) group by reason order by reason"
    ).fetchall()
    counts = {reason: count for reason, count, _ in found}
    return counts, {reason: worth for reason, _, worth in found if worth is not None}


def _first(connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File]) -> tuple[str, str]:
    """The first reject in words, and its code: in the order of the request's files, then of lines."""
    order = " ".join(f"when {literal(file.name)} then {n}" for n, file in enumerate(files))
    row = connection.execute(
        f'select source, line, "column", value, reason from {table(request.rejects)} '
        f"order by case source {order} end, line, rowid limit 1"
    ).fetchone()
    if row is None:
        return "", ""
    source, line, column, value, reason = row
    cell_text = "an empty cell" if value is None else shown(value)
    where = column if reason == "RAGGED_ROW" else f"column {column!r}"
    return f"{source} line {line}, {where}: {cell_text} ({reason})", reason
