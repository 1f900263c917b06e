"""Loading delimited text into a table: read as text, convert by contract in one pass, keep every reject.

A file without a fault is read once, straight into the table. The first fault ends that, and the file is read again,
slowly and record by record, so that every reject is kept with the line it stands on. Both ways convert with the same
expressions.

DuckDB takes extra *empty* fields at the end of a record for granted, whatever it is told. The independent counter does
not, so such a file is met by `row_counts_agree`, not here.
"""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_cells import Cell, cell, literal
from dagster_planexec.world.delivery.delimited import (
    SHOWN,
    Record,
    codec_of,
    header_record,
    records,
    shown,
    text_of,
    undecoded,
)
from dagster_planexec.world.ingest import FileFormat, IngestReport, TextIngest

if TYPE_CHECKING:
    import duckdb

_REFUSED = "planexec refuses a cell: "
_REJECT_COLUMNS = ("source", "line", "column", "value", "reason")
_CHUNK = 1 << 20
_LONGEST = 2_000_000
"""Bytes of a record at most."""
_BUFFER, _SMALL_BUFFER = 32_000_000, 8_000_000
"""Bytes that DuckDB reads at a time and per thread; the small ones are slower, and fit under a small memory cap."""
_SMALL_CAP = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _File:
    """One file of a request, with its header and the columns that the table takes from it."""

    path: Path
    form: FileFormat
    header: tuple[str, ...]
    blank_lines: int
    """Lines with nothing on them above the header; to DuckDB the first line is the header, whatever it holds."""
    cells: tuple[Cell, ...]


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
    _expect_table(connection, request)
    files = tuple(_file(path, request) for path in request.paths)
    with tempfile.TemporaryDirectory(prefix="planexec-ingest-") as scratch:
        try:
            return _load_straight(connection, request, files, Path(scratch))
        except _FaultError as fault:
            return _load_by_record(connection, request, files, Path(scratch), str(fault))


class _FaultError(Exception):
    """Some file has a fault; the message is DuckDB's."""


def _load_straight(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[_File], scratch: Path
) -> IngestReport:
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    rows, buffer = 0, _buffer(connection)
    with _replacing(connection, request):
        for number, file in enumerate(files):
            try:
                path, form = _readable(file, scratch / f"straight-{number}")
                names = [f"f{index}" for index in range(len(file.header))]
                values = ", ".join(f"{_must(c)} as {_quoted(c.column.name)}" for c in file.cells)
                query = f"select {values} from {_reader(form, names, skip=file.blank_lines, buffer=buffer)}"
                rows += _inserted(connection, request, query, path)
            except (duckdb.InvalidInputException, UnicodeDecodeError) as error:
                raise _FaultError(str(error)) from error
            except duckdb.IOException as error:
                raise _stream_error(file, error) from error
    return IngestReport(rows, {})


def _load_by_record(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[_File], scratch: Path, fault: str
) -> IngestReport:
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    rows = 0
    with _replacing(connection, request):
        for number, file in enumerate(files):
            whole, broken = scratch / f"whole-{number}.csv", scratch / f"broken-{number}.csv"
            _divide(file, whole, broken)
            form = FileFormat()
            _keep_rejects(connection, request, f"select * from {_reader(form, _REJECT_COLUMNS)}", broken)
            names = ("line", *(f"f{index}" for index in range(len(file.header))))
            judged = [c for c in file.cells if c.reason is not None]
            reasons = [f"({c.reason})" for c in judged]
            try:
                if judged:
                    _keep_rejects(connection, request, _refused_cells(file, judged, _reader(form, names)), whole)
                values = ", ".join(f"{c.value} as {_quoted(c.column.name)}" for c in file.cells)
                good = " and ".join(f"{reason} is null" for reason in reasons) or "true"
                query = f"select {values} from {_reader(form, names)} where {good}"
                rows += _inserted(connection, request, query, whole)
            except duckdb.InvalidInputException as error:
                raise PortError(
                    "RAGGED_ROW",
                    f"{file.path.name} cannot be read: {' '.join(str(error).split())[:300]}",
                    hint="look at the line; a cell of more than 2 MB is the usual cause",
                ) from error
        counts, first, code = _summary(connection, request)
    if not counts and _REFUSED in fault:
        raise PortError("INTERNAL", f"a cell was refused ({fault[:200]}), but no reject was found")
    return IngestReport(rows, counts, first, code)


