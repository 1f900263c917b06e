"""The figures of a report as its written files say them, and the same figures as the result says them.

| figure | is |
|---|---|
| `lines:<status>`, `lines:matched`, `lines:disagreeing`, `lines:all` | a count of result lines |
| `rows:<side>`, `only:<side>` | lines of one side, and those that only this side has |
| `<side>:<status>`, `<side>:all` | a sum of one side's amounts |
| `part:difference`, `part:<status>` | first side minus second side, in all and by status (two sides only) |
| `credits:lines`, `credits:amount` | what is to be credited |

A figure that a file states twice with two values is both of them, so it matches nothing. A file that ends early lacks
a figure: JSON and HTML that are not closed state none, and Markdown states `lines:disagreeing` last of all.
"""

from __future__ import annotations

import errno
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, BinaryIO, Literal

from dagster_planexec.errors import PortError
from dagster_planexec.world import subject
from dagster_planexec.world.local.regular import NotAFileError, open_below
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import CreditLines, holds_money
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.result import ResultLayout
from dagster_planexec.world.subject import Subject

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")
_READERS = {"md": "Markdown table reader", "html": "html.parser", "json": "json module"}
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one file of a report: what is longer was not written as one."""
_PIECE = 1 << 20
_NUMBER = re.compile(r"-?\d{1,3}(,\d{3})*(\.\d+)?|-?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class FiguresOfReport(Probe):
    """Every figure that one written file of a report states."""

    name: str
    format: Format

    @property
    def subject(self) -> Subject:
        """The file, relative to the report root."""
        return subject.file(f"{self.name}.{self.format}")

    @property
    def reader(self) -> str:
        """The parser of that format; none of them knows the writer's templates."""
        return _READERS[self.format]

    def observe(self, ports: Ports) -> Observation:
        """One fact `figures`: name to number. What cannot be read as a number is the text itself."""
        raw = _read(ports.roots.reports, f"{self.name}.{self.format}")
        if raw is None:
            return self.absent(ports, f"no regular file {self.name}.{self.format} under the report root")
        text = raw.decode("utf-8", errors="replace")
        read = {"md": _figures_of_markdown, "html": _figures_of_html, "json": _figures_of_json}[self.format]
        found: dict[str, list[Fact]] = {}
        for figure, value in read(text):
            values = found.setdefault(figure, [])
            if value not in values:
                values.append(value)
        figures = {name: v[0] if len(v) == 1 else tuple(v) for name, v in sorted(found.items())}
        return self.seen(ports, {"figures": figures})


@dataclass(frozen=True, slots=True)
class FiguresOfResult(Probe):
    """The figures that a report of this result has to state, counted by SQL."""

    table: str
    layout: ResultLayout

    @property
    def subject(self) -> Subject:
        """The result table."""
        return subject.table(self.table)

    @property
    def reader(self) -> str:
        """One aggregate with a filter for each figure."""
        return "SQL filtered aggregates"

    def observe(self, ports: Ports) -> Observation:
        """One fact `figures`, name to number. Lines of an unknown status are `lines:other`, which no report states."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if not holds_money(session, self.table, self.layout.money):
                return self.absent(ports, f"no table {self.table!r}")
            asked = list(_questions(session, self.layout))
            columns = ", ".join(sql for _, sql, _ in asked)
            values = [value for *_, bound in asked for value in bound]
            row = session.rows(f"select {columns} from {session.quote(self.table)}", values)[0]
        figures: dict[str, Fact] = dict(zip((name for name, *_ in asked), row, strict=True))
        if not figures["lines:other"]:
            del figures["lines:other"]
        if self.layout.credit is not None:
            due = CreditLines(self.table, self.layout.credit).observe(ports)
            figures |= {"credits:lines": due["count"], "credits:amount": due["amount"]}
        return self.seen(ports, {"figures": dict(sorted(figures.items()))})


@dataclass(frozen=True, slots=True)
class HashReport(Probe):
    """One digest over the files of a report: the seal of what was written."""

    name: str
    beside: tuple[str, ...] = ()
    """What further files are called behind the report's name; of any length, so they are hashed piece by piece."""

    @property
    def subject(self) -> Subject:
        """The report, relative to the report root."""
        return subject.file(f"{self.name}.{{{','.join((*FORMATS, *self.beside))}}}")

    @property
    def reader(self) -> str:
        """What hashes."""
        return "SHA-256"

    def observe(self, ports: Ports) -> Observation:
        """Fact `digest`, over the digests of all files; absent if one of them is."""
        digests = []
        for format_ in FORMATS:
            raw = _read(ports.roots.reports, f"{self.name}.{format_}")
            if raw is None:
                return self.absent(ports, f"no regular file {self.name}.{format_} under the report root")
            digests.append(hashlib.sha256(raw).hexdigest())
        for suffix in self.beside:
            stream = opened(ports.roots.reports, f"{self.name}.{suffix}")
            if stream is None:
                return self.absent(ports, f"no regular file {self.name}.{suffix} under the report root")
            with stream:
                found = hashlib.sha256()
                while piece := stream.read(_PIECE):
                    found.update(piece)
            digests.append(found.hexdigest())
        return self.seen(ports, {"digest": hashlib.sha256("\n".join(digests).encode()).hexdigest()})


