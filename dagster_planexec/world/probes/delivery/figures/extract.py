"""Probes of a delivered file: its headers, its records and the exact sum of its amounts, without any loader.

The loader reads with DuckDB, and workbooks with calamine. Here pyarrow.csv, pyarrow.parquet and openpyxl read.

A record is what stands between line ends outside quotes. A line with nothing on it is no record; the header is none,
and neither are trailers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_planexec.world.delivery.heads import header_of
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.ingest import Counted
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.counting.parquet import count_parquet
from dagster_planexec.world.probes.delivery.counting.records import count_records
from dagster_planexec.world.probes.delivery.counting.tally import Tally, tally_of
from dagster_planexec.world.probes.delivery.counting.text import count_text
from dagster_planexec.world.probes.delivery.counting.workbook import count_sheet
from dagster_planexec.world.probes.delivery.figures.copy import OfCopy
from dagster_planexec.world.subject import Subject, landed

_READERS = {
    "delimited": "pyarrow.csv, csv module where it cannot decide",
    "parquet": "pyarrow.parquet",
    "xlsx": "openpyxl",
    "x12": "patterns over the whole text",
    "nacha": "patterns over the whole text",
}


@dataclass(frozen=True, slots=True)
class HeaderOfExtract(OfCopy):
    """Which columns does the file have? Untrimmed; none for a part without a record."""

    @property
    def reader(self) -> str:
        """The csv module, for the first record; as the counter for what is no text."""
        return "csv module, header" if self.format.kind == "delimited" else f"{_READERS[self.format.kind]}, header"

    def facts(self) -> Mapping[str, Fact]:
        """Read the first record of every part. Facts: `header`, that of the first part, and `headers`."""
        headers = tuple(header_of(part) for part in parts_of(self.path, self.format))
        return {"header": headers[0], "headers": headers}


@dataclass(frozen=True, slots=True)
class CountExtract(OfCopy):
    """How many records does the file have, and what do its amounts add up to?

    Args:
        counted: What is added up; None: records are counted and nothing else.
        at_most: Stop when so many records are found; None counts them all.
        broken: Whether records of another width than the header's, or with bytes that do not decode, are counted as
            records whose amount cannot be read. Else the first of them is an error.
    """

    counted: Counted | None = None
    at_most: int | None = None
    broken: bool = False

    @property
    def reader(self) -> str:
        """Both parsers of text: which of them had the word is decided by the file alone."""
        return _READERS[self.format.kind]

    def facts(self) -> Mapping[str, Fact]:
        """Facts: as `Tally.facts`, over all parts of the file.

        Raises:
            PortError: RAGGED_ROW with its line, BAD_ENCODING, TRUNCATED_STREAM, MISSING_COLUMN (no amount),
                AMBIGUOUS_ARCHIVE, BAD_FORMAT, BAD_AMOUNT (money in a floating type), TOO_LARGE.
        """
        return self.tally().facts()

    def tally(self) -> Tally:
        """Count, part by part, until it is enough."""
        first, *others = parts_of(self.path, self.format)
        found = self._count(first, self.at_most)
        for part in others:
            if not found.whole:
                break
            found.include(self._count(part, None if self.at_most is None else self.at_most - found.rows))
        return found

    def _count(self, part: Part, at_most: int | None) -> Tally:
        return count_part(part, self.counted, at_most, broken=self.broken)


@dataclass(frozen=True, slots=True)
class CountExtracts(Probe):
    """The same of several files together. Facts: as of one, and `each`, the rows of each."""

    parts: tuple[CountExtract, ...]

    @property
    def subject(self) -> Subject:
        """All the landed copies."""
        return landed("+".join(part.path.name[:12] for part in self.parts))

    @property
    def reader(self) -> str:
        """As of one."""
        return self.parts[0].reader

    def observe(self, ports: Ports) -> Observation:
        """Count one after another and add up. Raises as for one."""
        found, each, most = tally_of(self.parts[0].counted), list[int](), self.parts[0].at_most
        found.parts = 0
        for part in self.parts:
            if not part.path.is_file():
                return self.absent(ports, f"there is no landed copy {part.path.name[:80]}")
            one = part.tally()
            found.include(one)
            each.append(one.rows)
            if most is not None and found.rows >= most:
                found.whole = False
                break
        return self.seen(ports, {**found.facts(), "each": tuple(each)})


def count_part(part: Part, counted: Counted | None, at_most: int | None = None, *, broken: bool = False) -> Tally:
    """Count one part, by the parser of its format."""
    match part.form.kind:
        case "delimited":
            return count_text(part, counted, at_most, broken=broken)
        case "parquet":
            return count_parquet(part, counted, at_most)
        case "xlsx":
            return count_sheet(part, counted, at_most, broken=broken)
        case "x12" | "nacha":
            return count_records(part, counted, at_most)
