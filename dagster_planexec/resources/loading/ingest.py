"""Loading delivered files into a table: read as text, convert by contract in one pass, keep every reject.

A file without a fault is read once, straight into the table. The first fault ends that, and the file is read again,
slowly and record by record, so that every reject is kept with the line it stands on. Both ways convert with the same
expressions.

DuckDB takes extra *empty* fields at the end of a record for granted, whatever it is told. The independent counter does
not, so such a file is met by `row_counts_agree`, not here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.resources.loading.changes import Changes
from dagster_planexec.resources.loading.faults.orders import expect_formats
from dagster_planexec.resources.loading.faults.rejects import load_by_record
from dagster_planexec.resources.loading.files import File, files_of
from dagster_planexec.resources.loading.reader import Relation, buffer_of, is_cut_off, straight, stream_error
from dagster_planexec.resources.loading.target import expect_table, inserted, quoted, replacing
from dagster_planexec.world.delivery.columnar import cut_off
from dagster_planexec.world.delivery.delimited import REPEATED, TRAILERS
from dagster_planexec.world.ingest import RECORD_KINDS, IngestReport, TextIngest
from dagster_planexec.world.local.scratch import scratch

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
            BAD_ENCODING (in the header), BAD_CONTRACT.
        duckdb.Error: Anything that is not about the files: the disk is full, the statement was interrupted.
    """
    expect_table(connection, request)
    files = tuple(file for path in request.paths for file in files_of(connection, path, request))
    with scratch("planexec-ingest-") as folder:
        expect_formats(connection, request, files, folder)
        if request.format.kind == "xlsx" or request.format.kind in RECORD_KINDS:  # their rows are records already
            return load_by_record(connection, request, files, folder, "")
        try:
            return _load_straight(connection, request, files, folder)
        except _FaultError as fault:
            return load_by_record(connection, request, files, folder, str(fault))


class _FaultError(Exception):
    """Some file has a fault; the message is DuckDB's."""


def _load_straight(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File], scratch: Path
) -> IngestReport:
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    rows, buffer, dropped, changes = 0, buffer_of(connection), Counter[str](), Changes(request)
    with replacing(connection, request):
        for number, file in enumerate(files):
            try:
                read = straight(file, scratch / f"straight-{number}", buffer)
                if read.gap:
                    raise _FaultError("a long run of blank lines")
                values = ", ".join(f"{c.must} as {quoted(c.column.name)}" for c in file.cells)
                query = f"select {values} from {read.sql} where {read.data}"
                rows += inserted(connection, request, query, read.path)
                dropped[TRAILERS] += read.trailers
                dropped[REPEATED] += _repeated(connection, file, read)
                changes.count(connection, file, read.sql, read.path, where=read.data)
            except (duckdb.InvalidInputException, duckdb.NotSupportedError, UnicodeDecodeError) as error:
                if is_cut_off(file, error):
                    raise cut_off(file.part, error) from error
                raise _FaultError(str(error)) from error
            except duckdb.IOException as error:
                raise stream_error(file, error) from error
            except duckdb.Error as error:
                if is_cut_off(file, error):
                    raise cut_off(file.part, error) from error
                raise
    return IngestReport(rows, {}, dropped=dict(+dropped), normalised=changes.by_column)


def _repeated(connection: duckdb.DuckDBPyConnection, file: File, read: Relation) -> int:
    """Records that repeat the header; counted apart, since the statement that leaves them out does not say."""
    if not file.part.form.repeated_headers:
        return 0
    found = connection.execute(f"select count(*) from {read.sql} where not ({read.data})", [str(read.path)]).fetchone()
    return int(found[0]) if found else 0
