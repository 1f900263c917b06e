"""NACHA files (ACH payments): fixed lines of 94 characters, of which entries become records.

The headers that a contract may name are those of `FIELDS`; amounts are whole cents. Every line has its place: one file
header, batches (5 to 8) of entries and their addenda, one file control, and lines of nines. A line elsewhere is counted
by no control, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.delimited import Record
from dagster_planexec.world.delivery.records.stated import CUT, Stated, whole
from dagster_planexec.world.delivery.text.words import shown

_WIDTH = 94
FIELDS: dict[str, tuple[int, int]] = {
    "transaction_code": (2, 3),
    "receiving_bank": (4, 11),
    "account": (13, 29),
    "amount": (30, 39),
    "individual_id": (40, 54),
    "name": (55, 76),
    "trace_number": (80, 94),
}
"""Name to first and last column, counted from 1, of an entry (record type 6)."""
_DEBITS = frozenset(["27", "28", "29", "37", "38", "39", "47", "48", "49", "55", "56"])
"""Transaction codes of debits; all others are credits."""
_HASH = 10**10
_MAY_FOLLOW = {
    "": "1", "1": "59", "5": "68", "6": "678", "7": "678", "8": "59", "9": "f", "f": "f",
}  # fmt: skip
"""Kind of a line to the kinds that may follow it; `f` is a line of nines, which fills the last block."""


@dataclass(slots=True)
class Controls:
    """Sums as the entries pass by, and what batch and file controls state of them."""

    stated: list[Stated] = field(default_factory=list)
    _batch: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("entries", "hash", "debit", "credit"), 0))
    _file: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("entries", "hash", "debit", "credit"), 0))
    _batches: int = 0
    _closed: bool = False

    def pass_by(self, number: int, line: str) -> None:
        """Take note of one line."""
        match line[0]:
            case "6":
                amount = _number(line[29:39], number)
                self._add("entries", 1)
                self._add("hash", _number(line[3:11], number))
                self._add("debit" if line[1:3] in _DEBITS else "credit", amount)
            case "7":
                self._add("entries", 1)
            case "8":
                self._batches += 1
                self._compare("batch control", number, line, self._batch, (5, 11, 21, 33))
                self._batch = dict.fromkeys(self._batch, 0)
            case "9" if line.strip("9"):
                self.stated.append(Stated("file control, batches", number, whole(line[1:7]), str(self._batches)))
                self._compare("file control", number, line, self._file, (14, 22, 32, 44))
                self._closed = True

    def end(self, number: int) -> None:
        """The file has ended: a file without its control was cut off."""
        if not self._closed:
            self.stated.append(Stated("file control", number, "a record of type 9", CUT))

    def _add(self, name: str, amount: int) -> None:
        self._batch[name] += amount
        self._file[name] += amount

    def _compare(self, what: str, number: int, line: str, found: dict[str, int], starts: Sequence[int]) -> None:
        """Entry count, entry hash, debit and credit, which stand one behind the other."""
        widths = (starts[1] - starts[0], 10, 12, 12)
        for name, start, width in zip(("entries", "hash", "debit", "credit"), starts, widths, strict=True):
            stated = line[start - 1 : start - 1 + width]
            seen = found[name] % _HASH if name == "hash" else found[name]
            self.stated.append(Stated(f"{what}, {_WORDS[name]}", number, whole(stated), str(seen)))


_WORDS = {"entries": "entries and addenda", "hash": "entry hash", "debit": "debit cents", "credit": "credit cents"}


def records_of(text: TextIO, name: str, headers: Sequence[str], controls: Controls | None = None) -> Iterator[Record]:
    """One record of every entry.

    Args:
        text: The decoded file.
        name: Its name, for messages.
        headers: Names of `FIELDS`.
        controls: Takes note of every line, if given; complete when the iteration has ended.

    Raises:
        PortError: RAGGED_ROW for a line of another width or kind, BAD_CONTRACT for a header that is no field,
            CONTROL_TOTAL_MISMATCH for a line out of its place. That the file ends too early is for the controls to say.
    """
    unknown = [header for header in headers if header not in FIELDS]
    if unknown:
        raise PortError(
            "BAD_CONTRACT", f"header {unknown[0][:40]!r} is no field of an entry", hint=f"there are {', '.join(FIELDS)}"
        )
    number, before = 0, ""
    for number, raw in enumerate(iter(lambda: text.readline(_WIDTH + 3), ""), 1):
        line = raw.rstrip("\r\n")
        if not line:
            continue
        if len(line) != _WIDTH or line[0] not in "156789":
            raise PortError(
                "RAGGED_ROW", f"{name[:80]}: line {number} has {len(line)} characters of kind {line[:1]!r}; a NACHA "
                f"line has {_WIDTH} and begins with 1, 5, 6, 7, 8 or 9: {shown(line)}",
                hint="look at the line; an editor may have taken blanks from its end",
            )  # fmt: skip
        kind = line[0] if line.strip("9") else "f"
        if kind not in _MAY_FOLLOW[before]:
            raise _misplaced(name, number, kind, before)
        before = kind
        if controls is not None:
            controls.pass_by(number, line)
        if line[0] == "6":
            yield Record(number, [line[FIELDS[h][0] - 1 : FIELDS[h][1]].strip() for h in headers])
    if controls is not None:
        controls.end(number)


def _misplaced(name: str, number: int, kind: str, before: str) -> PortError:
    this, last = (_KINDS[one] for one in (kind, before))
    due = " or ".join(_KINDS[one] for one in _MAY_FOLLOW[before])
    return PortError(
        "CONTROL_TOTAL_MISMATCH", f"{name[:80]}: line {number} is {this} behind {last}, where {due} may stand",
        hint="ask the vendor to deliver the file again",
    )  # fmt: skip


_KINDS = {
    "": "the start of the file", "1": "a file header (1)", "5": "a batch header (5)", "6": "an entry (6)",
    "7": "an addendum (7)", "8": "a batch control (8)", "9": "a file control (9)", "f": "a line of nines",
}  # fmt: skip


def _number(text: str, line: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise PortError("BAD_AMOUNT", f"line {line}: {shown(text)} is no whole number", hint="look at the line")
    return int(text)
