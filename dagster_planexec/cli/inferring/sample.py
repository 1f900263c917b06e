"""A sample of a file that nothing is declared of yet: how it seems to be packed, encoded and delimited.

Everything here is a guess. It is made to be read by a person, and nothing is ever loaded by it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from dagster_planexec.cli.inferring.seen import MOST_RECORDS, Sample
from dagster_planexec.cli.inferring.tables import sample_of_table
from dagster_planexec.cli.inferring.tails import without_tail
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.ingest import Compression
from dagster_planexec.world.local.regular import open_named

MOST_BYTES = 8 * 1024 * 1024
"""Bytes, decoded, that a sample is made of."""
_DELIMITERS = (",", ";", "\t", "|")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""The longer ones first: UTF-16's begins UTF-32's."""
_OTHERS = ("cp1252", "latin-1", "cp1250", "cp850")
"""Encodings in which any bytes are text, so nothing but a reader can tell them apart."""
_TEXTS = (".csv", ".tsv")
_BESIDE = ("readme", "license", "licence", "about", "index", "manifest")
"""What members of an archive that hold data are mostly called; and what is mostly called so that lies beside them."""


def read_sample(path: Path) -> Sample:
    """Read the beginning of a file of delimited text, packed or not.

    Raises:
        PlanexecError: FILE_GONE, EMPTY_EXTRACT, VALIDATION_ERROR if it is no delimited text.
    """
    if (table := sample_of_table(path)) is not None:
        return table
    compression, raw, is_whole, members, ignored = _unpacked(path)
    if not raw.strip():
        raise PlanexecError(
            "EMPTY_EXTRACT",
            f"{path.name[:80]} is empty: nothing can be drafted from it",
            hint="draft from the file of a month that has lines",
        )
    encoding, text, notes = _decoded(raw, is_whole=is_whole)
    if "\0" in text:
        raise PlanexecError(
            "VALIDATION_ERROR", f"{path.name[:80]} is no delimited text: it holds NUL characters",
            hint="draft from a CSV, TSV, gzip or zip of one; UTF-16 needs its byte order mark",
        )  # fmt: skip
    lines = io.StringIO(text, newline="").readlines()
    if not is_whole:
        lines = lines[:-1]  # cut in the middle
    try:
        delimiter, skipped = _framed(lines)
        found = [tuple(r) for r in csv.reader(lines[skipped:], delimiter=delimiter) if r]
    except csv.Error as error:
        raise PlanexecError(
            "VALIDATION_ERROR", f"{path.name[:80]} is no delimited text: {str(error)[:120]}",
            hint="draft from a file with line ends, of cells below 128 kB",
        ) from error  # fmt: skip
    header, body = found[0], found[1 : MOST_RECORDS + 1]
    if not body:
        raise PlanexecError(
            "EMPTY_EXTRACT",
            f"{path.name[:80]}{f': member {shown(members[0])}' if members else ''} has a header and no record: "
            "nothing can be drafted from it",
            hint="draft from the file of a month that has lines",
        )  # fmt: skip
    is_whole = is_whole and len(found) <= MOST_RECORDS + 1
    data, tail = without_tail(body, len(header)) if is_whole else (body, ())
    fitting = tuple(record for record in data if len(record) == len(header))
    return Sample(
        path.name, compression, encoding, delimiter, header, fitting, skipped, tail, len(data) - len(fitting), is_whole,
        members, ignored, notes=(*notes, *_of_members(members)),
    )  # fmt: skip


def _of_members(members: Sequence[str]) -> Iterator[str]:
    if len(members) > 1:
        yield f"the sample is of the member {shown(members[0])}; {len(members) - 1} more were not looked at"


def _unpacked(path: Path) -> tuple[Compression, bytes, bool, tuple[str, ...], tuple[str, ...]]:
    try:
        with open_named(path) as file:
            head = file.peek(4)[:4]
            if head[:2] == b"\x1f\x8b":
                raw = _bounded(gzip.GzipFile(fileobj=file))
                return "gzip", *raw, (), ()
            if head == b"PK\x03\x04":
                return _unzipped(path)
            return "none", *_bounded(file), (), ()
    except FileNotFoundError as error:
        raise PlanexecError("FILE_GONE", f"there is no file {path.name[:80]!r}", hint="name a file") from error
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise PlanexecError(
            "VALIDATION_ERROR", f"{path.name[:80]!r} cannot be read: {said[:120]}",
            hint="name a plain file that is whole: CSV, TSV, gzip or zip of one, XLSX, Parquet",
        ) from error  # fmt: skip


def _unzipped(path: Path) -> tuple[Compression, bytes, bool, tuple[str, ...], tuple[str, ...]]:
    with zipfile.ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        data = [n for n in names if not n.startswith("__MACOSX/") and not n.rpartition("/")[2].startswith(".")]
        data = [n for n in data if not n.rpartition("/")[2].lower().startswith(_BESIDE)] or data
        data = [n for n in data if n.lower().endswith(_TEXTS)] or data
        if not data:
            raise zipfile.BadZipFile("no member seems to be data")
        data.sort(key=lambda name: -archive.getinfo(name).file_size)  # the sample is of the longest
        with archive.open(data[0]) as member:
            raw, is_whole = _bounded(member)
    return "zip", raw, is_whole, tuple(data), tuple(name for name in names if name not in data)


def _bounded(stream: IO[bytes] | gzip.GzipFile) -> tuple[bytes, bool]:
    raw = stream.read(MOST_BYTES + 1)
    return raw[:MOST_BYTES], len(raw) <= MOST_BYTES


def _decoded(raw: bytes, *, is_whole: bool) -> tuple[str, str, list[str]]:
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return name, raw.decode("utf-8-sig" if name == "utf-8" else name, errors="replace"), []
    try:
        # A character may be cut where the sample ends.
        return "utf-8", codecs.getincrementaldecoder("utf-8")("strict").decode(raw, final=is_whole), []
    except UnicodeDecodeError as error:
        line = raw[max(0, raw.rfind(b"\n", 0, error.start) + 1) : error.start + 20]
        read = [(name, line.decode(name, errors="replace").splitlines()[0]) for name in _OTHERS]
        seen = "; ".join(f"{name} reads {shown(text)}" for name, text in read)
        note = f"encoding: the bytes are no UTF-8, and what they are cannot be told from them: {seen}"
        return "cp1252", raw.decode("latin-1").encode("latin-1").decode("cp1252", errors="replace"), [note]


def _framed(lines: Sequence[str]) -> tuple[str, int]:
    """The delimiter and the lines above the header: whatever makes the most records of one width above one."""
    best = (0.0, ",", 0)
    for delimiter in _DELIMITERS:
        records = list(_widths(lines[:2000], delimiter))
        if not records:
            continue
        width, count = Counter(width for width, _ in records).most_common(1)[0]
        if width > 1 and (score := count / len(records) * width**0.5) > best[0]:
            best = (score, delimiter, next(line for found, line in records if found == width))
    return best[1], best[2]


def _widths(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, int]]:
    """Fields of each record, and the lines before it: a record may go over several."""
    reader, before = csv.reader(lines, delimiter=delimiter), 0
    with suppress(csv.Error):  # a wide record is one field to the delimiters that are not its own
        for record in reader:
            if record:
                yield len(record), before
            before = reader.line_num
