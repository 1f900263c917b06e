"""Delimited text, read record by record with Python's csv module: headers, and the exact line where a record starts.

A record is what stands between line ends outside quotes. A line with nothing on it is not a record, wherever it stands;
the first record is the header. Compressed files are read through all their members.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.local.regular import without_links

_AT_ONCE = 1 << 18
LONGEST_LINE = 4_000_000
"""Characters of a physical line that are read at all."""
SHOWN = 80
"""Characters of a cell that are ever shown or stored."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and the physical line (from 1) on which it starts."""

    line: int
    fields: list[str]


def shown(text: str) -> str:
    """Text of a file, quoted and bounded, so that it can stand in a message."""
    return repr(text[:SHOWN]) + ("..." if len(text) > SHOWN else "")


def codec_of(form: FileFormat) -> str:
    """The canonical name of the declared encoding; `utf-8` drops a byte order mark (`utf-8-sig`).

    Raises:
        PortError: BAD_CONTRACT if there is no text encoding of that name.
    """
    try:
        info = codecs.lookup(form.encoding)
        "".encode(info.name)  # refuses codecs such as `hex`, which are not text encodings
    except (LookupError, ValueError) as error:
        raise PortError(
            "BAD_CONTRACT",
            f"encoding {form.encoding[:40]!r} is not known; expected a Python text codec such as utf-8 or latin-1",
            hint="correct `encoding` in the file contract",
        ) from error
    return "utf-8-sig" if info.name == "utf-8" else info.name


@contextmanager
def raw_bytes(path: Path, form: FileFormat) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed as declared, whatever follows in further members included.

    Raises:
        PortError: TRUNCATED_STREAM if a compressed file ends early, is damaged, or is no gzip file at all; while it is
            read, TOO_LARGE beyond the declared `max_bytes`.
    """
    with open(path, "rb", opener=without_links) as file, ExitStack() as opened:
        decoded = opened.enter_context(gzip.open(file)) if form.compression == "gzip" else file
        stream = io.BufferedReader(_Bounded(cast("BinaryIO", decoded), path.name, form.max_bytes), _AT_ONCE)
        try:
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise PortError(
                "TRUNCATED_STREAM",
                f"{path.name} does not decompress to its end: {str(error)[:120]}",
                hint="ask the vendor to deliver the file again",
            ) from error


class _Bounded(io.RawIOBase):
    """The bytes of a stream, up to as many as are declared."""

    def __init__(self, stream: BinaryIO, name: str, most: int) -> None:
        super().__init__()
        self._stream, self._name, self._most, self._read = stream, name, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever the buffered reader hands in
        piece = self._stream.read(len(buffer))
        self._read += len(piece)
        if self._read > self._most:
            raise too_large(self._name, self._most)
        buffer[: len(piece)] = piece
        return len(piece)


def too_large(name: str, most: int) -> PortError:
    """What to say of a file that is longer, decoded, than its contract allows."""
    return PortError(
        "TOO_LARGE", f"{name[:80]} holds more than {most:,} bytes once it is decoded, which its contract allows",
        hint="ask the vendor what it is; if it is rightly as long, raise `max_bytes` in the file contract",
    )  # fmt: skip


@contextmanager
def text_of(
    path: Path, form: FileFormat, *, errors: Literal["strict", "surrogateescape"] = "strict"
) -> Iterator[io.TextIOWrapper]:
    """The characters of a file, decoded as declared, with the line ends it has.

    Raises:
        PortError: BAD_ENCODING with the byte position; TRUNCATED_STREAM; BAD_CONTRACT.
    """
    codec = codec_of(form)
    with raw_bytes(path, form) as stream:
        try:
            yield io.TextIOWrapper(stream, encoding=codec, errors=errors, newline="")
        except UnicodeDecodeError as error:
            raise bad_encoding(path, form, error) from error


def bad_encoding(path: Path, form: FileFormat, error: UnicodeDecodeError) -> PortError:
    """What to say of bytes that are not text in the declared encoding."""
    seen = error.object[error.start : error.start + 8].hex(" ")
    return PortError(
        "BAD_ENCODING",
        f"{path.name} does not decode as {form.encoding}, which its contract declares: {error.reason} at bytes {seen}",
        hint="declare the encoding the file really has",
    )


def records(
    path: Path, form: FileFormat, *, errors: Literal["strict", "surrogateescape"] = "strict"
) -> Generator[Record, None, None]:
    """Every record, the header first.

    Raises:
        PortError: RAGGED_ROW with the line where quoting breaks the file; and as `text_of`.
    """
    with text_of(path, form, errors=errors) as text:
        reader = csv.reader(_lines(text, path), delimiter=form.delimiter, quotechar=form.quote, strict=True)
        before = 0
        try:
            for fields in reader:
                if fields:
                    yield Record(before + 1, fields)
                before = reader.line_num
        except csv.Error as error:
            raise PortError(
                "RAGGED_ROW",
                f"{path.name}: the record that starts on line {before + 1} cannot be read: {str(error)[:120]}",
                hint="look at the line; an unclosed quote is the usual cause",
            ) from error


def header_record(path: Path, form: FileFormat) -> Record | None:
    """The first record as the file has it, or None if there is none. Raises as `records`."""
    # Decoding runs ahead of the first record: bytes further down are not the header's fault.
    with closing(records(path, form, errors="surrogateescape")) as found:
        first = next(found, None)
    if first is not None and any(undecoded(name) for name in first.fields):
        raise PortError(
            "BAD_ENCODING",
            f"{path.name}: the header does not decode as {form.encoding}, which its contract declares",
            hint="declare the encoding the file really has",
        )
    return first


def _lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    """The physical lines. A compressed file can hold a line of any length, so none is read without a bound."""
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise PortError(
                "RAGGED_ROW", f"{path.name}: a line has more than {LONGEST_LINE} characters: {shown(line)}",
                hint="look at the file; delimited text has line ends",
            )  # fmt: skip
        yield line


def header_of(path: Path, form: FileFormat) -> tuple[str, ...]:
    """The names in the header, untrimmed; none for a file without a record. Raises as `records`."""
    first = header_record(path, form)
    return tuple(first.fields) if first else ()


def undecoded(text: str) -> bool:
    """Whether some of its bytes were not text in the declared encoding (read with `surrogateescape`)."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def ragged(path: Path, record: Record, width: int) -> PortError:
    """What to say of a record with another number of fields than the header."""
    return PortError(
        "RAGGED_ROW",
        f"{path.name}: line {record.line} has {len(record.fields)} fields, the header has {width}: "
        + shown(",".join(record.fields)),
        hint="look at the line; an unquoted delimiter is the usual cause",
    )
