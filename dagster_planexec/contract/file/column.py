"""One column of a file contract: its name in the table, its headers in files, its type, how its cells are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dagster_planexec.contract.file.dates import is_zone, wrong_format
from dagster_planexec.world.ingest import Negative, NumberStyle, TextColumn, TextRule, TextType, sql_type

Word = Annotated[str, Field(min_length=1, max_length=200)]


class Closed(BaseModel):
    """Frozen, and refuses every word it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Column(Closed):
    """One column: its name in the table, its headers in files, its type."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    """The column of the table."""
    headers: tuple[Word, ...] = ()
    """Headers under which files carry it, compared after trimming and the contract's header rules; empty: the name."""
    type: TextType
    """What the table holds."""
    required: bool = True
    """Whether a file must have the column at all."""
    nullable: bool = False
    """Whether a cell may be empty."""
    nulls: tuple[Word, ...] | None = None
    """Words that stand for an empty cell, in place of the contract's."""

    # Dates
    formats: tuple[Word, ...] = ()
    """strptime formats in order, or EXCEL_1900, EXCEL_1904. None declared: the load is refused as AMBIGUOUS_DATE."""
    zone: str = "UTC"
    """IANA zone whose day counts, for formats with an offset (%z)."""

    # Numbers
    precision: int = Field(default=18, ge=1, le=38)
    """Digits of a decimal, at most."""
    scale: int = Field(default=2, ge=0, le=30)
    """Those of them behind the decimal mark. A value with more is SCALE_OVERFLOW, never rounded."""
    thousands: Literal["", ",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "_"] = ""
    """What may stand between thousands, and then stands between all of them; empty: nothing."""
    decimal_mark: Literal[".", ","] = "."
    """What stands before the decimals."""
    grouping: Literal["western", "indian"] = "western"
    """Digits between thousands marks: 1,234,567 or 12,34,567."""
    negatives: tuple[Negative, ...] = Field(default=("minus",), min_length=1)
    """How a number below zero is written: `-5`, `5-`, `(5)`, `5 CR`."""
    currency_signs: tuple[Annotated[str, Field(min_length=1, max_length=8)], ...] = ()
    """Signs of which one may stand before or behind a number; they say nothing of the currency."""
    exponent: bool = False
    """Whether `1.5E-7` is a number."""
    zeros: tuple[Word, ...] = ()
    """Words that stand for zero."""
    minor_units: int = Field(default=0, ge=0, le=6)
    """For amounts in whole minor units: how many decimals they make. 2 reads 1250 as 12.50."""
    minus: tuple[Word, ...] = ()
    """Headers of a second column whose amounts are taken off: credits beside debits."""

    # Text
    values: tuple[Word, ...] = ()
    """The only values there are; empty: any."""
    length: int | None = Field(default=None, ge=1)
    """Exactly so many characters."""
    normalise: tuple[TextRule, ...] = ()
    """What is done to the text before it is stored, in this order."""

    @model_validator(mode="after")
    def _says_what_can_be_followed(self) -> Column:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            msg = f"column {self.name!r}: {wrong}"
            raise ValueError(msg)
        return self

    def _wrong(self) -> Iterator[str]:
        if self.scale > self.precision:
            yield f"scale {self.scale} exceeds precision {self.precision}"
        if self.thousands == self.decimal_mark:
            yield f"thousands and decimal mark are both {self.thousands!r}"
        if self.minor_units and self.minor_units > self.scale:
            yield f"minor units make {self.minor_units} decimals, and scale is {self.scale}"
        if self.minor_units and self.exponent:
            yield "minor units are whole numbers; an exponent is not declared with them"
        if any(not _is_sign(sign) for sign in self.currency_signs):
            yield "a currency sign holds a character that numbers are written with"
        if "credit" in self.negatives and any(sign.upper() in {"CR", "DR"} for sign in self.currency_signs):
            yield "CR and DR say the sign of an amount, so neither is a currency sign"
        for word, kinds in _BELONG.items():
            if self.type not in kinds and getattr(self, word) != type(self).model_fields[word].default:
                yield f"{word} is for {' and '.join(kinds)} columns, this is {self.type}"
        for form in self.formats:
            wrong = wrong_format(form)
            if wrong is not None:
                yield f"the date format {form[:80]!r} makes no whole day: {wrong}"
        if not is_zone(self.zone):
            yield f"there is no zone {self.zone[:60]!r}; name an IANA zone, such as Europe/London"

    @property
    def sql_type(self) -> str:
        """The type of the table's column, as a catalogue writes it."""
        return sql_type(self.type, self.precision, self.scale)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every header under which a file may carry it."""
        return self.headers or (self.name,)

    @property
    def number(self) -> NumberStyle:
        """How its numbers are written."""
        return NumberStyle(
            self.thousands, self.decimal_mark, self.grouping, self.negatives, self.currency_signs, self.exponent,
            self.zeros, self.minor_units,
        )  # fmt: skip

    def in_file(self, header: str | None, nulls: tuple[str, ...]) -> TextColumn:
        """The column as one file holds it: under this header, or not at all."""
        return TextColumn(
            self.name, header, self.type, self.nullable, self.formats, self.precision, self.scale, self.number,
            self.aliases, self.minus, nulls if self.nulls is None else self.nulls, self.zone, self.values, self.length,
            self.normalise,
        )  # fmt: skip


def _is_sign(sign: str) -> bool:
    """Whether a currency sign can be told from the number beside it. `EUR` can, and so can `Rs.`."""
    return (
        not any(character in "0123456789+-()" for character in sign)
        and sign == sign.strip()
        and sign[0] not in ".,"
        and sign.upper() != "E"
    )


_NUMBERS = ("decimal", "integer")
_BELONG: dict[str, tuple[str, ...]] = {
    "formats": ("date",),
    "zone": ("date",),
    "thousands": _NUMBERS,
    "decimal_mark": _NUMBERS,
    "grouping": _NUMBERS,
    "negatives": _NUMBERS,
    "currency_signs": _NUMBERS,
    "exponent": _NUMBERS,
    "zeros": _NUMBERS,
    "minor_units": ("decimal",),
    "minus": ("decimal",),
    "values": ("text",),
    "length": ("text",),
    "normalise": ("text",),
}
"""Words that mean something for some types only; elsewhere they would be ignored in silence."""
