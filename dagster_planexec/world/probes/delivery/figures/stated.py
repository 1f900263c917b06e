"""Probes of control totals: what the trailers of a delivery state, and what is found in each of its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from dagster_planexec.world.delivery.heads import trailers_of
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.delivery.text.numbers import Numbers
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.ingest import Counted, FileFormat, TextColumn, Trailer
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.counting.amounts import EXACT, shortest
from dagster_planexec.world.probes.delivery.figures.copy import OfCopy
from dagster_planexec.world.probes.delivery.figures.extract import count_part
from dagster_planexec.world.subject import Subject, landed

ROWS = "rows of data"
"""What a count is called among the columns that are summed up; none of them can be called so."""
_WIDEST = 38
"""Digits of a sum that can be stated: what a DECIMAL holds."""
_COUNT = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class StatedTotals(Probe):
    """What do the trailers of these files state?

    Args:
        files: Each with how its bytes become fields.
        columns: The columns whose sums are stated, with the style that they are written in.
    """

    files: tuple[tuple[Path, FileFormat], ...]
    columns: tuple[TextColumn, ...]

    @property
    def subject(self) -> Subject:
        """All the landed copies."""
        return landed("+".join(path.name[:12] for path, _ in self.files))

    @property
    def reader(self) -> str:
        """The last records, alone."""
        return "trailers at the end"

    def observe(self, ports: Ports) -> Observation:
        """Read every part to its end.

        Facts: `parts` (how many); `totals`, each with its `part`, `trailer`, `of` (`rows`, or a column), `value` (None
        if it cannot be read) and `text`; `missing`, required trailers that are not there, in words.
        """
        totals: list[Mapping[str, Fact]] = []
        missing: list[str] = []
        count = 0
        for path, form in self.files:
            if not path.is_file():
                return self.absent(ports, f"there is no landed copy {path.name[:80]}")
            for part in parts_of(path, form):
                count += 1
                found = trailers_of(part)
                there = [rule for rule, _ in found]
                missing += [f"{part.name} has no trailer {mark(r)}" for r in form.trailers if _lacks(r, there)]
                totals += [total for rule, fields in found for total in self._totals(part, rule, fields)]
        return self.seen(ports, {"parts": count, "totals": tuple(totals), "missing": tuple(missing)})

    def _totals(self, part: Part, rule: Trailer, fields: list[str]) -> list[Mapping[str, Fact]]:
        stated = ([(ROWS, rule.rows)] if rule.rows is not None else []) + list(rule.sums)
        totals: list[Mapping[str, Fact]] = []
        for of, position in stated:
            text = fields[position - 1] if position <= len(fields) else ""
            value = _count(text) if of == ROWS else self._sum(of, text)
            totals.append({"part": part.name, "trailer": mark(rule), "of": of, "value": value, "text": shown(text)})
        return totals

    def _sum(self, of: str, text: str) -> Decimal | None:
        """Written as the cells of its column are; a sum may have more digits than each of them."""
        column = next(column for column in self.columns if column.name == of)
        scale = column.scale if column.type == "decimal" else 0
        read = Numbers(replace(column, type="decimal", precision=_WIDEST, scale=scale))
        number = None if read.is_empty(text) else read.read(text)
        return None if number is None else _at_scale(number, column)


@dataclass(frozen=True, slots=True)
class FoundTotals(OfCopy):
    """How many records does each part of a file have, and what do these columns add up to?

    Args:
        counted: As the amount is added up, and every other column by itself; by the name of the column.
    """

    counted: tuple[tuple[str, Counted], ...]

    @property
    def reader(self) -> str:
        """The independent counter."""
        return "records, counted part by part"

    def facts(self) -> Mapping[str, Fact]:
        """One pass for every column. Facts: by the name of a part its `rows` and sums. Raises as `CountExtract`."""
        found: dict[str, Fact] = {}
        for part in parts_of(self.path, self.format):
            seen: dict[str, Fact] = {} if self.counted else {ROWS: count_part(part, None).rows}
            for name, counted in self.counted:
                tally = count_part(part, counted)
                seen |= {ROWS: tally.rows, name: _at_scale(tally.amounts.total, counted.amount)}
            found[part.name] = seen
        return {"parts": found}


def mark(rule: Trailer) -> str:
    """A trailer in words, by what it is known by."""
    return shown(rule.equals) if rule.equals is not None else f"{shown(rule.starts_with or '')}..."


def alone(column: TextColumn) -> Counted:
    """A column that is added up by itself."""
    return Counted(replace(column, header=None))


def _lacks(rule: Trailer, there: list[Trailer]) -> bool:
    return rule.required and rule not in there


def _at_scale(total: Decimal, column: TextColumn) -> Decimal:
    """With the decimals that its column has; with those it needs, if they are more."""
    short, scale = shortest(total), column.scale if column.type == "decimal" else 0
    return EXACT.quantize(short, Decimal(1).scaleb(-scale)) if -int(short.as_tuple().exponent) <= scale else short


def _count(text: str) -> int | None:
    return int(text.strip()) if _COUNT.fullmatch(text.strip()) else None
