"""Delimited text, counted by pyarrow.csv, which is as fast as the loader and was written by others.

Where it cannot decide (it takes an unclosed quote for the end of the file, and cannot name a line) Python's csv module
has the word.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self

from dagster_planexec.world.delivery.delimited import (
    REPEATED,
    TRAILERS,
    bad_encoding,
    body_of,
    codec_of,
    header_record,
    is_respelt,
    marked_codec,
    ragged,
    records,
    undecoded,
)
from dagster_planexec.world.delivery.parts import Part, raw_bytes
from dagster_planexec.world.ingest import Counted
from dagster_planexec.world.probes.delivery.counting.tally import Tally, places, tally_of

_BLOCK = 1 << 20


def count_text(part: Part, counted: Counted | None, at_most: int | None, *, broken: bool) -> Tally:
    """Count the records of a part, and add up.

    Args:
        part: What is read.
        counted: What is added up.
        at_most: Where counting may stop.
        broken: As of `CountExtract`.

    Raises:
        PortError: RAGGED_ROW with its line, BAD_ENCODING, TRUNCATED_STREAM, TOO_LARGE, MISSING_COLUMN (no amount).
    """
    first = header_record(part)
    if first is None:
        return tally_of(counted)
    fast = None if broken else _by_arrow(part, counted, at_most, first.fields)
    return fast or _by_csv(part, counted, at_most, first.fields, broken=broken)


def _by_arrow(part: Part, counted: Counted | None, at_most: int | None, header: Sequence[str]) -> Tally | None:
    """The fast count; None if pyarrow cannot decide."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    from pyarrow import csv  # noqa: PLC0415 - heavy, and only needed here

    if len(header) == 1:
        return None  # an empty line and an empty cell look the same
    at, form, found = places(part, counted, header), part.form, tally_of(counted)
    names = [f"f{index}" for index in range(len(header))]
    cells = [names[index] for index in at]
    wanted = names if form.repeated_headers else list(dict.fromkeys(cells)) or names[:1]
    with _Utf8(part) as source:
        try:
            with (
                csv.open_csv(
                    pa.PythonFile(source, mode="r"),
                    read_options=csv.ReadOptions(
                        column_names=names, skip_rows_after_names=int(form.header is None), block_size=_BLOCK
                    ),
                    parse_options=csv.ParseOptions(
                        delimiter=form.delimiter, quote_char=form.quote or False, newlines_in_values=bool(form.quote)
                    ),
                    convert_options=csv.ConvertOptions(
                        check_utf8=False,  # checked on the way in, and for every column
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        strings_can_be_null=False,
                    ),
                ) as batches,
                ThreadPoolExecutor(max_workers=1) as adder,
            ):
                # One batch is added up while the next is parsed; no more than these two are held.
                adding: Future[None] | None = None
                for read in batches:
                    batch = _without_headers(read, header, found) if form.repeated_headers else read
                    if adding is not None:
                        adding.result()
                    found.rows += batch.num_rows
                    if found.is_enough(at_most):
                        return found
                    if cells:
                        adding = adder.submit(found.amounts.add_batch, [batch.column(name) for name in cells])
                if adding is not None:
                    adding.result()
        except Exception as error:
            if source.error is not None:
                raise source.error from error  # pyarrow may have put another in its place
            if isinstance(error, pa.ArrowInvalid):
                return None
            raise
    if source.quotes % 2:
        return None
    if source.ended:
        found.dropped[TRAILERS] += len(source.ended)
    return found


def _without_headers(batch: Any, header: Sequence[str], found: Tally) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The batch without the records that repeat the header, field by field."""
    import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only needed here

    repeated = pc.equal(batch.column(0), header[0])
    if not pc.any(repeated).as_py():
        return batch
    for index, name in enumerate(header[1:], start=1):
        repeated = pc.and_(repeated, pc.equal(batch.column(index), name))
    kept = batch.filter(pc.invert(repeated))
    if kept.num_rows < batch.num_rows:
        found.dropped[REPEATED] += batch.num_rows - kept.num_rows
    return kept


def _by_csv(part: Part, counted: Counted | None, at_most: int | None, header: Sequence[str], *, broken: bool) -> Tally:
    """The slow count, which names the line of what is wrong."""
    at, found = places(part, counted, header), tally_of(counted)
    all_records = records(part, errors="surrogateescape" if broken else "strict", dropped=found.dropped)
    next(all_records)
    for record in all_records:
        fits = len(record.fields) == len(header)
        if not fits and not broken:
            raise ragged(part, record, len(header))
        found.rows += 1
        if found.is_enough(at_most):
            break
        if broken and not (fits and not any(undecoded(text) for text in record.fields)):
            found.amounts.skip()
        elif at:
            found.amounts.add([record.fields[index] for index in at])
    return found


class _Utf8(io.RawIOBase):
    """The text of a part as UTF-8, decoded strictly on the way; counts quotes."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        self.quotes = 0
        self.ended: list[Any] = []
        self.error: Exception | None = None
        self._part = part
        self._quote = part.form.quote.encode()
        self._opened = ExitStack()
        self._started = self._ended = False

    def __enter__(self) -> Self:
        if is_respelt(self._part.form):
            pieces: Iterator[bytes] = (text.encode() for text in body_of(self._part, self.ended))
        else:
            pieces = self._decoded()
        self._pieces, self._left = pieces, b""
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def _decoded(self) -> Iterator[bytes]:
        stream = self._opened.enter_context(raw_bytes(self._part))
        codec = codec_of(self._part.form)
        decoder = codecs.getincrementaldecoder(marked_codec(self._part.form, stream))("strict")
        while chunk := stream.read(_BLOCK):
            text = decoder.decode(chunk)
            yield chunk if codec == "utf-8-sig" else text.encode()
        decoder.decode(b"", final=True)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes of the text."""
        try:
            return self._read(size)
        except UnicodeDecodeError as error:
            self.error = bad_encoding(self._part, error)
            raise
        except Exception as error:
            self.error = error
            raise

    def _read(self, size: int) -> bytes:
        while not self._left and not self._ended:
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
                break
            if not self._started:  # to pyarrow the first line is the header, also a blank one
                piece = piece.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
                self._started = bool(piece)
            if self._quote:
                self.quotes += piece.count(self._quote)
            self._left = piece
        out, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        return out

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever pyarrow hands in
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
