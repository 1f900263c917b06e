"""ANSI X12 interchanges (an 810 is an invoice), read as records of the columns that a contract names.

A header names an element by its segment and position: `IT102` is the second element of IT1, `BIG02` of BIG. Two with a
star between them are multiplied: `IT102*IT104` is quantity times price. One record is made of each segment of the kind
that is declared (IT1, TDS, ...); elements of other segments are those that came last before it in the same invoice.

Every segment has its place: interchanges (ISA to IEA) hold groups (GS to GE), groups hold invoices (ST to SE), and
everything else stands in an invoice. What stands elsewhere is counted by no control record, so it is refused.
"""

from __future__ import annotations

import decimal
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TextIO

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.delimited import Record
from dagster_planexec.world.delivery.records.stated import CUT, Stated, whole
from dagster_planexec.world.delivery.text.words import shown

_ISA = 106
"""Characters of the first segment with its terminator; it is the only one of fixed length, and says the separators."""
_LONGEST = 100_000
"""Characters of a segment at most."""
_CLOSES = {"SE": "ST", "GE": "GS", "IEA": "ISA"}
_WITHIN: dict[str, str | None] = {"ST": "GS", "GS": "ISA", "ISA": None}
"""What may be open when one of these opens."""
_OF_AN_INTERCHANGE = frozenset(["ISB", "ISE", "ISX", "TA1", "TA3"])
"""Segments that stand between ISA and the groups."""
_IDENTIFIER = re.compile(r"[A-Z][A-Z0-9]{1,2}\Z")
_ELEMENT = re.compile(r"([A-Z][A-Z0-9]{1,2})([0-9]{2})\Z")
_NUMBER = re.compile(r"-?(?:[0-9]{1,30}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\Z")
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: its elements (the first is its identifier), and the physical line on which it starts."""

    line: int
    elements: tuple[str, ...]

    @property
    def id(self) -> str:
        """`IT1`."""
        return self.elements[0]

    def element(self, at: int) -> str:
        """The element at a position from 1; empty if the segment ends before it."""
        return self.elements[at] if at < len(self.elements) else ""


@dataclass(slots=True)
class _Nesting:
    """Which envelopes are open as the segments pass by, the outermost first."""

    name: str
    _open: list[Segment] = field(default_factory=list)

    def pass_by(self, segment: Segment) -> None:
        """Open and close.

        Raises:
            PortError: RAGGED_ROW for what is no segment, CONTROL_TOTAL_MISMATCH for one out of its place.
        """
        kind, inside = segment.id, self._open[-1].id if self._open else None
        if not _IDENTIFIER.match(kind):
            raise self._refused("RAGGED_ROW", segment, "is none: an identifier is two or three capitals and digits")
        if kind in _CLOSES:
            if inside != _CLOSES[kind]:
                raise self._misplaced(segment, f"closes no {_CLOSES[kind]}")
            self._open.pop()
        elif kind in _WITHIN:
            if inside != _WITHIN[kind]:
                raise self._misplaced(
                    segment, f"opens outside {_WITHIN[kind]}" if inside is None else "opens too early"
                )
            self._open.append(segment)
        elif inside != "ST" and not (inside == "ISA" and kind in _OF_AN_INTERCHANGE):
            raise self._misplaced(segment, "stands outside an invoice, which is ST to SE")

    def _misplaced(self, segment: Segment, what: str) -> PortError:
        last = f"{self._open[-1].id} of line {self._open[-1].line} is open" if self._open else "nothing is open"
        return self._refused("CONTROL_TOTAL_MISMATCH", segment, f"{what}, and {last}")

    def _refused(self, code: str, segment: Segment, what: str) -> PortError:
        text = f"{self.name[:80]}: segment {shown(segment.id)} on line {segment.line} {what}"
        return PortError(code, text, hint="ask the vendor to deliver the file again")


@dataclass(slots=True)
class Controls:
    """Counts as the segments pass by, and what the file states of them."""

    stated: list[Stated] = field(default_factory=list)
    _since: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _open: dict[str, str] = field(default_factory=dict)

    def pass_by(self, segment: Segment) -> None:
        """Take note of one segment."""
        kind = segment.id
        self._since += 1
        match kind:
            case "ISA":
                self._open["ISA"], self._counts["GS"] = segment.element(13), 0
            case "GS":
                self._open["GS"], self._counts["ST"] = segment.element(6), 0
            case "ST":
                self._open["ST"], self._since, self._counts["IT1"] = segment.element(2), 1, 0
            case "CTT":
                self._state("CTT01, IT1 segments", segment, segment.element(1), self._counts["IT1"])
            case "SE":
                self._state("SE01, segments from ST to SE", segment, segment.element(1), self._since)
                self._same("SE02, control number of ST02", segment, segment.element(2), self._open.pop("ST", ""))
            case "GE":
                self._state("GE01, ST segments", segment, segment.element(1), self._counts["ST"])
                self._same("GE02, control number of GS06", segment, segment.element(2), self._open.pop("GS", ""))
            case "IEA":
                self._state("IEA01, GS segments", segment, segment.element(1), self._counts["GS"])
                self._same("IEA02, control number of ISA13", segment, segment.element(2), self._open.pop("ISA", ""))
        self._counts[kind] += 1

    def end(self, line: int) -> None:
        """The file has ended: what is still open was cut off."""
        closes = {"ST": "SE", "GS": "GE", "ISA": "IEA"}
        for kind in ("ST", "GS", "ISA"):
            if kind in self._open:
                self.stated.append(Stated(f"{closes[kind]}, which closes {kind}", line, closes[kind], CUT))

    def _state(self, name: str, segment: Segment, stated: str, found: int) -> None:
        self.stated.append(Stated(name, segment.line, whole(stated), str(found)))

    def _same(self, name: str, segment: Segment, stated: str, found: str) -> None:
        self.stated.append(Stated(name, segment.line, whole(stated), whole(found)))


def segments(text: TextIO, name: str) -> Iterator[Segment]:
    """Every segment of an interchange.

    Args:
        text: The decoded file, with the line ends it has.
        name: The file's name, for messages.

    Raises:
        PortError: RAGGED_ROW for what is no interchange, or a segment without an end.
    """
    head = text.read(_ISA)
    if len(head) < _ISA or not head.startswith("ISA"):
        raise PortError(
            "RAGGED_ROW", f"{name[:80]} does not begin with an ISA segment of {_ISA} characters: {shown(head)}",
            hint="an X12 interchange begins so; look at what was delivered",
        )  # fmt: skip
    separator, terminator = head[3], head[_ISA - 1]
    line, rest = 1, head
    while True:
        *whole_ones, rest = rest.split(terminator)
        for one in whole_ones:
            body = one.lstrip("\r\n")
            line += one[: len(one) - len(body)].count("\n")
            if body.strip():
                yield Segment(line, tuple(part.strip() for part in body.rstrip("\r").split(separator)))
            line += body.count("\n") + terminator.count("\n")
        if len(rest) > _LONGEST:
            raise PortError(
                "RAGGED_ROW", f"{name[:80]}: the segment on line {line} does not end: {shown(rest)}",
                hint=f"its terminator is {terminator!r}, which the ISA segment declares",
            )  # fmt: skip
        more = text.read(1 << 16)
        if not more:
            break
        rest += more
    if rest.strip() and terminator in "\r\n":  # the last line of a text needs no end
        yield Segment(line, tuple(part.strip() for part in rest.strip("\r\n").split(separator)))
    elif rest.strip():
        raise PortError(
            "TRUNCATED_STREAM", f"{name[:80]}: the last segment, on line {line}, has no terminator: {shown(rest)}",
            hint="ask the vendor to deliver the file again",
        )  # fmt: skip


def records_of(
    text: TextIO, name: str, record: str, headers: Sequence[str], controls: Controls | None = None
) -> Iterator[Record]:
    """One record of every segment of a kind.

    Args:
        text: The decoded file.
        name: Its name, for messages.
        record: The kind of segment that makes a record.
        headers: What each field is.
        controls: Takes note of every segment, if given; complete when the iteration has ended.

    Raises:
        PortError: As `segments`; BAD_CONTRACT for a header that names no element; CONTROL_TOTAL_MISMATCH for a segment
            out of its place. That the file ends too early is for the controls to say.
    """
    wanted, nesting = [_parts(header) for header in headers], _Nesting(name)
    last: dict[str, Segment] = {}
    line = 1
    for segment in segments(text, name):
        line = segment.line
        nesting.pass_by(segment)
        if controls is not None:
            controls.pass_by(segment)
        if segment.id in {"ISA", "GS", "ST"}:
            last = {kind: one for kind, one in last.items() if kind in {"ISA", "GS"}}
        last[segment.id] = segment
        if segment.id == record:
            yield Record(segment.line, [_value(last, parts) for parts in wanted])
    if controls is not None:
        controls.end(line)


def _parts(header: str) -> tuple[tuple[str, int], ...]:
    found = [_ELEMENT.match(part) for part in header.strip().split("*")]
    if not all(found) or len(found) > 2:  # noqa: PLR2004 - one element, or two that are multiplied
        raise PortError(
            "BAD_CONTRACT", f"header {header[:40]!r} names no element of a segment",
            hint="write segment and position, e.g. IT102, or two with a star between them, e.g. IT102*IT104",
        )  # fmt: skip
    return tuple((one[1], int(one[2])) for one in found if one is not None)


def _value(last: dict[str, Segment], parts: tuple[tuple[str, int], ...]) -> str:
    texts = [last[kind].element(at) if kind in last else "" for kind, at in parts]
    if len(texts) == 1:
        return texts[0]
    if not all(_NUMBER.match(text) for text in texts):
        return "*".join(texts) if any(texts) else ""  # no number, and so refused where an amount is expected
    return f"{_EXACT.multiply(Decimal(texts[0]), Decimal(texts[1])):f}"
