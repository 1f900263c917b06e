"""Delimited text, read record by record with Python's csv module: headers, and the exact line where a record starts.

A record is what stands between line ends outside quotes. A line with nothing on it is not a record, wherever it stands;
the first record is the header, unless the format has none. Compressed files are read through all their members.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, MutableMapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Literal

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part, raw_bytes
from dagster_planexec.world.delivery.tail import dialect, last_records, without_tail
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.ingest import FileFormat, Trailer

Errors = Literal["strict", "surrogateescape"]
LONGEST_LINE = 4_000_000
"""Characters of a physical line that are read at all."""
TRAILERS, REPEATED = "trailers", "repeated headers"
"""What records that are no data are counted under."""
_CHUNK = 1 << 18
_NO_ENCODINGS = frozenset(
    ["idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"]
)
"""Codecs of text that are no encodings of files: of names in the net, of source code, of whatever machine reads, of
mail. The last makes halves of characters, which no table holds."""
_BY_MARK = {"utf-16": ("utf-16-le", "utf-16-be"), "utf-32": ("utf-32-le", "utf-32-be")}
_MARKS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and the physical line (from 1) on which it starts; 0 for a header that is declared."""

    line: int
    fields: list[str]


def codec_named(encoding: str) -> str | None:
    """The canonical name of an encoding; `utf-8` drops a byte order mark (`utf-8-sig`). None: no text has it."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # refuses codecs such as `hex`, which are not text encodings
    except (LookupError, ValueError):
        return None
    if name.replace("_", "-") in _NO_ENCODINGS:
        return None
    return "utf-8-sig" if name == "utf-8" else name


def no_encoding(encoding: str) -> str:
    """What is said of a name that no text encoding has."""
    return f"encoding {encoding[:40]!r} is not known; expected a Python text codec such as utf-8 or latin-1"


def codec_of(form: FileFormat) -> str:
    """As `codec_named`.

    Raises:
        PortError: BAD_CONTRACT if there is no text encoding of that name.
    """
    codec = codec_named(form.encoding)
    if codec is None:
        raise PortError("BAD_CONTRACT", no_encoding(form.encoding), hint="correct `encoding` in the file contract")
    return codec


def marked_codec(form: FileFormat, stream: io.BufferedReader) -> str:
    """The codec for a stream that is at its start: one that drops the byte order mark, if there is one.

    Raises:
        PortError: BAD_ENCODING if the declared one says which byte comes first by a mark only, and there is none.
    """
    codec = codec_of(form)
    if codec in _BY_MARK:
        start = stream.peek(4)[:4]
        if start and not any(start.startswith(_MARKS[one]) for one in _BY_MARK[codec]):
            raise PortError(
                "BAD_ENCODING",
                f"the file begins with {start.hex(' ')}, not with the byte order mark of {codec}, which its contract "
                "declares",
                hint=f"declare {' or '.join(_BY_MARK[codec])}, whichever the vendor writes",
            )
    mark = _MARKS.get(codec)
    return codec[:6] if mark is not None and stream.peek(len(mark))[: len(mark)] == mark else codec


def is_respelt(form: FileFormat) -> bool:
    """Whether the text is not read as it is: lines above it, trailers below it, or quotes escaped by a sign."""
    return bool(form.skip_lines or form.trailers or _escape(form))


@contextmanager
def text_of(part: Part, *, errors: Errors = "strict") -> Iterator[io.TextIOWrapper]:
    """The characters of a part, decoded as declared, with the line ends it has.

    Raises:
        PortError: BAD_ENCODING with the byte position; TRUNCATED_STREAM; BAD_CONTRACT.
    """
    with raw_bytes(part) as stream:
        try:
            codec = marked_codec(part.form, stream)
            yield io.TextIOWrapper(stream, encoding=codec, errors=errors, newline="")
        except UnicodeDecodeError as error:
            raise bad_encoding(part, error) from error


def body_of(part: Part, ended: list[tuple[Trailer, list[str]]] | None = None) -> Iterator[str]:
    """The text in pieces: without what stands above the header, without trailers, with quotes escaped by quotes.

    Args:
        part: What is read.
        ended: Where the trailers are put, with their fields.

    Raises:
        PortError: As `text_of`.
    """
    with text_of(part) as text:
        pieces = _body(text, part)
        yield from without_tail(pieces, part.form, [] if ended is None else ended) if part.form.trailers else pieces


def trailers_of_text(part: Part) -> list[tuple[Trailer, list[str]]]:
    """The trailers of a part with their fields, the first of them first. Raises as `records`."""
    found: list[tuple[Trailer, list[str]]] = []
    quote = part.form.quote
    quotes = sum(piece.count(quote) for piece in body_of(part, found) if quote)
    if quotes % 2 == 0:
        return found
    ended: list[tuple[Trailer, Record]] = []
    for _ in records(part, ended=ended):
        pass
    return [(rule, record.fields) for rule, record in ended]


def bad_encoding(part: Part, error: UnicodeDecodeError) -> PortError:
    """What to say of bytes that are not text in the declared encoding."""
    seen = error.object[error.start : error.start + 8].hex(" ")
    return PortError(
        "BAD_ENCODING",
        f"{part.name} does not decode as {part.form.encoding}, which its contract declares: "
        f"{error.reason} at bytes {seen}",
        hint="declare the encoding the file really has",
    )


def records(
    part: Part,
    *,
    errors: Errors = "strict",
    ended: list[tuple[Trailer, Record]] | None = None,
    dropped: MutableMapping[str, int] | None = None,
) -> Generator[Record, None, None]:
    """Every record that is data, the header first.

    Args:
        part: What is read.
        errors: What becomes of bytes that are no text.
        ended: Where the trailers are put.
        dropped: Where records that are no data are counted.

    Raises:
        PortError: RAGGED_ROW with the line where quoting breaks the file; and as `text_of`.
    """
    ended, dropped = ([] if ended is None else ended), (Counter[str]() if dropped is None else dropped)
    found = _all_records(part, errors)
    header = Record(0, list(part.form.header)) if part.form.header is not None else next(found, None)
    if header is None:
        return
    yield header
    for record in last_records(found, part.form.trailers, ended):
        if part.form.repeated_headers and record.fields == header.fields:
            dropped[REPEATED] = dropped.get(REPEATED, 0) + 1
        else:
            yield record
    if ended:
        dropped[TRAILERS] = dropped.get(TRAILERS, 0) + len(ended)


def _all_records(part: Part, errors: Errors) -> Iterator[Record]:
    with text_of(part, errors=errors) as text:
        skipped = _skip(text, part)
        reader = csv.reader(_lines(text, part), **dialect(part.form))
        before = 0
        try:
            for fields in reader:
                if fields:
                    yield Record(skipped + before + 1, fields)
                before = reader.line_num
        except csv.Error as error:
            raise PortError(
                "RAGGED_ROW",
                f"{part.name}: the record that starts on line {skipped + before + 1} cannot be read: "
                f"{str(error)[:120]}",
                hint="look at the line; an unclosed quote is the usual cause, or a cell of more than "
                f"{csv.field_size_limit():,} characters",
            ) from error


def header_record(part: Part) -> Record | None:
    """The first record as the file has it, or None if there is none. Raises as `records`."""
    # Decoding runs ahead of the first record: bytes further down are not the header's fault.
    with closing(records(part, errors="surrogateescape")) as found:
        first = next(found, None)
    if first is not None and any(undecoded(name) for name in first.fields):
        raise PortError(
            "BAD_ENCODING",
            f"{part.name}: the header does not decode as {part.form.encoding}, which its contract declares",
            hint="declare the encoding the file really has",
        )
    return first


def undecoded(text: str) -> bool:
    """Whether some of its bytes were not text in the declared encoding (read with `surrogateescape`)."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def ragged(part: Part, record: Record, width: int) -> PortError:
    """What to say of a record with another number of fields than the header."""
    return PortError(
        "RAGGED_ROW",
        f"{part.name}: line {record.line} has {len(record.fields)} fields, the header has {width}: "
        + shown(",".join(record.fields)),
        hint="look at the line; an unquoted delimiter is the usual cause",
    )


