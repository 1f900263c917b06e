"""How a manifest or a control file is written: flat, hashable, what probes and the arrival sensor read it by."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Format = Literal["json", "csv", "lines", "pairs"]
"""`json`: an object or a list; `csv`: a header and a line per part; `lines`: a key per line; `pairs`: name=value."""
NamesAre = Literal["beside-manifest", "below-prefix", "whole-keys"]
"""What the names of parts are relative to: the manifest's folder, the drop's prefix, or nothing (also `s3://...`)."""

MOST_BYTES = 8 << 20
"""Bytes of a manifest at most: fifty thousand parts take less."""
MOST_PARTS = 50_000
MOST_NAME = 1024
"""Bytes of an S3 key at most."""


@dataclass(frozen=True, slots=True)
class PartWords:
    """Under which words a manifest states something of one part: JSON members (dotted), or columns of a CSV."""

    name: str = ""
    """Empty: a list of names, nothing else."""
    size: str = ""
    sha256: str = ""
    md5: str = ""
    rows: str = ""
    amount: str = ""


@dataclass(frozen=True, slots=True)
class WholeWords:
    """Under which words it states something of the whole delivery. What is named here must be there."""

    parts: str = ""
    rows: str = ""
    amount: str = ""
    period: str = ""
    final: str = ""


@dataclass(frozen=True, slots=True)
class ManifestForm:
    """The words of one vendor's manifest; what is not named is not read.

    Raises:
        ValueError: It states nothing, or what its format has no place for.
    """

    format: Format
    part: PartWords | None = None
    """None: a control file, which names no parts."""
    parts_at: str = ""
    """For `json`: the dotted path to the list of parts; empty if the document is the list."""
    whole: WholeWords = field(default_factory=WholeWords)
    names: NamesAre = "beside-manifest"
    delimiter: str = ","
    """For `csv` between fields, for `pairs` between name and value."""
    decimal_mark: Literal[".", ","] = "."
    thousands: Literal["", ",", ".", " ", "'"] = ""
    final_values: tuple[str, ...] = ("true", "final")
    """Values of `whole.final` that mean that the bill is final, compared in lower case."""

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            msg = f"a manifest's delimiter is one character and no quote or line end; {self.delimiter!r} is not"
            raise ValueError(msg)
        if self.thousands == self.decimal_mark:
            msg = f"a manifest's thousands and decimal mark are both {self.thousands!r}"
            raise ValueError(msg)
        if self.part is None and not any((self.whole.parts, self.whole.rows, self.whole.amount)):
            msg = "a manifest without parts states none of parts, rows and amount: there is nothing to compare"
            raise ValueError(msg)
        if self.part is not None:
            self._parts_fit(self.part)
        if self.format in {"csv", "lines"} and self.part is not None and self.whole != WholeWords():
            msg = f"a manifest of format {self.format!r} that lists parts has no place for totals of the whole"
            raise ValueError(msg)

    def _parts_fit(self, part: PartWords) -> None:
        more = any((part.size, part.sha256, part.md5, part.rows, part.amount))
        if self.format == "pairs":
            msg = "a manifest of format 'pairs' lists no parts; use csv, lines or json"
            raise ValueError(msg)
        if self.format == "lines" and (part.name or more):
            msg = "a manifest of format 'lines' has one key per line and nothing else; give PartWords() without words"
            raise ValueError(msg)
        if not part.name and (self.format == "csv" or more):
            msg = "the manifest's parts state more than a name, and `part.name` does not say which word is the name"
            raise ValueError(msg)

    @property
    def states_totals(self) -> bool:
        """Whether rows or amounts are stated, of parts or of the whole."""
        of_parts = self.part is not None and bool(self.part.rows or self.part.amount)
        return of_parts or bool(self.whole.rows or self.whole.amount)

    @property
    def amount_style(self) -> re.Pattern[str]:
        """How an amount is written; an exponent has two digits at most, so that no number fills the memory."""
        mark = re.escape(self.decimal_mark)
        whole = r"[0-9]{1,30}"
        if self.thousands:
            whole = f"(?:{whole}|[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}}){{1,9}})"
        return re.compile(f"[+-]?{whole}(?:{mark}[0-9]{{1,18}})?(?:[eE][+-]?[0-9]{{1,2}})?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manifest speaks of: names in it that lead elsewhere are refused."""

    bucket: str
    prefix: str
    """The literal start of every key of the drop."""
    pattern: str
    """A regular expression that the whole rest of a part's key must match."""
