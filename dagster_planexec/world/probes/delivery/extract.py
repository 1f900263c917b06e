"""Probes of a delivered text file: its header, its records and the exact sum of its amounts, without any loader.

The loader reads with DuckDB. Here pyarrow.csv reads, which is as fast and was written by others; where it cannot decide
(it takes an unclosed quote for the end of the file, and cannot name a line) Python's csv module has the word.

A record is what stands between line ends outside quotes. A line with nothing on it is no record; the header is none.
"""

from __future__ import annotations

import codecs
import io
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.delimited import (
    bad_encoding,
    codec_of,
    header_of,
    ragged,
    raw_bytes,
    records,
    shown,
    undecoded,
)
from dagster_planexec.world.ingest import Counted, FileFormat, TextColumn
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.amounts import EXACT, Amounts, shortest
from dagster_planexec.world.subject import Subject, landed

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class HeaderOfExtract(Probe):
    """Which columns does the file have? Facts: `header`, untrimmed; empty for a file without a record."""

    path: Path
    format: FileFormat

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    @property
    def reader(self) -> str:
        """The csv module, for the first record."""
        return "csv module, header"

    def observe(self, ports: Ports) -> Observation:
        """Read the first record."""
        if not self.path.is_file():
            return self.absent(ports, "there is no landed copy of that digest")
        return self.seen(ports, {"header": header_of(self.path, self.format)})