def _lines(text: io.TextIOWrapper, part: Part) -> Iterator[str]:
    """The physical lines. A compressed file can hold a line of any length, so none is read without a bound."""
    escape = _escape(part.form)
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise _long(part, line)
        yield _respelt(line, part.form) if escape and escape in line else line


def _body(text: io.TextIOWrapper, part: Part) -> Iterator[str]:
    _skip(text, part)
    pieces = iter(lambda: text.read(_CHUNK), "")
    return _all_respelt(pieces, part.form) if _escape(part.form) else pieces


def _skip(text: io.TextIOWrapper, part: Part) -> int:
    """Pass over the lines above the header; how many there were."""
    for skipped in range(part.form.skip_lines):
        line = text.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise _long(part, line)
        if not line:
            return skipped
    return part.form.skip_lines


def _long(part: Part, line: str) -> PortError:
    return PortError(
        "RAGGED_ROW", f"{part.name}: a line has more than {LONGEST_LINE} characters: {shown(line)}",
        hint="look at the file; delimited text has line ends",
    )  # fmt: skip


def _escape(form: FileFormat) -> str:
    return form.escape if form.quote and form.escape != form.quote else ""


def _respelt(text: str, form: FileFormat) -> str:
    """A quote that is escaped by a sign, as a doubled one; the sign before itself stands for itself, else it is text.

    The readers there are differ in what else an escape may do. So none of them is asked.
    """

    def plain(found: re.Match[str]) -> str:
        return form.quote * 2 if found[1] == form.quote else form.escape

    return re.sub(f"{re.escape(form.escape)}([{re.escape(form.escape + form.quote)}])", plain, text)


def _all_respelt(pieces: Iterable[str], form: FileFormat) -> Iterator[str]:
    held = ""
    for piece in pieces:
        text = held + piece
        whole = text.rstrip(form.escape)  # what it stands before may be in the next piece
        held = text[len(whole) :]
        yield _respelt(whole, form)
    yield _respelt(held, form)
