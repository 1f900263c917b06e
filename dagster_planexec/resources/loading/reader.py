"""What DuckDB reads a file with: everything declared, nothing sniffed, typed or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import literal
from dagster_planexec.resources.loading.files import File
from dagster_planexec.world.delivery.delimited import codec_of, text_of
from dagster_planexec.world.ingest import FileFormat

if TYPE_CHECKING:
    import duckdb

_CHUNK = 1 << 20
_LONGEST = 2_000_000
"""Bytes of a record at most."""
_BUFFER, SMALL_BUFFER = 32_000_000, 8_000_000
"""Bytes that DuckDB reads at a time and per thread; the small ones are slower, and fit under a small memory cap."""
_SMALL_CAP = 1_000_000_000


def reader_of(form: FileFormat, names: Sequence[str], *, skip: int = 0, buffer: int = SMALL_BUFFER) -> str:
    """DuckDB's reader with everything declared: nothing is sniffed, nothing is typed, nothing is skipped."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv(?, auto_detect=false, header=true, skip={skip}, columns={{{columns}}}, "
        f"delim={literal(form.delimiter)}, "
        f"quote={literal(form.quote)}, escape={literal(form.quote)}, nullstr='', allow_quoted_nulls=true, comment='', "
        f"strict_mode=true, null_padding=false, ignore_errors=false, max_line_size={_LONGEST}, buffer_size={buffer}, "
        f"compression={literal(form.compression)})"
    )


def buffer_of(connection: duckdb.DuckDBPyConnection) -> int:
    """How much to read at a time, under this connection's memory cap."""
    row = connection.execute("select parse_formatted_bytes(current_setting('memory_limit'))").fetchone()
    return SMALL_BUFFER if row is None or int(row[0]) < _SMALL_CAP else _BUFFER


def readable(file: File, scratch: Path) -> tuple[Path, FileFormat]:
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


def stream_error(file: File, error: Exception) -> Exception:
    """What an error of the stream means: TRUNCATED_STREAM where it does not decompress, else itself."""
    if "GZIP" not in str(error).upper():
        return error
    return PortError(
        "TRUNCATED_STREAM",
        f"{file.path.name} does not decompress to its end: {str(error).split(chr(10))[0][:160]}",
        hint="ask the vendor to deliver the file again",
    )
