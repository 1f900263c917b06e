"""What a text file is declared to be, in terms a loader and an independent counter can both follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TextType = Literal["text", "integer", "decimal", "date"]
Compression = Literal["none", "gzip"]
REJECTS = "__rejects"
"""What is appended to a table's name for the table of what its load refused; no plan may write such a name."""


MOST_DECODED = 4 * 1024**3
"""Bytes of one delivered file, decoded, unless its contract says otherwise."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How bytes become fields. Declared, never sniffed."""

    encoding: str = "utf-8"
    """`utf-8` (a byte order mark is accepted and dropped) or any Python codec name."""
    delimiter: str = ","
    quote: str = '"'
    compression: Compression = "none"
    max_bytes: int = MOST_DECODED
    """Bytes at most, decoded: a few kilobytes can unfold to any number of them."""


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
    """For dates: the strptime formats that are accepted, in order."""
    precision: int = 18
    scale: int = 2
    """For decimals. A value with more decimals than this is rejected, never rounded."""
    thousands: str = ""
    decimal_mark: str = "."
    aliases: tuple[str, ...] = ()
    """Further headers under which another file of the same request may carry it; compared after trimming."""

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
class TextIngest:
    """A request to load one or more files of one format into one table."""

    paths: tuple[Path, ...]
    format: TextFormat
    columns: tuple[TextColumn, ...]
    target: str
    """`schema.table`, which exists with these columns."""
    rejects: str
    """`schema.table` for rejected cells: source, line, column, value (bounded), reason. Replaced as the target is."""


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