def _divide(file: _File, whole: Path, broken: Path) -> None:
    """Write every record again, with its line: those of the header's width to one file, all others to another."""
    width = len(file.header)
    found = records(file.path, file.form, errors="surrogateescape")
    next(found)
    with whole.open("w", encoding="utf-8", newline="") as good, broken.open("w", encoding="utf-8", newline="") as bad:
        keep, drop = csv.writer(good), csv.writer(bad)
        keep.writerow(["line", *(f"f{index}" for index in range(width))])
        drop.writerow(_REJECT_COLUMNS)
        for record in found:
            reject = _structural(record, file, width)
            if reject is None:
                keep.writerow([record.line, *record.fields])
            else:
                drop.writerow([file.path.name, record.line, *reject])


def _structural(record: Record, file: _File, width: int) -> tuple[str, str, str] | None:
    """Column, bounded value and code of a record that cannot be converted at all."""
    if len(record.fields) != width:
        text = file.form.delimiter.join(record.fields)
        return f"{len(record.fields)} fields, the header has {width}", _printable(text), "RAGGED_ROW"
    for name, text in zip(file.header, record.fields, strict=True):
        if undecoded(text):
            return name.strip(), _printable(text), "BAD_ENCODING"
    return None


def _printable(text: str) -> str:
    return text[:SHOWN].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _refused_cells(file: _File, judged: Sequence[Cell], reader: str) -> str:
    found = ", ".join(
        f"{{'column': {literal(c.column.name)}, 'value': left({c.text}, {SHOWN}), 'reason': {c.reason}}}"
        for c in judged
    )
    some = " or ".join(f"({c.reason}) is not null" for c in judged)
    return (
        f"select {literal(file.path.name)}, line, u['column'], u['value'], u['reason'] "
        f"from (select line, unnest([{found}]) as u from {reader} where {some}) where u['reason'] is not null"
    )


def _keep_rejects(connection: duckdb.DuckDBPyConnection, request: TextIngest, query: str, path: Path) -> None:
    connection.execute(f"insert into {_table(request.rejects)} {query}", [str(path)])


