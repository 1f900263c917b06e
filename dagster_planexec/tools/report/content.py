"""What a report says: figures by status and side, credits, and the largest differences; read from the result's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dagster_planexec.world.observation import Fact
from dagster_planexec.world.ports import Session, SqlValue
from dagster_planexec.world.probes.result.credits import credit_of, fetch_credit_lines
from dagster_planexec.world.sides.comparison.shape import NULL_KEY
from dagster_planexec.world.sides.result import ResultLayout

MOST_LINES = 200
"""Difference lines a report shows; the table that holds all of them is named beside their total."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the report is about. Nothing of the plan's own text is here."""

    task: str
    version: str
    period: str
    currency: str
    table: str
    written_at: datetime
    name: str
    """Of the report; the files with all differences begin with it."""


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One status: its lines, and each side's amount of them (None where the side has no such line)."""

    word: str
    lines: int
    amounts: tuple[Decimal | None, ...]


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side: identical + differing + only here = its lines."""

    name: str
    only_word: str
    identical: int
    differs: int
    only_here: int
    amount: Decimal
    rows: int | None = None
    """Its rows, where the result says how many a line stands for."""
    matched_rows: int | None = None

    @property
    def matched(self) -> int:
        """Lines whose key the other side has too."""
        return self.identical + self.differs

    @property
    def lines(self) -> int:
        """Every line of the side; every row of it where a line can stand for several."""
        return self.matched + self.only_here if self.rows is None else self.rows

    @property
    def found(self) -> int:
        """Those of them that the other side has too."""
        return self.matched if self.matched_rows is None else self.matched_rows

    @property
    def picture(self) -> str:
        """Twenty blocks, full for matched; a block is never lost to rounding, so one line out of a million shows."""
        if not self.lines:
            return "no lines"
        full = self.found * 20 // self.lines
        if self.found and not full:
            full = 1
        return "█" * full + "░" * (20 - full)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the difference between the two sides' totals."""

    name: str
    amount: Decimal
    how: str


@dataclass(frozen=True, slots=True)
class Credit:
    """What is to be credited, in all."""

    lines: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Difference:
    """One line that does not agree."""

    key: str
    status: str
    amounts: tuple[Decimal | None, ...]
    gap: Decimal
    credit: Decimal


@dataclass(frozen=True, slots=True)
class Content:
    """Everything a report shows, in any format."""

    heading: Heading
    layout: ResultLayout
    statuses: tuple[StatusRow, ...]
    sides: tuple[SideRow, ...]
    parts: tuple[Part, ...]
    credit: Credit | None
    differences: tuple[Difference, ...]
    others: int
    """Lines whose status is none of the declared words."""

    @property
    def lines(self) -> int:
        """Every line of the result."""
        return sum(row.lines for row in self.statuses) + self.others

    @property
    def disagreeing(self) -> int:
        """Lines that are not identical."""
        return self.lines - self.statuses[0].lines

    @property
    def notes(self) -> tuple[str, ...]:
        """What must jump to the eye, in words; the figures beside them are in the tables."""
        notes = [
            f"{side.name} has no lines: every line of the other side would be a discrepancy."
            for side in self.sides
            if not side.lines
        ]
        notes += [
            f"Every discrepancy is a line of {side.name}: there are as many as {side.name} has lines."
            for side in self.sides
            if side.lines and self.disagreeing == side.only_here == side.lines
        ]
        apart = {NULL_KEY, *(side.only_word for side in self.sides)}
        if all(side.lines for side in self.sides) and not any(s.lines for s in self.statuses if s.word not in apart):
            notes.append("No key of one side is found on the other.")
        if self.others:
            notes.append("The result has lines with a status that the task does not declare.")
        return tuple(notes)

    def figures(self) -> Mapping[str, Fact]:
        """Every figure by name, as `world.probes.result.report` lists the names."""
        return dict(self._figures())

    def _figures(self) -> Iterator[tuple[str, Fact]]:
        yield "lines:all", self.lines
        yield "lines:matched", self.sides[0].matched
        yield "lines:disagreeing", self.disagreeing
        for row in self.statuses:
            yield f"lines:{row.word}", row.lines
            for side, amount in zip(self.layout.sides, row.amounts, strict=True):
                if amount is not None:
                    yield f"{side}:{row.word}", amount
        for each in self.sides:
            yield f"rows:{each.name}", each.lines
            yield f"only:{each.name}", each.only_here
            yield f"{each.name}:all", each.amount
        for part in self.parts:
            yield f"part:{part.name}", part.amount
        if self.credit is not None:
            yield "credits:lines", self.credit.lines
            yield "credits:amount", self.credit.amount


