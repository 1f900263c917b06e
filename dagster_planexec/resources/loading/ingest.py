"""Loading delimited text into a table: read as text, convert by contract in one pass, keep every reject.

A file without a fault is read once, straight into the table. The first fault ends that, and the file is read again,
slowly and record by record, so that every reject is kept with the line it stands on. Both ways convert with the same
expressions.

DuckDB takes extra *empty* fields at the end of a record for granted, whatever it is told. The independent counter does
not, so such a file is met by `row_counts_agree`, not here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.resources.loading.changes import Changes
from dagster_planexec.resources.loading.files import File, file_of
from dagster_planexec.resources.loading.orders import expect_formats
from dagster_planexec.resources.loading.reader import buffer_of, readable, reader_of, stream_error
from dagster_planexec.resources.loading.rejects import load_by_record
from dagster_planexec.resources.loading.target import expect_table, inserted, quoted, replacing
from dagster_planexec.world.ingest import IngestReport, TextIngest

if TYPE_CHECKING:
    import duckdb


def ingest_text(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> IngestReport:
    """Replace the rows of the target with those of the files, in one transaction, and the rejects with theirs.

    Args:
        connection: A connection that may read files.
        request: Files, their declared format, and the columns of the table.

    Raises:
        PortError: TABLE_GONE, SCHEMA_DRIFT, EMPTY_EXTRACT (a file without a header), MISSING_COLUMN, VALIDATION_ERROR
            (two columns of one name), RAGGED_ROW (quoting that breaks the rest of the file), TRUNCATED_STREAM,
            BAD_ENCODING (in the header), AMBIGUOUS_DATE (no format is declared, and several fit), BAD_CONTRACT.
        duckdb.Error: Anything that is not about the files: the disk is full, the statement was interrupted.
    """
    expect_table(connection, request)
    files = tuple(file_of(path, request) for path in request.paths)
    with tempfile.TemporaryDirectory(prefix="planexec-ingest-") as scratch:
        expect_formats(connection, request, files, Path(scratch))
        try:
            return _load_straight(connection, request, files, Path(scratch))
        except _FaultError as fault:
            return load_by_record(connection, request, files, Path(scratch), str(fault))


class _FaultError(Exception):
    """Some file has a fault; the message is DuckDB's."""


def _load_straight(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File], scratch: Path
) -> IngestReport:
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    rows, buffer, changes = 0, buffer_of(connection), Changes(request)
    with replacing(connection, request):
        for number, file in enumerate(files):
            try:
                path, form = readable(file, scratch / f"straight-{number}")
                names = [f"f{index}" for index in range(len(file.header))]
                values = ", ".join(f"{c.must} as {quoted(c.column.name)}" for c in file.cells)
                reader = reader_of(form, names, skip=file.blank_lines, buffer=buffer)
                rows += inserted(connection, request, f"select {values} from {reader}", path)
                changes.count(connection, file, reader, path)
            except (duckdb.InvalidInputException, UnicodeDecodeError) as error:
                raise _FaultError(str(error)) from error
            except duckdb.IOException as error:
                raise stream_error(file, error) from error
    return IngestReport(rows, {}, normalised=changes.by_column)
