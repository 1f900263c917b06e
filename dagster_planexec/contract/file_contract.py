"""File contracts: what a delivered file (or an input table) is declared to be. YAML beside the task, never sniffed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from dagster_planexec.contract.file.column import Closed, Column, Word
from dagster_planexec.contract.file.reading import read_yaml
from dagster_planexec.contract.file.rules import Allowed, Currency, Final, Sign, TrailerRule, Window
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.delimited import codec_named, no_encoding
from dagster_planexec.world.delivery.text.headers import normal_header
from dagster_planexec.world.ingest import (
    MOST_DECODED,
    RECORD_KINDS,
    Compression,
    Counted,
    FileFormat,
    HeaderRule,
    Kind,
    TextColumn,
)

SUFFIXES: dict[str, tuple[Kind, Compression]] = {
    ".csv": ("delimited", "none"),
    ".tsv": ("delimited", "none"),
    ".txt": ("delimited", "none"),
    ".csv.gz": ("delimited", "gzip"),
    ".tsv.gz": ("delimited", "gzip"),
    ".txt.gz": ("delimited", "gzip"),
    ".zip": ("delimited", "zip"),
    ".parquet": ("parquet", "none"),
    ".xlsx": ("xlsx", "none"),
    ".edi": ("x12", "none"),
    ".ach": ("nacha", "none"),
}
"""File suffix to format and compression. A suffix that is not here is refused unless the contract declares both: what
has no independent counter is not offered."""
REJECT_CODES = ("BAD_AMOUNT", "BAD_DATE", "SCALE_OVERFLOW", "RAGGED_ROW", "BAD_ENCODING", "NULL_KEY", "UNKNOWN_VALUE")
"""Codes with which a row can be rejected."""
_BELONG: dict[str, tuple[Kind, ...]] = {
    "encoding": ("delimited", "x12", "nacha"),
    "delimiter": ("delimited",),
    "quote": ("delimited",),
    "escape": ("delimited",),
    "sheet": ("xlsx",),
    "record": ("x12",),
    "skip_lines": ("delimited", "xlsx"),
    "header": ("delimited", "xlsx"),
    "repeated_headers": ("delimited", "xlsx"),
    "trailers": ("delimited", "xlsx"),
}
"""Words that mean something for some formats only; where the contract names another, they would be ignored in silence.
Where the suffix says which format it is, one contract may be of several."""


class FileContract(Closed):
    """What is declared about a delivery, and about the table it becomes."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    version: str
    unconfirmed: tuple[str, ...] = ()
    """What `planexec infer` guessed and nobody has confirmed yet. A contract with any is a draft, and loads nothing."""

    # Bytes
    format: Kind | None = None
    """Null: by the suffix of the object's key."""
    compression: Compression | None = None
    """Null: by the suffix."""
    members: tuple[Word, ...] = ()
    """Patterns of the members of a zip archive that are data. None declared: the archive has exactly one member."""
    ignored_members: tuple[Word, ...] = ()
    """Patterns of members that are not data; a member that no pattern knows is AMBIGUOUS_ARCHIVE."""
    max_bytes: int = Field(default=MOST_DECODED, ge=1)
    """Bytes of one file at most, decoded; a longer one is TOO_LARGE, whatever its size in the drop."""

    # Fields
    encoding: str = "utf-8"
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    quote: str | None = Field(default='"', min_length=1, max_length=1)
    """Null: nothing is quoted."""
    escape: str | None = Field(default=None, min_length=1, max_length=1)
    """What stands before a quote inside quotes. Null: the quote is doubled."""
    sheet: str | None = None
    """The sheet of a workbook. Null: it has exactly one."""
    record: str | None = Field(default=None, pattern=r"^[A-Z][A-Z0-9]{1,2}$")
    """Of an X12 file: the kind of segment that makes a row, e.g. IT1."""

    # Records
    skip_lines: int = Field(default=0, ge=0, le=1000)
    """Physical lines above the header."""
    header: bool = True
    """False: there is none, and the columns stand in the order of this contract."""
    normalise_headers: tuple[HeaderRule, ...] = ()
    """How headers and aliases are made alike before they are compared."""
    other_columns: Literal["refuse", "ignore"] = "refuse"
    """What becomes of a column that the contract does not know: UNKNOWN_COLUMN, or it is left out."""
    repeated_headers: Literal["refuse", "drop"] = "refuse"
    """What becomes of a record that repeats the header: data, which will not convert, or dropped and counted."""
    trailers: tuple[TrailerRule, ...] = ()
    nulls: tuple[Word, ...] = ()
    """Words that stand for an empty cell, in every column that names none of its own."""
    columns: tuple[Column, ...] = Field(min_length=1)
    allowed_rejects: Allowed | None = None
    """Null: any reject stops the load."""

    # Meaning
    key: tuple[str, ...] = Field(min_length=1)
    """Columns that together identify a row; compared as trimmed text."""
    unique_key: bool = True
    amount: str
    """The column that holds money."""
    sign: Sign | None = None
    currency: Currency | None = None
    """ISO 4217 code of every amount."""
    currency_column: str | None = None
    """The column that says so row by row. Another word than `currency` in it is MIXED_CURRENCY."""
    currencies: dict[Currency, int] = Field(default_factory=dict)
    """For files of several currencies: each with its minor units. Amounts are then added up by currency only."""
    date: str | None
    """The column that says which period a row belongs to; null if there is none."""
    min_rows: int = Field(default=1, ge=0)
    every_month: bool = True
    """Whether each month of the period must have rows."""
    every_day: bool = False
    """Whether each day of it must."""
    window: Window | None = None
    """Null: rows outside the period are named and not judged."""
    final_when: tuple[Final, ...] = ()
    """All of these hold for a line that is final. None declared: nothing says that a bill is an estimate."""

    @model_validator(mode="after")
    def _can_be_followed(self) -> FileContract:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            raise ValueError(wrong)
        return self

    def _wrong(self) -> Iterator[str]:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            yield "two columns have one name"
            return
        if len(set(self.key)) != len(self.key):
            yield "key names one column twice"
        headers = [self.normal(header) for column in self.columns for header in (*column.aliases, *column.minus)]
        if len(set(headers)) != len(headers):
            yield "one header belongs to two columns"
        for role, name in self._named():
            if name not in names:
                yield f"{role} names {name!r}, which is not a column"
                return
        if self.column(self.amount).type != "decimal":
            yield f"amount column {self.amount!r} is not a decimal"
        if self.date is not None and self.column(self.date).type != "date":
            yield f"date column {self.date!r} is not a date"
        for role, name in self._named():
            kind = self.column(name).type
            if role in {"sign", "currency_column", "final_when"} and kind != "text":
                yield f"{role} column {name!r} is not text"
            if role == "trailers.sums" and kind not in {"decimal", "integer"}:
                yield f"a trailer states the sum of {name!r}, which is not a number"
        yield from self._wrong_currencies()
        yield from self._wrong_fields()

    def _named(self) -> Iterator[tuple[str, str]]:
        yield from (("key", name) for name in self.key)
        yield "amount", self.amount
        if self.date is not None:
            yield "date", self.date
        if self.sign is not None:
            yield "sign", self.sign.column
        if self.currency_column is not None:
            yield "currency_column", self.currency_column
        yield from (("final_when", final.column) for final in self.final_when)
        yield from (("trailers.sums", name) for trailer in self.trailers for name in trailer.sums)

    def _wrong_currencies(self) -> Iterator[str]:
        if (self.currency is None) == (not self.currencies):
            yield "currency: name the one of every amount in `currency`, or those there may be in `currencies`"
        if self.currencies and self.currency_column is None:
            yield "currencies are declared, and no currency_column says which a row has"
        scale = self.column(self.amount).scale
        fine = [code for code, units in self.currencies.items() if not 0 <= units <= scale]
        if fine:
            yield f"currencies.{fine[0]} has {self.currencies[fine[0]]} minor units, and the amount's scale is {scale}"

    def _wrong_fields(self) -> Iterator[str]:
        if codec_named(self.encoding) is None:
            yield no_encoding(self.encoding)
        if self.sign is not None and set(self.sign.positive) & set(self.sign.negative):
            yield "sign: one kind of document is positive and negative"
        for role, mark in (("delimiter", self.delimiter), ("quote", self.quote), ("escape", self.escape)):
            if mark is not None and (not mark.isascii() or mark.isalnum() or mark in "\r\n\0"):
                yield f"{role} is {mark!r}: it is one ASCII character, and no letter, digit, line end or NUL"
            elif mark is not None and role != "delimiter" and mark in " \t":
                yield f"{role} is a blank"
        if self.delimiter in {self.quote, self.escape}:  # quote and escape alike: the quote is doubled
            yield f"delimiter and {'quote' if self.delimiter == self.quote else 'escape'} are both {self.delimiter!r}"
        if self.quote is None and self.escape is not None:
            yield "escape stands before a quote, and nothing is quoted"
        if not self.header and (self.normalise_headers or self.repeated_headers == "drop"):
            yield "header is false, so there is none to be made alike or repeated"
        if not self.header and any(not column.required for column in self.columns):
            yield "header is false, so columns are found by position: none can be missing"
        if not self.header and any(column.minus for column in self.columns):
            yield "header is false, and `minus` is found by its header"
        unheard = next((word for word in _BELONG if self._says(word) and not self._is_heard(word)), None)
        if unheard is not None:
            yield f"{unheard} is for {' and '.join(_BELONG[unheard])} files, and format is {self.format}"
        if self.compression not in {None, "zip"} and (self.members or self.ignored_members):
            yield f"members are of a zip archive, and compression is {self.compression}"
        if self.format == "x12" and self.record is None:
            yield "format is x12, and `record` does not say which segment makes a row, e.g. IT1"
        unknown = (
            [code for code in self.allowed_rejects.codes if code not in REJECT_CODES] if self.allowed_rejects else []
        )
        if unknown:
            yield f"allowed_rejects names {unknown[0][:40]!r}; a row is rejected with {', '.join(REJECT_CODES)}"

    def _says(self, word: str) -> bool:
        return bool(getattr(self, word) != type(self).model_fields[word].default)

    def _is_heard(self, word: str) -> bool:
        return self.format is None or self.format in _BELONG[word]

    def column(self, name: str) -> Column:
        """The column of that name; StopIteration never leaves the validators above."""
        return next(column for column in self.columns if column.name == name)

    def normal(self, header: str) -> str:
        """A header as it is compared."""
        return normal_header(header, self.normalise_headers)

    def format_of(self, key: str) -> FileFormat:
        """How to read an object of that key.

        Raises:
            PlanexecError: BAD_CONTRACT if its suffix is not one that can be counted independently, and the contract
                does not declare the format.
        """
        suffix = next((s for s in sorted(SUFFIXES, key=len, reverse=True) if key.endswith(s)), None)
        if suffix is None and (self.format is None or self.compression is None):
            raise PlanexecError(
                "BAD_CONTRACT",
                f"file {key[-80:]!r} has none of the suffixes {', '.join(SUFFIXES)}",
                hint="format and compression are declared by the suffix, or both in the contract; never sniffed",
            )
        kind, compression = SUFFIXES[suffix] if suffix is not None else ("delimited", "none")
        named = kind if self.format is None else self.format
        by_name = not self.header or named in RECORD_KINDS
        return FileFormat(
            self.encoding, self.delimiter, self.quote or "", self.compression or compression, self.max_bytes,
            self.format or kind, self.escape or "", self.members, self.ignored_members, self.skip_lines,
            tuple(column.aliases[0] for column in self.columns) if by_name else None, self.normalise_headers,
            self.repeated_headers == "drop", tuple(trailer.flat for trailer in self.trailers), self.sheet,
            self.record or "",
        )  # fmt: skip

    @property
    def in_words(self) -> str:
        """The currency of its amounts, as it stands behind a figure."""
        return self.currency or "/".join(self.currencies)

    @property
    def broken_may_be_refused(self) -> bool:
        """Whether a load goes on at a record that has no cells: one of another width, or that does not decode."""
        allowed = self.allowed_rejects
        return allowed is not None and not {"RAGGED_ROW", "BAD_ENCODING"}.isdisjoint(allowed.codes)

    @property
    def counted(self) -> Counted:
        """What is counted in its files beside their records."""

        def read(name: str | None) -> TextColumn | None:
            return None if name is None else self.column(name).in_file(None, self.nulls)

        return Counted(
            self.column(self.amount).in_file(None, self.nulls),
            None if self.sign is None else self.sign.flat,
            read(None if self.sign is None else self.sign.column),
            read(self.currency_column),
        )

    def columns_for(self, header: tuple[str, ...]) -> tuple[TextColumn, ...]:
        """The table's columns, each with the header that this file carries it under (None if it does not)."""
        present = {self.normal(name): name for name in header}
        return tuple(
            column.in_file(
                next((present[self.normal(a)] for a in column.aliases if self.normal(a) in present), None), self.nulls
            )
            for column in self.columns
        )


def load_contract(path: Path, *, draft: bool = False) -> FileContract:
    """Read a contract from YAML.

    Args:
        path: The file.
        draft: Whether one with unconfirmed guesses will do, for trying it.

    Raises:
        PlanexecError: BAD_CONTRACT with every field that is wrong, or with what is still a guess.
    """
    contract = read_yaml(path, FileContract, whole="contract", page="docs/contracts.md")
    if contract.unconfirmed and not draft:
        raise PlanexecError(
            "BAD_CONTRACT",
            f"{path.name} is a draft: {len(contract.unconfirmed)} of its words are guesses, the first of "
            f"{', '.join(contract.unconfirmed[:3])[:200]}",
            hint="ask the vendor, correct or keep each word, and take it out of `unconfirmed`",
        )
    return contract
