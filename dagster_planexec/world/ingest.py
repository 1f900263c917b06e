"""What a delivered file is declared to be, in terms a loader and an independent counter can both follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

TextType = Literal["text", "integer", "decimal", "date"]
Kind = Literal["delimited", "parquet", "xlsx", "x12", "nacha"]
RECORD_KINDS: tuple[Kind, ...] = ("x12", "nacha")
"""Files of records with control values of their own, and no header: what a field is, the contract names."""
Compression = Literal["none", "gzip", "zip"]
HeaderRule = Literal["lower", "underscore_to_space", "collapse_spaces"]
"""How headers are made alike before they are compared. Blanks around them never count."""
TextRule = Literal["trim", "upper", "lower", "collapse_spaces", "remove_spaces", "strip_leading_zeros"]
"""What is done to the text of a cell before it is stored, in the contract's order; the cells it changes are counted."""
Negative = Literal["minus", "trailing_minus", "parentheses", "credit"]
"""How a number below zero is written: `-5`, `5-`, `(5)`, `5 CR` (and then `5 DR` is one above it)."""
REJECTS = "__rejects"
"""What is appended to a table's name for the table of what its load refused; no plan may write such a name."""
EXCEL_1900, EXCEL_1904 = "EXCEL_1900", "EXCEL_1904"
"""Date formats that are no strptime format: day numbers of a spreadsheet, in either of its calendars."""


MOST_DECODED = 4 * 1024**3
"""Bytes of one delivered file, decoded, unless its contract says otherwise."""


