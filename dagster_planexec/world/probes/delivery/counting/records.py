"""X12 and NACHA files, counted by a second reading: patterns over the whole text, where the loader goes piece by piece.

It shares no code with `world.delivery.records`, which the loader reads by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.delimited import text_of
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown, too_large
from dagster_planexec.world.ingest import Counted
from dagster_planexec.world.probes.delivery.counting.amounts import EXACT
from dagster_planexec.world.probes.delivery.counting.tally import Tally, places, tally_of

_PLAIN = "(?:(?!(?:ISA|IEA|GS|GE|ST|SE) )[A-Z][A-Z0-9]{1,2} )*+"
_INVOICES = f"(?:ST {_PLAIN}SE )*+"
_BEGUN = f"ISA (?:(?:TA1|TA3|ISB|ISE|ISX) )*+(?:GS {_INVOICES}GE )*+"
_ORDER = {
    "x12": re.compile(f"(?:{_BEGUN}IEA )*+(?:{_BEGUN}(?:GS {_INVOICES}(?:ST {_PLAIN})?+)?+)?+"),
    "nacha": re.compile("1(?:5(?:67*+)*+8)*+(?:9f*+|5(?:67*+)*+)?+"),
}
"""How the kinds of segments or lines follow each other, up to the end of a file that may have been cut off."""
MOST = 256 * 1024 * 1024
"""Characters of such a file that are held at once; they are invoices, not logs."""
_BEGINS = {"x12": "an X12 interchange", "nacha": "a NACHA file"}
_ELEMENTS = re.compile(r"([A-Z][A-Z0-9]{1,2})(\d\d)")
_ENTRY = re.compile(r"6(?P<transaction_code>..)(?P<receiving_bank>.{8}).(?P<account>.{17})(?P<amount>.{10})"
                    r"(?P<individual_id>.{15})(?P<name>.{22})...(?P<trace_number>.{15})")  # fmt: skip

_FIGURES = re.compile("6(..)([0-9]{8}).{18}([0-9]{10})")


def count_records(part: Part, counted: Counted | None, at_most: int | None) -> Tally:
    """Count the records of a part, and add up.

    Args:
        part: The file, or a member of it.
        counted: What is added up.
        at_most: Where counting may stop.

    Raises:
        PortError: MISSING_COLUMN (no amount), TOO_LARGE, RAGGED_ROW with its line, CONTROL_TOTAL_MISMATCH for what is
            out of its place, and as `text_of`.
    """
    found, header = tally_of(counted), list(part.form.header or ())
    at = places(part, counted, header)
    for fields in _fields(part, header):
        found.rows += 1
        if found.is_enough(at_most):
            break
        if at:
            found.amounts.add([fields[i] for i in at])
    return found


def found_controls(part: Part) -> list[str]:
    """What is counted for each control record, as texts, in the order in which the file states them.

    Raises:
        PortError: BAD_AMOUNT for an entry that cannot be added up, TOO_LARGE, and as `text_of`.
    """
    text = _whole(part)
    return list(_x12_controls(text) if part.form.kind == "x12" else _nacha_controls(text, part))


def _fields(part: Part, header: Sequence[str]) -> Iterator[list[str]]:
    text = _whole(part)
    if not text.startswith("1" if part.form.kind == "nacha" else "ISA"):
        raise PortError(
            "RAGGED_ROW", f"{part.name} does not begin as {_BEGINS[part.form.kind]} does: {shown(text[:80])}",
            hint="look at what was delivered, and at the format that its contract declares",
        )  # fmt: skip
    _expect_order(text, part)
    if part.form.kind == "nacha":
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("6"):
                yield _entry(part, number, line, header)
        return
    before: dict[str, list[str]] = {}
    for segment in _x12(text):
        if segment[0] in {"ISA", "GS", "ST"}:  # what an envelope says holds for every invoice in it
            before = {kind: one for kind, one in before.items() if kind in {"ISA", "GS"}}
        before[segment[0]] = segment
        if segment[0] == part.form.record:
            yield [_cell(before, name) for name in header]


def _entry(part: Part, number: int, line: str, header: Sequence[str]) -> list[str]:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise PortError(
            "RAGGED_ROW", f"{part.name}: the entry on line {number} has {len(line)} characters, not 94: {shown(line)}",
            hint="look at the line; an editor may have taken blanks from its end",
        )  # fmt: skip
    return [found[name].strip() for name in header]


def _expect_order(text: str, part: Part) -> None:
    """Every segment or line stands where it may; what stands elsewhere would be summed by no control record."""
    if part.form.kind == "nacha":
        lines = [line for line in text.splitlines() if line]
        kinds = [line[0] if line.strip("9") else "f" for line in lines]
    else:
        kinds = [f"{segment[0]} " if re.fullmatch("[A-Z0-9]+", segment[0]) else "? " for segment in _x12(text)]
    found = _ORDER[part.form.kind].match("".join(kinds))
    end = 0 if found is None else found.end() if part.form.kind == "nacha" else found[0].count(" ")
    if end < len(kinds):
        what = "line of kind" if part.form.kind == "nacha" else "segment"
        line = _line(text, part.form.kind, end)
        raise PortError(
            "CONTROL_TOTAL_MISMATCH",
            f"{part.name}: {what} {shown(kinds[end].strip())} on line {line} is out of its place",
            hint="ask the vendor to deliver the file again",
        )


def _line(text: str, kind: str, at: int) -> int:
    """The physical line on which a segment or line of that position (from 0) starts; blank ones have none."""
    if kind == "nacha":
        return [number for number, line in enumerate(text.splitlines(), 1) if line][at]
    every = [one for one in re.finditer(f"[^{re.escape(text[105])}]+", text) if one[0].strip()]
    blanks = len(every[at][0]) - len(every[at][0].lstrip("\r\n"))
    return text.count("\n", 0, every[at].start() + blanks) + 1


def _cell(before: dict[str, list[str]], name: str) -> str:
    parts = [before.get(kind, [])[int(at) : int(at) + 1] for kind, at in _ELEMENTS.findall(name)]
    texts = [part[0] if part else "" for part in parts]
    if len(texts) == 1:
        return texts[0]
    try:
        return f"{EXACT.multiply(Decimal(texts[0]), Decimal(texts[1])):f}"
    except InvalidOperation:
        return "*".join(texts) if any(texts) else ""


def _x12(text: str) -> Iterator[list[str]]:
    if len(text) < 106:  # noqa: PLR2004 - the length of an ISA segment
        return
    ends = re.escape(text[105])
    for found in re.finditer(f"[^{ends}]+", text):
        body = found[0].strip("\r\n")
        if body.strip():
            yield [element.strip() for element in body.split(text[3])]


def _x12_controls(text: str) -> Iterator[str]:
    """For CTT, SE, GE and IEA: the count, and the number that must be repeated."""
    kinds: list[str] = []
    begun: dict[str, tuple[int, list[str]]] = {}
    for n, segment in enumerate(_x12(text)):
        kinds.append(segment[0])
        opens = {"CTT": "ST", "SE": "ST", "GE": "GS", "IEA": "ISA"}.get(segment[0])
        if opens is None:
            begun[segment[0]] = n, segment
            continue
        start, first = begun.get(opens, (n, segment))
        inside = kinds[start:]
        match segment[0]:
            case "CTT":
                yield str(inside.count("IT1"))
            case "SE":
                yield str(len(inside))
                yield _number(first, 2)
            case "GE":
                yield str(inside.count("ST"))
                yield _number(first, 6)
            case "IEA":
                yield str(inside.count("GS"))
                yield _number(first, 13)


def _number(segment: list[str], at: int) -> str:
    text = segment[at] if at < len(segment) else ""
    return str(int(text)) if re.fullmatch(r"[0-9]+", text) else repr(text[:20])


def _nacha_controls(text: str, part: Part) -> Iterator[str]:
    lines, start = text.splitlines(), 0
    for n, line in enumerate(lines):
        if line.startswith("5"):
            start = n
        elif line.startswith("8"):
            yield from _sums(lines[start:n], start, part)
        elif line.startswith("9") and line.strip("9"):
            yield str(sum(one.startswith("8") for one in lines[:n]))
            yield from _sums(lines[:n], 0, part)


def _sums(lines: Sequence[str], before: int, part: Part) -> Iterator[str]:
    """Entries and addenda, the hash of the receiving banks, debits, credits; of lines that stand behind so many."""
    entries = addenda = banks = 0
    cents = {True: 0, False: 0}
    for number, line in enumerate(lines, before + 1):
        addenda += line.startswith("7")
        if line.startswith("6"):
            figures = _FIGURES.match(line)
            if figures is None:
                raise PortError(
                    "BAD_AMOUNT",
                    f"{part.name}: line {number} has no whole number as receiving bank (columns 4 to 11) or amount "
                    f"(30 to 39): {shown(line)}",
                    hint="ask the vendor to deliver the file again",
                )
            entries += 1
            banks += int(figures[2])
            cents[figures[1][1] in "789" or figures[1] in {"55", "56"}] += int(figures[3])
    yield str(entries + addenda)
    yield str(banks % 10**10)
    yield str(cents[True])
    yield str(cents[False])


def _whole(part: Part) -> str:
    with text_of(part) as text:
        found = text.read(MOST + 1)
    if len(found) > MOST:
        raise too_large(part.name, MOST)
    return found
