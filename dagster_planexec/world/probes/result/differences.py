"""The files with all differences, read back by readers that have not written them, and the same figures by SQL.

Figures: `lines:<status>` and `<side>:<status>` of every status but that of lines that agree, `lines:differences`, and
`formulas`, cells that compute: there are none. Statuses that the task does not declare are together `other`.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO, Literal
from xml.parsers import expat

from dagster_planexec.errors import PortError
from dagster_planexec.world import subject
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import holds_money
from dagster_planexec.world.probes.result.report import opened
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.result import ResultLayout
from dagster_planexec.world.subject import Subject

Suffix = Literal["differences.parquet", "differences.xlsx"]
DIFFERENCES: tuple[Suffix, ...] = ("differences.parquet", "differences.xlsx")
MOST_DECODED = 4 * 1024**3
"""Bytes of a workbook's sheets, decoded: what is longer was not written as one."""
_CHUNK = 1 << 16
_OTHER = "other"
Groups = dict[str, tuple[int, list[Decimal]]]
"""Status to lines and each side's amount."""


@dataclass(frozen=True, slots=True)
class FiguresOfDifferences(Probe):
    """What one written file with differences holds."""

    name: str
    suffix: Suffix
    layout: ResultLayout

    @property
    def subject(self) -> Subject:
        """The file, relative to the report root."""
        return subject.file(f"{self.name}.{self.suffix}")

    @property
    def reader(self) -> str:
        """Neither of them is the writer's."""
        return "DuckDB" if self.suffix == "differences.parquet" else "zipfile and expat"

    def observe(self, ports: Ports) -> Observation:
        """One fact `figures`. A file that cannot be read states none."""
        stream = opened(ports.roots.reports, f"{self.name}.{self.suffix}")
        if stream is None:
            return self.absent(ports, f"no regular file {self.name}.{self.suffix} under the report root")
        with stream:
            read = _of_parquet if self.suffix == "differences.parquet" else _of_xlsx
            try:
                groups, formulas = read(stream, self.layout)
            except _UnreadableError as error:
                return self.seen(ports, {"figures": {"unreadable": str(error)[:200]}})
        return self.seen(ports, {"figures": _figures(groups, formulas, self.layout)})


