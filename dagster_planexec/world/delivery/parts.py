"""The parts of a delivered file: itself, or each data member of an archive. A part has one header and one end."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.text.words import SHOWN, too_large
from dagster_planexec.world.delivery.zipped.archive import BROKEN, archive, broken, data_members
from dagster_planexec.world.delivery.zipped.members import Member
from dagster_planexec.world.ingest import RECORD_KINDS, FileFormat
from dagster_planexec.world.local.regular import without_links

_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Part:
    """Something with records in it."""

    path: Path
    form: FileFormat
    member: str | None = None
    """The member of a zip archive; None: the file itself."""

    @property
    def name(self) -> str:
        """What messages and rejects call it, bounded and without characters that steer a terminal."""
        if self.member is None:
            return self.path.name
        return f"{self.path.name}:{''.join(c if c.isprintable() else '?' for c in self.member[:SHOWN])}"


def parts_of(path: Path, form: FileFormat) -> tuple[Part, ...]:
    """The parts of a file, in order.

    Raises:
        PortError: BAD_CONTRACT if something is declared that its format has not; and as `data_members`.
    """
    wrong = next(_not_of_its_kind(form), None)
    if wrong is not None:
        raise PortError("BAD_CONTRACT", f"{path.name} is {form.kind}, and {wrong}", hint="correct the file contract")
    if form.compression != "zip":
        return (Part(path, form),)
    with open(path, "rb", opener=without_links) as file, archive(file, path.name) as opened:
        return tuple(Part(path, form, member) for member in data_members(opened, form, path.name))


def _not_of_its_kind(form: FileFormat) -> Iterator[str]:
    if form.kind in {"parquet", "xlsx"} and form.compression != "none":
        yield f"its contract declares the compression {form.compression}: it is packed within itself"
    if form.kind in RECORD_KINDS and (form.trailers or form.skip_lines or form.repeated_headers):
        yield "its contract declares trailers, lines to skip or repeated headers: its controls are in its own records"
    if form.kind == "x12" and not form.record:
        yield "its contract does not say which segment makes a row: `record`, e.g. IT1"
    if form.kind == "parquet" and (
        form.trailers or form.skip_lines or form.repeated_headers or form.header is not None
    ):
        yield (
            "its contract declares trailers, lines to skip, repeated headers or no header: it has columns and rows, "
            "and nothing else"
        )


@contextmanager
def raw_bytes(part: Part) -> Iterator[io.BufferedReader]:
    """The bytes of a part, decompressed as declared, whatever follows in further gzip members included.

    Raises:
        PortError: TRUNCATED_STREAM if a compressed file ends early, is damaged, or is no such file at all; while it is
            read, TOO_LARGE beyond the declared `max_bytes`.
    """
    with ExitStack() as opened:
        file = opened.enter_context(open(part.path, "rb", opener=without_links))
        stream: Any = file
        if part.form.compression == "gzip":
            stream = opened.enter_context(gzip.open(file))
        elif part.member is not None:
            stream = opened.enter_context(_member(file, part))
        yield io.BufferedReader(_Bounded(cast("BinaryIO", stream), part), _AT_ONCE)


@contextmanager
def _member(file: BinaryIO, part: Part) -> Iterator[BinaryIO]:
    with archive(file, part.path.name) as opened:
        try:
            stream = Member(file, opened.getinfo(part.member or ""))
        except (*BROKEN, KeyError) as error:
            raise broken(part.name, error) from error
        yield cast("BinaryIO", stream)


class _Bounded(io.RawIOBase):
    """The bytes of a stream, up to as many as are declared."""

    def __init__(self, stream: BinaryIO, part: Part) -> None:
        super().__init__()
        self._stream, self._part, self._read = stream, part, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever the buffered reader hands in
        try:
            piece = self._stream.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise broken(self._part.name, error) from error
        except BROKEN as error:
            if self._part.member is None:
                raise  # the disk, not the file
            raise broken(self._part.name, error) from error
        self._read += len(piece)
        if self._read > self._part.form.max_bytes:
            raise too_large(self._part.name, self._part.form.max_bytes)
        buffer[: len(piece)] = piece
        return len(piece)
