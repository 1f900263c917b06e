"""The end of a file of delimited text: trailers are its last records, told by their first field, each at most once.

Lines with nothing on them may stand between and below them. A record like one anywhere else is data. For the fast
readers a trailer has a line of its own, among the last 64 thousand characters; where such a line turns out to lie
inside quotes, what is left has an unclosed quote, and the slow reader, which goes record by record, has the word.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dagster_planexec.world.ingest import FileFormat, Trailer

WINDOW = 1 << 16
_MOST_HELD = 1 << 23
"""Characters held back for the sake of blank lines below a trailer."""
_LINE = re.compile(r"[^\r\n]+")


def trailing(firsts: Iterable[str], trailers: Sequence[Trailer]) -> list[Trailer]:
    """Which trailers the records are that begin with these fields, the last record first; up to one that is none."""
    left = sorted(trailers, key=lambda rule: (rule.equals is None, -len(rule.starts_with or "")))
    found: list[Trailer] = []
    for first in firsts:
        rule = next((rule for rule in left if rule.matches(first)), None)
        if rule is None:
            break
        left.remove(rule)
        found.append(rule)
    return found


def dialect(form: FileFormat) -> dict[str, Any]:
    """For the csv module. A declared escape is respelt before it reads."""
    how: dict[str, Any] = {"delimiter": form.delimiter, "strict": True}
    return how | ({"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None})


def without_tail(chunks: Iterable[str], form: FileFormat, ended: list[tuple[Trailer, list[str]]]) -> Iterator[str]:
    """The text without its trailers, in one pass that holds back a window of it; they are put into `ended`."""
    held, whole = "", True
    for chunk in chunks:
        held += chunk
        settled = max(len(held.rstrip("\r\n")) - WINDOW, len(held) - _MOST_HELD)
        if settled > 0:
            yield held[:settled]
            held, whole = held[settled:], False
    at, found = trailers_in(held, form, whole=whole)
    ended += found
    yield held[:at]


def last_records(
    records: Iterable[Any], trailers: Sequence[Trailer], ended: list[tuple[Trailer, Any]]
) -> Iterator[Any]:
    """All records but the trailers, which are put into `ended`, the first of them first.

    Args:
        records: With `fields`; none of them is the header.
        trailers: What the file may end with.
        ended: Where they are put once the last record was read.
    """
    held: deque[Any] = deque()
    for record in records:
        held.append(record)
        if len(held) > len(trailers):
            yield held.popleft()
    found = trailing((record.fields[0] for record in reversed(held)), trailers)
    for _ in range(len(held) - len(found)):
        yield held.popleft()
    ended += zip(reversed(found), held, strict=True)


def trailers_in(text: str, form: FileFormat, *, whole: bool) -> tuple[int, list[tuple[Trailer, list[str]]]]:
    """Where the trailers begin in the end of a file, and each with its fields, the first of them first."""
    at = _lines_of_trailers(text, form, whole=whole)
    rows = [_fields(line[0], form) or [""] for line in at]
    rules = trailing((row[0] for row in rows), form.trailers)
    return (at[-1].start() if at else len(text)), list(zip(rules, rows, strict=True))[::-1]


def _lines_of_trailers(text: str, form: FileFormat, *, whole: bool) -> list[re.Match[str]]:
    """The lines that are trailers, the last first."""
    lines = list(_LINE.finditer(text))
    if not whole or form.header is None:
        lines = lines[1:]  # it may be the rest of a line, or is the header
    candidates = lines[::-1][: len(form.trailers)]
    firsts = []
    for line in candidates:
        fields = _fields(line[0], form)
        if not fields:
            break
        firsts.append(fields[0])
    return candidates[: len(trailing(firsts, form.trailers))]


def _fields(line: str, form: FileFormat) -> list[str]:
    """The fields of a line that stands alone; none if it cannot."""
    try:
        return next(csv.reader([line], **dialect(form)), [])
    except csv.Error:
        return []