def _questions(session: Session, layout: ResultLayout) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Each figure with the aggregate that answers it and the status words it binds."""
    status, only, matched = session.quote(layout.status), dict(layout.only), (layout.identical, layout.differs)
    rows = dict(layout.rows)

    def where(words: tuple[str, ...]) -> str:
        return f"filter (where {status} in ({', '.join('?' for _ in words)}))"

    def count(name: str, *words: str) -> tuple[str, str, tuple[str, ...]]:
        return name, f"count(*) {where(words)}", words

    def amount(side: str) -> str:
        return f"cast({session.quote(dict(layout.amounts)[side])} as decimal(38, {layout.scale:d}))"

    marks = ", ".join("?" for _ in layout.words)
    yield "lines:other", f"count(*) filter (where {status} is null or {status} not in ({marks}))", layout.words
    yield "lines:all", "count(*)", ()
    yield count("lines:matched", *matched)
    yield "lines:disagreeing", f"count(*) filter (where {status} is distinct from ?)", (layout.identical,)
    yield from (count(f"lines:{word}", word) for word in layout.words)
    for side in layout.sides:
        if side in rows:
            yield f"rows:{side}", f"coalesce(sum({session.quote(rows[side])}), 0)", ()
        else:
            yield count(f"rows:{side}", *matched, only[side])
        yield count(f"only:{side}", only[side])
        yield f"{side}:all", f"coalesce(sum({amount(side)}), 0)", ()
        for word in (*matched, only[side], *layout.further):
            yield f"{side}:{word}", f"coalesce(sum({amount(side)}) {where((word,))}, 0)", (word,)
    if len(layout.sides) == 2:  # noqa: PLR2004 - a difference has two sides
        gap = " - ".join(f"coalesce({amount(side)}, 0)" for side in layout.sides)
        yield "part:difference", f"coalesce(sum({gap}), 0)", ()
        for word in layout.words[1:]:
            yield f"part:{word}", f"coalesce(sum({gap}) {where((word,))}, 0)", (word,)


def opened(root: Path, name: str) -> BinaryIO | None:
    """A regular file directly under the root, or None. A link is not followed: it may lead anywhere."""
    if Path(name).name != name or "\0" in name:
        return None
    try:
        return open_below(root, (name,))
    except (FileNotFoundError, NotADirectoryError, NotAFileError):
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENAMETOOLONG}:
            return None
        raise


def _read(root: Path, name: str) -> bytes | None:
    """The bytes of such a file, or None."""
    stream = opened(root, name)
    if stream is None:
        return None
    with stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise PortError("REPORT_MISMATCH", f"{name[:80]!r} has more than {MOST_BYTES:,} bytes; no report is as long")
    return raw


def _number(text: str) -> Fact:
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if not _NUMBER.fullmatch(text):
        return text[:80]
    plain = text.replace(",", "")
    return Decimal(plain) if "." in plain else int(plain)


# ------------------------------------------------------------------------------------------- Markdown


def _figures_of_markdown(text: str) -> Iterator[tuple[str, Fact]]:
    """Every cell of the tables whose corner is `Status`, `Side`, `Part` or `Credits`."""
    header: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [html.unescape(cell).strip(" *=") for cell in line.strip().strip("|").split("|")]
        if not header:
            header = cells
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            for column, cell in zip(header[1:], cells[1:], strict=False):
                name = _figure_name(header[0], cells[0], column)
                if name is not None and cell:
                    yield name, _number(cell)


def _figure_name(corner: str, row: str, column: str) -> str | None:
    """What a cell states, from the words around it; a cell of any other table states no figure."""
    match corner:
        case "Status":
            return f"{column}:{row}"
        case "Side":
            of_side = {"lines": f"rows:{row}", "only here": f"only:{row}", "amount": f"{row}:all", "picture": None}
            return of_side.get(column, f"lines:{column}")
        case "Part":
            return f"part:{row}" if column == "amount" else None
        case "Credits":
            return f"credits:{column}"
        case _:
            return None


# ------------------------------------------------------------------------------------------- HTML


class _Html(HTMLParser):
    """Collects the text of every element that carries `data-figure`, wherever it stands."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self.closed = False
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A figure begins, or an element inside one."""
        name = dict(attrs).get("data-figure")
        if name is not None and not self._open:
            self.found.append((name, ""))
            self._open.append(tag)
        elif self._open and tag == self._open[-1]:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """A figure ends with the element that began it, and the document with its own."""
        self.closed = self.closed or tag == "html"
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        """Text inside a figure is its value."""
        if self._open:
            name, text = self.found[-1]
            self.found[-1] = (name, text + data)


def _figures_of_html(text: str) -> Iterable[tuple[str, Fact]]:
    parser = _Html()
    parser.feed(text)
    parser.close()
    if not parser.closed:
        return []  # it ends early, and so states nothing
    return [(name, _number(value)) for name, value in parser.found]


# ------------------------------------------------------------------------------------------- JSON


def _figures_of_json(text: str) -> Iterable[tuple[str, Fact]]:
    """Every entry of every object named `figures`; counts are integers, amounts are strings."""
    try:
        data: Any = json.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        return []
    figures = data.get("figures") if isinstance(data, Mapping) else None
    if not isinstance(figures, Mapping):
        return []
    return [(str(name), _json_number(value)) for name, value in figures.items()]


def _json_number(value: object) -> Fact:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return Decimal(value) if isinstance(value, str) else str(value)[:80]
    except InvalidOperation:
        return str(value)[:80]
