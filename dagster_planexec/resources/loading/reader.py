"""What DuckDB reads a file with: everything declared, nothing sniffed, typed or skipped."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import REFUSED, literal
from dagster_planexec.resources.loading.files import File
from dagster_planexec.resources.loading.formats.parquet import relation
from dagster_planexec.world.delivery.delimited import body_of, codec_of, is_respelt
from dagster_planexec.world.ingest import FileFormat, Trailer

if TYPE_CHECKING:
    import duckdb

_LONGEST = 2_000_000
"""Bytes of a record at most."""
_BUFFER, SMALL_BUFFER = 32_000_000, 8_000_000
"""Bytes that DuckDB reads at a time and per thread; the small ones are slower, and fit under a small memory cap."""
_SMALL_CAP = 1_000_000_000
_STEP, _SAMPLE = 512 * 1024, 64
"""Bytes from one sample of a file to the next, and of a sample."""
_PACKED_STEP, _PACKED_SAMPLE, _PERIOD = 2 * 1024, 512, 4
"""The same of a packed file, and the bytes after which a run repeats itself there. Packed, eight million blank lines
are some 8,000 bytes; a sample is half a million of them."""


def reader_of(form: FileFormat, names: Sequence[str], *, skip: int = 0, buffer: int = SMALL_BUFFER) -> str:
    """DuckDB's reader with everything declared: nothing is sniffed, nothing is typed, nothing is skipped."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    header = "true" if form.header is None else "false"
    return (
        f"read_csv(?, auto_detect=false, header={header}, skip={skip}, columns={{{columns}}}, "
        f"delim={literal(form.delimiter)}, "
        f"quote={literal(form.quote)}, escape={literal(form.quote)}, nullstr='', allow_quoted_nulls=true, comment='', "
        f"strict_mode=true, null_padding=false, ignore_errors=false, max_line_size={_LONGEST}, buffer_size={buffer}, "
        f"compression={literal(form.compression)})"
    )


def buffer_of(connection: duckdb.DuckDBPyConnection) -> int:
    """How much to read at a time, under this connection's memory cap."""
    row = connection.execute("select parse_formatted_bytes(current_setting('memory_limit'))").fetchone()
    return SMALL_BUFFER if row is None or int(row[0]) < _SMALL_CAP else _BUFFER


@dataclass(frozen=True, slots=True)
class Relation:
    """Something to select from: columns `f0`, `f1`, ... of text, in the file's order."""

    sql: str
    """Takes the path as its one parameter."""
    path: Path
    data: str = "true"
    """The SQL condition of the records that are data."""
    trailers: int = 0
    """Records at the end that were left out."""
    gap: bool = False
    """Whether so many blank lines may follow each other that DuckDB's threads, which have a piece of the file each,
    lose the record behind them."""


def straight(file: File, scratch: Path, buffer: int) -> Relation:
    """A part as the fast way reads it.

    Raises:
        UnicodeDecodeError: The file is not in its declared encoding.
    """
    if file.part.form.kind == "parquet":
        return Relation(relation(len(file.header)), file.part.path.absolute())
    path, form, trailers = _readable(file, scratch)
    names = [f"f{index}" for index in range(len(file.header))]
    reader = reader_of(form, names, skip=file.blank_lines, buffer=buffer)
    gap = _has_gap(path, packed=form.compression == "gzip")
    return Relation(reader, path, _is_data(file), trailers, gap)


def _has_gap(path: Path, *, packed: bool) -> bool:
    """Whether some sample of the bytes is line ends only; of packed ones, whether it repeats itself, as those do."""
    step, size = (_PACKED_STEP, _PACKED_SAMPLE) if packed else (_STEP, _SAMPLE)
    with path.open("rb") as file:
        length = file.seek(0, io.SEEK_END)
        return any(
            _is_gap(os.pread(file.fileno(), size, at), packed=packed) for at in range(step, length - size + 1, step)
        )


def _is_gap(sample: bytes, *, packed: bool) -> bool:
    if not packed:
        return not sample.strip(b"\r\n")
    return any(sample[:-width] == sample[width:] for width in range(1, _PERIOD))


def _is_data(file: File) -> str:
    if not file.part.form.repeated_headers:
        return "true"
    same = (f"f{n} is not distinct from nullif({literal(name)}, '')" for n, name in enumerate(file.header))
    return f"not ({' and '.join(same)})"


def _readable(file: File, scratch: Path) -> tuple[Path, FileFormat, int]:
    """A path that DuckDB reads as this one part, in UTF-8 and with nothing on it but header and records."""
    form, path = file.part.form, file.part.path
    if codec_of(form) == "utf-8-sig" and file.part.member is None and not is_respelt(form):
        if not any(character in str(path) for character in "*?["):
            return path.absolute(), form, 0
        scratch.symlink_to(path.absolute())  # DuckDB would take the path for a pattern
        return scratch, form, 0
    ended: list[tuple[Trailer, list[str]]] = []
    try:
        with scratch.open("w", encoding="utf-8", newline="") as out:
            out.writelines(body_of(file.part, ended))
    except PortError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise error.__cause__ from error
        raise
    return scratch, FileFormat("utf-8", form.delimiter, form.quote, header=form.header), len(ended)


def stream_error(file: File, error: Exception) -> Exception:
    """What an error of the stream means: TRUNCATED_STREAM where it does not decompress, else itself."""
    if "GZIP" not in str(error).upper():
        return error
    return PortError(
        "TRUNCATED_STREAM",
        f"{file.name} does not decompress to its end: {str(error).split(chr(10))[0][:160]}",
        hint="ask the vendor to deliver the file again",
    )


def is_cut_off(file: File, error: Exception) -> bool:
    """Whether an error is of the pages of a Parquet file, and not of a cell in them, of the disk or of a deadline."""
    import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

    of_pages = isinstance(error, duckdb.InvalidInputException | duckdb.SerializationException)
    return file.part.form.kind == "parquet" and (of_pages or type(error) is duckdb.Error) and REFUSED not in str(error)