@dataclass(frozen=True, slots=True)
class FiguresOfDifferingLines(Probe):
    """The same figures of the result, counted by SQL."""

    table: str
    layout: ResultLayout

    @property
    def subject(self) -> Subject:
        """The result table."""
        return subject.table(self.table)

    @property
    def reader(self) -> str:
        """Counts and sums by status."""
        return "SQL group by status"

    def observe(self, ports: Ports) -> Observation:
        """One fact `figures`."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if not holds_money(session, self.table, self.layout.money):
                return self.absent(ports, f"no table {self.table!r}")
            status = session.quote(self.layout.status)
            sums = "".join(f", coalesce(sum({session.quote(column)}), 0)" for column in self.layout.money)
            rows = session.rows(
                f"select {status}, count(*){sums} from {session.quote(self.table)} "
                f"where {status} is distinct from ? group by {status}",
                (self.layout.identical,),
            )
        groups = _Tally(self.layout)
        for word, count, *amounts in rows:
            groups.add(word, int(str(count)), [Decimal(str(amount)) for amount in amounts])
        return self.seen(ports, {"figures": _figures(groups.found, 0, self.layout)})


class _UnreadableError(Exception):
    """The file is no file of its kind, or not one with these columns."""


class _Tally:
    """Lines and amounts by status."""

    def __init__(self, layout: ResultLayout) -> None:
        self._words = frozenset(layout.words)
        self.found: Groups = {}
        self._sides = len(layout.amounts)

    def add(self, word: object, lines: int, amounts: list[Decimal]) -> None:
        """Some more of one status."""
        key = str(word) if word is not None and str(word) in self._words else _OTHER
        before, sums = self.found.get(key, (0, [Decimal(0)] * self._sides))
        self.found[key] = (before + lines, [a + b for a, b in zip(sums, amounts, strict=True)])


def _figures(groups: Mapping[str, tuple[int, list[Decimal]]], formulas: int, layout: ResultLayout) -> dict[str, Fact]:
    figures: dict[str, Fact] = {"lines:differences": sum(lines for lines, _ in groups.values()), "formulas": formulas}
    for word, (lines, amounts) in groups.items():
        figures[f"lines:{word}"] = lines
        figures |= {f"{side}:{word}": amount for side, amount in zip(layout.sides, amounts, strict=True)}
    return dict(sorted(figures.items()))


# ------------------------------------------------------------------------------------------- Parquet


def _of_parquet(stream: BinaryIO, layout: ResultLayout) -> tuple[Groups, int]:
    import duckdb  # noqa: PLC0415 - 30 ms that only reports pay

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    columns = [layout.status, *layout.money]
    sums = "".join(
        f", coalesce(sum({quoted(column)}), 0), any_value(typeof({quoted(column)}))" for column in layout.money
    )
    # The file that was opened, whatever stands in its place by now.
    asked = f"select {quoted(columns[0])}, count(*){sums} from read_parquet(?) group by 1"
    tally = _Tally(layout)
    try:
        with duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as db:
            rows = db.execute(asked, [f"/dev/fd/{stream.fileno()}"]).fetchall()
    except duckdb.Error as error:
        raise _UnreadableError(" ".join(str(error).split())) from error
    for word, lines, *rest in rows:
        amounts, kinds = rest[::2], rest[1::2]
        if not all(str(kind).startswith("DECIMAL") for kind in kinds):
            text = f"amounts are {kinds}, not DECIMAL"
            raise _UnreadableError(text)
        tally.add(word, int(lines), [Decimal(str(amount)) for amount in amounts])
    return tally.found, 0


# ------------------------------------------------------------------------------------------- XLSX


def _of_xlsx(stream: BinaryIO, layout: ResultLayout) -> tuple[Groups, int]:
    tally, formulas = _Tally(layout), 0
    try:
        with zipfile.ZipFile(stream) as archive:
            left = MOST_DECODED
            sheets = [
                name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")
            ]
            for name in sheets:
                size = archive.getinfo(name).file_size
                left -= size
                if left < 0:
                    raise PortError("REPORT_MISMATCH", f"a workbook decodes to more than {MOST_DECODED:,} bytes")
                with archive.open(name) as member:
                    formulas += _add_sheet(member, layout, tally)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, NotImplementedError, EOFError, RuntimeError) as error:
        raise _UnreadableError(" ".join(str(error).split())) from error
    return tally.found, formulas


def _add_sheet(member: Any, layout: ResultLayout, tally: _Tally) -> int:  # noqa: ANN401 - a file inside an archive
    """Add one sheet's lines. Its first row says which column is which."""
    reader, places = _Sheet(), None
    for row in reader.rows(member):
        if places is None:
            names = {text: column for column, (_, text) in row.items()}
            try:
                places = [names[name] for name in (layout.status, *layout.money)]
            except KeyError as error:
                text = f"a sheet has no column {str(error)[:80]}"
                raise _UnreadableError(text) from error
            continue
        status = row.get(places[0], ("inlineStr", ""))[1]
        tally.add(status, 1, [_money(row.get(place)) for place in places[1:]])
    return reader.formulas


def _money(cell: tuple[str, str] | None) -> Decimal:
    if cell is None:
        return Decimal(0)
    kind, text = cell
    try:
        if kind == "n":
            return Decimal(text)
    except InvalidOperation:
        pass
    text = f"an amount is {kind} {text[:40]!r}, not a number"
    raise _UnreadableError(text)


class _Sheet:
    """One sheet, read row by row: column letters to the cell's type and text."""

    def __init__(self) -> None:
        self.formulas = 0
        self._done: list[dict[str, tuple[str, str]]] = []
        self._row: dict[str, tuple[str, str]] = {}
        self._column = self._kind = ""
        self._text: list[str] | None = None

    def rows(self, member: Any) -> Iterator[dict[str, tuple[str, str]]]:  # noqa: ANN401 - a file inside an archive
        """Every row that has a cell."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._starts
        parser.EndElementHandler = self._ends
        parser.CharacterDataHandler = self._says
        parser.StartDoctypeDeclHandler = self._refuses
        while chunk := member.read(_CHUNK):
            parser.Parse(chunk, False)
            yield from self._done
            self._done.clear()
        parser.Parse(b"", True)
        yield from self._done

    def _starts(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "c":
            self._column = attributes.get("r", "").rstrip("0123456789")
            self._kind = attributes.get("t", "n")
            self._text = []
        elif tag == "f":
            self.formulas += 1

    def _ends(self, tag: str) -> None:
        if tag == "c" and self._text is not None:
            text = "".join(self._text)
            if text:
                self._row[self._column] = (self._kind, text)
            self._text = None
        elif tag == "row":
            if self._row:
                self._done.append(self._row)
            self._row = {}

    def _says(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuses(self, *_: object) -> None:
        text = "a sheet declares a document type"
        raise _UnreadableError(text)