@dataclass(frozen=True, slots=True)
class Trailer:
    """A record at the end of a file that is no data, and what it states about those above it."""

    equals: str | None = None
    """The whole text of its first field, trimmed."""
    starts_with: str | None = None
    """What its first field begins with. One of the two is given."""
    rows: int | None = None
    """The field (from 1) that states how many records of data there are."""
    sums: tuple[tuple[str, int], ...] = ()
    """(column of the table, field): the field states the sum of that column, written as the column's cells are."""
    required: bool = True
    """Whether a file must have it: a file that was cut off has lost it."""

    def matches(self, first: str) -> bool:
        """Whether a record whose first field is this one is such a trailer."""
        text = first.strip()
        return text == self.equals if self.equals is not None else text.startswith(self.starts_with or "\0")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How bytes become fields. Declared, never sniffed."""

    encoding: str = "utf-8"
    """`utf-8` (a byte order mark is accepted and dropped) or any Python codec name."""
    delimiter: str = ","
    quote: str = '"'
    """Empty: nothing is quoted, a quote is a character like any other."""
    compression: Compression = "none"
    max_bytes: int = MOST_DECODED
    """Bytes at most, decoded: a few kilobytes can unfold to any number of them."""
    kind: Kind = "delimited"
    escape: str = ""
    """What stands before a quote inside quotes; empty: the quote is doubled."""
    members: tuple[str, ...] = ()
    """Patterns (`*`, `?`) of the members of a zip archive that are data; none: it has exactly one member."""
    ignored_members: tuple[str, ...] = ()
    """Patterns of members that are not; they come first."""
    skip_lines: int = 0
    """Physical lines above the header that are passed over."""
    header: tuple[str, ...] | None = None
    """Names by position, for files that have no header; None: the first record is it."""
    header_rules: tuple[HeaderRule, ...] = ()
    repeated_headers: bool = False
    """Whether records that repeat the header, field by field, are dropped and counted; else they are data."""
    trailers: tuple[Trailer, ...] = ()
    sheet: str | None = None
    """The sheet of a workbook; None: it has exactly one."""
    record: str = ""
    """Of `x12`: the kind of segment that makes a record."""


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a number is written in a cell. What is not declared here is refused, never guessed."""

    thousands: str = ""
    decimal_mark: str = "."
    grouping: Literal["western", "indian"] = "western"
    """Digits between thousands marks: 1,234,567 or 12,34,567."""
    negatives: tuple[Negative, ...] = ("minus",)
    currency_signs: tuple[str, ...] = ()
    """Signs that may stand before or behind the number; they say nothing of the currency."""
    exponent: bool = False
    """Whether `1.5E-7` is a number."""
    zeros: tuple[str, ...] = ()
    """Words that stand for zero, as `-` in accounts."""
    minor_units: int = 0
    """For amounts in whole minor units: how many decimals they make. 2 reads 1250 as 12.50."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """One column of the table, and where and how the file holds it."""

    name: str
    """Column of the target table."""
    header: str | None
    """The header found in the file (one of the contract's aliases), or None if an optional column is not there."""
    type: TextType
    nullable: bool = False
    formats: tuple[str, ...] = ()
    """For dates: the strptime formats that are accepted, in order, or `EXCEL_1900`, `EXCEL_1904`."""
    precision: int = 18
    scale: int = 2
    """For decimals. A value with more decimals than this is rejected, never rounded."""
    number: NumberStyle = NumberStyle()
    """For decimals and integers."""
    aliases: tuple[str, ...] = ()
    """Further headers under which another file of the same request may carry it; compared after trimming."""
    minus: tuple[str, ...] = ()
    """Headers of a second column that is taken off: credits beside debits. Of the two exactly one cell is filled."""
    nulls: tuple[str, ...] = ()
    """Words that stand for an empty cell; compared after trimming."""
    zone: str = "UTC"
    """For dates whose format has an offset: the zone whose day counts."""
    values: tuple[str, ...] = ()
    """For text: the only values there are; none: any."""
    length: int | None = None
    """For text: exactly so many characters."""
    normalise: tuple[TextRule, ...] = ()
    """For text."""

    @property
    def sql_type(self) -> str:
        """The type of the table's column, as the catalogues of DuckDB and most others write it."""
        return sql_type(self.type, self.precision, self.scale)


def sql_type(kind: TextType, precision: int, scale: int) -> str:
    """The SQL type of a declared column. Money is DECIMAL, never a float."""
    match kind:
        case "text":
            return "VARCHAR"
        case "integer":
            return "BIGINT"
        case "decimal":
            return f"DECIMAL({precision},{scale})"
        case "date":
            return "DATE"


@dataclass(frozen=True, slots=True)
class SignRule:
    """Which sign an amount has by the kind of its document, where the file does not write it, or not always.

    A negative kind is below zero however its amount is written. A positive kind whose amount is below zero is refused,
    and so is a kind that is neither.
    """

    column: str
    """The column of the table that holds the kind."""
    positive: tuple[str, ...]
    negative: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """What an independent counter adds up, and how it reads it. Headers are not found yet: it finds them for itself."""

    amount: TextColumn
    sign: SignRule | None = None
    document: TextColumn | None = None
    """The column of the sign rule."""
    currency: TextColumn | None = None
    """The column by which amounts are added up apart; None: all of them together."""


@dataclass(frozen=True, slots=True)
class TextIngest:
    """A request to load one or more files of one format into one table."""

    paths: tuple[Path, ...]
    format: FileFormat
    columns: tuple[TextColumn, ...]
    target: str
    """`schema.table`, which exists with these columns."""
    rejects: str
    """`schema.table` for rejected cells: source, line, column, value (bounded), reason, and the row's amount if it can
    be read. Replaced as the target is."""
    key: tuple[str, ...] = ()
    """Columns of the table without which a row is rejected as NULL_KEY: null or blank. None are demanded if empty."""
    amount: str | None = None
    """The column of the table that says what a rejected row is worth, and that a sign rule is about."""
    sign: SignRule | None = None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a loader says it did. A claim, not a fact: the harness counts for itself."""

    rows_loaded: int
    rejects: Mapping[str, int]
    """Rejected rows by reason code (`BAD_DATE`, `SCALE_OVERFLOW`, ...)."""
    first_reject: str = ""
    """The first reject in words: line, column, bounded value, reason."""
    first_code: str = ""
    """Its code: what the load ends with."""
    reject_amounts: Mapping[str, Decimal] = field(default_factory=dict)
    """What the rejected rows whose amount can be read are worth, by reason code."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Records that were no data: `trailers`, `repeated headers`."""
    normalised: Mapping[str, int] = field(default_factory=dict)
    """Cells that a text rule changed, by column."""