def read_content(session: Session, heading: Heading, layout: ResultLayout) -> Content:
    """Read the result once by status and once for its largest differences.

    Raises:
        PortError: TABLE_GONE, or the code of a line that cannot be credited as it is.
    """
    groups = _by_status(session, heading.table, layout)
    statuses = tuple(_status_row(word, groups, layout) for word in layout.words)
    by_word = {row.word: row for row in statuses}
    sides = []
    for index, (side, word) in enumerate(layout.only):
        total = sum((group.amounts[index] for group in groups.values()), _zero(layout))
        rows = found = None
        if layout.rows:
            rows = sum(group.rows[index] for group in groups.values())
            found = sum(groups[w].rows[index] for w in layout.paired if w in groups)
        identical, differs = by_word[layout.identical].lines, by_word[layout.differs].lines
        sides.append(SideRow(side, word, identical, differs, by_word[word].lines, total, rows, found))
    credit = None
    if layout.credit is not None:
        lines = fetch_credit_lines(session, heading.table, layout.credit)
        credit = Credit(len(lines), sum((line.amount for line in lines), _zero(layout)))
    return Content(
        heading,
        layout,
        statuses,
        tuple(sides),
        _parts(layout, groups),
        credit,
        tuple(_differences(session, heading.table, layout)),
        sum(group.lines for word, group in groups.items() if word not in layout.words),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """The lines of one status, and by side their amount and, where the result says it, the rows they stand for."""

    lines: int
    amounts: tuple[Decimal, ...]
    rows: tuple[int, ...]


_Groups = dict[str, _Group]


def _by_status(session: Session, table: str, layout: ResultLayout) -> _Groups:
    status = session.quote(layout.status)
    sums = ", ".join(f"sum({_amount(session, column, layout)})" for _, column in layout.amounts)
    stood_for = "".join(f", coalesce(sum({session.quote(column)}), 0)" for _, column in layout.rows)
    found = session.rows(f"select {status}, count(*), {sums}{stood_for} from {session.quote(table)} group by {status}")
    sides = len(layout.amounts)
    return {
        str(word): _Group(
            int(str(count)),
            tuple(_decimal(amount) or _zero(layout) for amount in rest[:sides]),
            tuple(int(str(rows)) for rows in rest[sides:]),
        )
        for word, count, *rest in found
    }


def _status_row(word: str, groups: _Groups, layout: ResultLayout) -> StatusRow:
    group = groups.get(word, _Group(0, (_zero(layout),) * len(layout.sides), ()))
    owner = {only: side for side, only in layout.only}.get(word)
    shown = (a if owner in {None, side} else None for side, a in zip(layout.sides, group.amounts, strict=True))
    return StatusRow(word, group.lines, tuple(shown))


def _parts(layout: ResultLayout, groups: _Groups) -> tuple[Part, ...]:
    if len(layout.sides) != 2:  # noqa: PLR2004 - a difference has two sides
        return ()
    first, second = layout.sides
    gaps = {word: group.amounts[0] - group.amounts[1] for word, group in groups.items()}
    zero = _zero(layout)
    hows = (
        f"{first} minus {second}, where both have the line",
        *(f"lines that only {side} has" for side in layout.sides),
        *(f"{first} minus {second}, on lines of that status" for _ in layout.further),
    )
    parts = [Part("difference", sum(gaps.values(), zero), f"all of {first} minus all of {second}")]
    parts += [Part(word, gaps.get(word, zero), how) for word, how in zip(layout.words[1:], hows, strict=True)]
    return tuple(parts)


def _differences(session: Session, table: str, layout: ResultLayout) -> Iterator[Difference]:
    status = session.quote(layout.status)
    keys = [f"cast({session.quote(column)} as varchar)" for column in layout.key]
    amounts = [_amount(session, column, layout) for _, column in layout.amounts]
    filled = ", ".join(f"coalesce({amount}, 0)" for amount in amounts)
    gap = f"greatest({filled}) - least({filled})"
    rows = session.rows(
        f"""select {", ".join([*keys, status, *amounts])}, {gap} from {session.quote(table)}
        where {status} <> ? order by {gap} desc, {", ".join(keys)} limit {MOST_LINES:d}""",
        (layout.identical,),
    )
    columns = [column for _, column in layout.amounts]
    for row in rows:
        parts, (word, *rest) = row[: len(keys)], row[len(keys) :]
        *found, size = (_decimal(value) for value in rest)
        credit = _zero(layout)
        if layout.credit is not None:
            by_column = dict(zip(columns, found, strict=True))
            shape = layout.credit
            credit = credit_of(shape, word, by_column[shape.charged], by_column[shape.billed]) or credit
        key = " | ".join("(none)" if part is None else str(part) for part in parts)
        yield Difference(key, str(word), tuple(found), size or _zero(layout), credit)


def _amount(session: Session, column: str, layout: ResultLayout) -> str:
    return f"cast({session.quote(column)} as decimal(38, {layout.scale:d}))"


def _zero(layout: ResultLayout) -> Decimal:
    return Decimal(0).scaleb(-layout.scale)


def _decimal(value: SqlValue) -> Decimal | None:
    return None if value is None else Decimal(str(value))