def _summary(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> tuple[dict[str, int], str, str]:
    """Rejected rows by the code of their first reject; the first of all in words, and its code."""
    table = _table(request.rejects)
    by_row = connection.execute(
        f"select reason, count(*) from (select source, line, arg_min(reason, n) as reason from "
        f"(select *, rowid as n from {table}) group by source, line) group by reason order by reason"
    ).fetchall()
    counts = dict(by_row)
    # Files in the order of the request, then lines: the first thing to look at.
    order = " ".join(f"when {literal(path.name)} then {n}" for n, path in enumerate(request.paths))
    row = connection.execute(
        f'select source, line, "column", value, reason from {table} '
        f"order by case source {order} end, line, rowid limit 1"
    ).fetchone()
    if row is None:
        return {}, "", ""
    source, line, column, value, reason = row
    cell_text = "an empty cell" if value is None else shown(value)
    where = column if reason == "RAGGED_ROW" else f"column {column!r}"
    return counts, f"{source} line {line}, {where}: {cell_text} ({reason})", reason


@contextmanager
def _replacing(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> Iterator[None]:
    """One transaction that begins with an empty target and no rejects."""
    connection.execute("begin transaction")
    try:
        connection.execute(f"delete from {_table(request.target)}")
        connection.execute(
            f"create or replace table {_table(request.rejects)} "
            '(source varchar, line bigint, "column" varchar, value varchar, reason varchar)'
        )
        yield
        connection.execute("commit")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

    # None is left when the statement or the commit has ended it, and then the first error is the one to be heard.
    with suppress(duckdb.TransactionException):
        connection.rollback()


def _inserted(connection: duckdb.DuckDBPyConnection, request: TextIngest, query: str, path: Path) -> int:
    done = connection.execute(f"insert into {_table(request.target)} by name {query}", [str(path)]).fetchone()
    return int(done[0]) if done else 0


def _must(c: Cell) -> str:
    """The value of a cell, or an error that ends the statement.

    It says nothing of the reason: DuckDB computes an expression that occurs twice for every row, needed or not.
    """
    if c.reason is None:
        return c.value
    refusal = f"cast(error({literal(_REFUSED + c.column.name)}) as {c.column.sql_type})"
    if c.column.nullable:
        refusal = f"case when not ({c.empty}) then {refusal} end"
    return f"coalesce({c.value}, {refusal})"


def _reader(form: FileFormat, names: Sequence[str], *, skip: int = 0, buffer: int = _SMALL_BUFFER) -> str:
    """DuckDB's reader with everything declared: nothing is sniffed, nothing is typed, nothing is skipped."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv(?, auto_detect=false, header=true, skip={skip}, columns={{{columns}}}, "
        f"delim={literal(form.delimiter)}, "
        f"quote={literal(form.quote)}, escape={literal(form.quote)}, nullstr='', allow_quoted_nulls=true, comment='', "
        f"strict_mode=true, null_padding=false, ignore_errors=false, max_line_size={_LONGEST}, buffer_size={buffer}, "
        f"compression={literal(form.compression)})"
    )


def _buffer(connection: duckdb.DuckDBPyConnection) -> int:
    """How much to read at a time, under this connection's memory cap."""
    row = connection.execute("select parse_formatted_bytes(current_setting('memory_limit'))").fetchone()
    return _SMALL_BUFFER if row is None or int(row[0]) < _SMALL_CAP else _BUFFER


def _readable(file: _File, scratch: Path) -> tuple[Path, FileFormat]:
    """A path that DuckDB reads as this one file of UTF-8.

    Raises:
        UnicodeDecodeError: The file is not in its declared encoding.
    """
    form = file.form
    if codec_of(form) == "utf-8-sig":
        if not any(character in str(file.path) for character in "*?["):
            return file.path.absolute(), form
        scratch.symlink_to(file.path.absolute())  # DuckDB would take the path for a pattern
        return scratch, form
    try:
        with text_of(file.path, form) as text, scratch.open("w", encoding="utf-8", newline="") as out:
            while chunk := text.read(_CHUNK):
                out.write(chunk)
    except PortError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise error.__cause__ from error
        raise
    return scratch, FileFormat("utf-8", form.delimiter, form.quote)


def _file(path: Path, request: TextIngest) -> _File:
    first = header_record(path, request.format)
    if first is None:
        raise PortError("EMPTY_EXTRACT", f"{path.name} has not even a header", hint="ask the vendor for the data")
    trimmed = [name.strip() for name in first.fields]
    if twice := [name for name, count in Counter(trimmed).items() if count > 1]:
        raise _twice(path, f"{trimmed.count(twice[0])} columns named {shown(twice[0])}")
    cells = []
    for column in request.columns:
        known = [name.strip() for name in (column.header, *column.aliases) if name is not None]
        at = [index for index, name in enumerate(trimmed) if name in known]
        index = at[0] if at else None
        if len(at) > 1:
            raise _twice(path, f"columns {', '.join(shown(trimmed[i]) for i in at)} that all stand for {column.name!r}")
        if index is None and column.header is not None:
            raise PortError(
                "MISSING_COLUMN",
                f"{path.name} has no column {' or '.join(shown(name) for name in known)} for {column.name!r}; "
                f"it has {', '.join(shown(name) for name in trimmed[:20])}",
                hint="ask the vendor, or add the new header to the contract",
            )
        if index is None:
            absent = f"cast(null as {column.sql_type})"
            cells.append(Cell(column, absent, absent, None))
        else:
            cells.append(cell(column, f"f{index}"))
    return _File(path, request.format, tuple(first.fields), first.line - 1, tuple(cells))


def _twice(path: Path, what: str) -> PortError:
    return PortError(
        "VALIDATION_ERROR",
        f"{path.name} has {what}; which of them is meant is not declared",
        hint="ask the vendor which column is which",
    )


def _expect_table(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> None:
    """The target is there and holds these columns: a DECIMAL of a smaller scale would round what is put into it."""
    schema, name = request.target.split(".", 1)
    found: dict[str, Any] = dict(
        connection.execute(
            "select column_name, data_type from duckdb_columns() where database_name = current_database() "
            "and schema_name = ? and table_name = ? order by column_index",
            [schema, name],
        ).fetchall()
    )
    if not found:
        raise PortError("TABLE_GONE", f"table {request.target} is not there", hint="create it before it is loaded")
    wrong = [f"{c.name} {c.sql_type}" for c in request.columns if found.get(c.name) != c.sql_type]
    if wrong:
        has = ", ".join(f"{column} {kind}" for column, kind in list(found.items())[:20])
        raise PortError(
            "SCHEMA_DRIFT",
            f"table {request.target} lacks {', '.join(wrong[:20])}; it has {has}",
            hint="create the table from the contract it is loaded by",
        )


def _stream_error(file: _File, error: Exception) -> Exception:
    if "GZIP" not in str(error).upper():
        return error
    return PortError(
        "TRUNCATED_STREAM",
        f"{file.path.name} does not decompress to its end: {str(error).split(chr(10))[0][:160]}",
        hint="ask the vendor to deliver the file again",
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(name: str) -> str:
    schema, table = name.split(".", 1)
    return f"{_quoted(schema)}.{_quoted(table)}"