@dataclass(frozen=True, slots=True)
class CountExtract(Probe):
    """How many records does the file have, and what do its amounts add up to?

    Args:
        path: The landed copy.
        format: How its bytes become fields.
        counted: What is added up; None: records are counted and nothing else.
        at_most: Stop when so many records are found; None counts them all.
        broken: Whether records of another width than the header's, or with bytes that do not decode, are counted as
            records whose amount cannot be read. Else the first of them is an error.
    """

    path: Path
    format: FileFormat
    counted: Counted | None = None
    at_most: int | None = None
    broken: bool = False

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    @property
    def reader(self) -> str:
        """Both parsers: which of them had the word is decided by the file alone."""
        return "pyarrow.csv, csv module where it cannot decide"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows`, `sum` (of the amounts that can be read), `unparsable`, `empty`, `whole` (all was counted).

        And `sums` by currency, if a currency is counted.

        Raises:
            PortError: RAGGED_ROW with its line, BAD_ENCODING, TRUNCATED_STREAM, MISSING_COLUMN (no amount).
        """
        if not self.path.is_file():
            return self.absent(ports, "there is no landed copy of that digest")
        return self.seen(ports, self.tally().facts())

    def tally(self) -> Tally:
        """Count."""
        header = [name.strip() for name in header_of(self.path, self.format)]
        if not header:
            return Tally(_amounts(self))
        return (None if self.broken else _by_arrow(self, header)) or _by_csv(self, header)


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
        total, each, whole, most = Decimal(0), [], True, self.parts[0].at_most
        rows = unparsable = empty = 0
        sums: dict[str, Decimal] = {}
        for part in self.parts:
            if not part.path.is_file():
                return self.absent(ports, f"there is no landed copy {part.path.name[:80]}")
            found = part.tally()
            each.append(found.rows)
            rows += found.rows
            unparsable += found.amounts.unparsable
            empty += found.amounts.empty
            total = EXACT.add(total, found.amounts.total)
            for currency, amount in found.amounts.sums.items():
                sums[currency] = EXACT.add(sums.get(currency, Decimal(0)), amount)
            if not found.whole or (most is not None and rows >= most):
                whole = False
                break
        facts: dict[str, Fact] = {
            "rows": rows,
            "sum": shortest(total),
            "unparsable": unparsable,
            "empty": empty,
            "whole": whole,
        }
        by_currency = {"sums": {name: shortest(amount) for name, amount in sorted(sums.items())}} if sums else {}
        return self.seen(ports, {**facts, **by_currency, "each": tuple(each)})


@dataclass(slots=True)
class Tally:
    """What was counted."""

    amounts: Amounts
    rows: int = 0
    whole: bool = True

    def facts(self) -> dict[str, Fact]:
        """As facts of an observation."""
        facts: dict[str, Fact] = {
            "rows": self.rows,
            "sum": shortest(self.amounts.total),
            "unparsable": self.amounts.unparsable,
            "empty": self.amounts.empty,
            "whole": self.whole,
        }
        if self.amounts.sums:
            facts["sums"] = {name: shortest(amount) for name, amount in sorted(self.amounts.sums.items())}
        return facts

    def is_enough(self, at_most: int | None) -> bool:
        """Whether counting may stop; what is beyond is not reported."""
        if at_most is None or self.rows < at_most:
            return False
        self.rows, self.whole = at_most, False
        return True


NOTHING = Counted(TextColumn("amount", None, "decimal"))
"""What is read of no file: where only records are counted."""


def _amounts(extract: CountExtract) -> Amounts:
    return Amounts(extract.counted or NOTHING)


def _places(extract: CountExtract, header: list[str]) -> tuple[int, ...]:
    """Where the cells stand that are counted, in the order in which `Amounts` takes them; none: nothing is counted."""
    counted = extract.counted
    if counted is None:
        return ()
    wanted = [("the amount", counted.amount.aliases)]
    if counted.amount.minus:
        wanted.append(("what is taken off the amount", counted.amount.minus))
    if counted.document is not None:
        wanted.append(("the kind of document", counted.document.aliases))
    if counted.currency is not None:
        wanted.append(("the currency", counted.currency.aliases))
    return tuple(_place(extract, header, what, names) for what, names in wanted)


def _place(extract: CountExtract, header: list[str], what: str, names: tuple[str, ...]) -> int:
    known = {name.strip() for name in names}
    at = [index for index, name in enumerate(header) if name in known]
    if len(at) == 1:
        return at[0]
    seen = "no column" if not at else f"{len(at)} columns"
    raise PortError(
        "MISSING_COLUMN",
        f"{extract.path.name} has {seen} for {what} ({' or '.join(shown(n) for n in sorted(known))})",
        hint="ask the vendor, or add the new header to the contract",
    )


def _by_arrow(extract: CountExtract, header: list[str]) -> Tally | None:
    """The fast count; None if pyarrow cannot decide."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    from pyarrow import csv  # noqa: PLC0415 - heavy, and only needed here

    if len(header) == 1:
        return None  # an empty line and an empty cell look the same
    places = _places(extract, header)
    names = [f"f{index}" for index in range(len(header))]
    wanted = [names[at] for at in places] or names[:1]
    found = Tally(_amounts(extract))
    with raw_bytes(extract.path, extract.format) as raw:
        source = _Utf8(raw, extract)
        try:
            with (
                csv.open_csv(
                    pa.PythonFile(source, mode="r"),
                    read_options=csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=_BLOCK),
                    parse_options=csv.ParseOptions(
                        delimiter=extract.format.delimiter, quote_char=extract.format.quote, newlines_in_values=True
                    ),
                    convert_options=csv.ConvertOptions(
                        check_utf8=False,  # checked on the way in, and for every column
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        strings_can_be_null=False,
                    ),
                ) as batches,
                ThreadPoolExecutor(max_workers=1) as adder,
            ):
                # One batch is added up while the next is parsed; no more than these two are held.
                adding: Future[None] | None = None
                for batch in batches:
                    if adding is not None:
                        adding.result()
                    found.rows += batch.num_rows
                    if found.is_enough(extract.at_most):
                        return found
                    if places:
                        adding = adder.submit(found.amounts.add_batch, batch.columns)
                if adding is not None:
                    adding.result()
        except Exception as error:
            if source.error is not None:
                raise source.error from error  # pyarrow may have put another in its place
            if isinstance(error, pa.ArrowInvalid):
                return None
            raise
    return found if source.quotes % 2 == 0 else None


def _by_csv(extract: CountExtract, header: list[str]) -> Tally:
    """The slow count, which names the line of what is wrong."""
    places = _places(extract, header)
    found = Tally(_amounts(extract))
    all_records = records(extract.path, extract.format, errors="surrogateescape" if extract.broken else "strict")
    next(all_records)
    for record in all_records:
        fits = len(record.fields) == len(header)
        if not fits and not extract.broken:
            raise ragged(extract.path, record, len(header))
        found.rows += 1
        if found.is_enough(extract.at_most):
            break
        if extract.broken and not (fits and not any(undecoded(text) for text in record.fields)):
            found.amounts.skip()
        elif places:
            found.amounts.add([record.fields[at] for at in places])
    return found


class _Utf8(io.RawIOBase):
    """A file's bytes as UTF-8, decoded strictly on the way; counts quotes."""

    def __init__(self, raw: BinaryIO, extract: CountExtract) -> None:
        super().__init__()
        codec = codec_of(extract.format)
        self.quotes = 0
        self.error: Exception | None = None
        self._raw, self._extract = raw, extract
        self._decoder = codecs.getincrementaldecoder(codec)("strict")
        self._as_it_is = codec == "utf-8-sig"
        self._quote = extract.format.quote.encode()
        self._started = self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes of the file, as UTF-8 (a few more of other encodings are kept for the next read)."""
        try:
            return self._read(size)
        except UnicodeDecodeError as error:
            self.error = bad_encoding(self._extract.path, self._extract.format, error)
            raise
        except Exception as error:
            self.error = error
            raise

    def _read(self, size: int) -> bytes:
        while not self._ended:
            # UTF-8 is at most three times as long as what it is made from, in the encodings there are.
            chunk = self._raw.read(size if self._as_it_is or size < 0 else max(1, size // 3))
            self._ended = not chunk
            text = self._decoder.decode(chunk, final=self._ended)
            out = chunk if self._as_it_is else text.encode()
            if not self._started:  # to pyarrow the first line is the header, also a blank one
                out = out.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
                self._started = bool(out)
            if out:
                self.quotes += out.count(self._quote)
                return out
        return b""

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever pyarrow hands in
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
