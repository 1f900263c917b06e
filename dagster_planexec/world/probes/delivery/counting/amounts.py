"""Amounts of a file, read and added up exactly, in other words than the loader's."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from dagster_planexec.world.delivery.text.numbers import Numbers
from dagster_planexec.world.delivery.text.texts import Texts
from dagster_planexec.world.ingest import Counted

if TYPE_CHECKING:
    import pyarrow as pa

_PLACES, _DIGITS = 18, 14
"""Digits behind and before the point that are few enough for pyarrow's 38 to hold a batch's sum. A longer amount is
added up one by one."""
_FEW = 64
"""Currencies, and combinations of currency and kind of document, that are told apart."""
OTHERS = "(others)"
"""What amounts of further currencies are added up under."""
EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])

_Kind = Literal["as written", "positive", "negative", "unknown"]


class Amounts:
    """Adds up amounts exactly, together and by currency, and counts what is none.

    A row's cells come in one order: the amount, and then, where they are declared, the column that is taken off, the
    kind of the document, the currency.
    """

    def __init__(self, counted: Counted) -> None:
        self.total, self.unparsable, self.empty = Decimal(0), 0, 0
        self.sums: dict[str, Decimal] = {}
        """By currency, if a currency is counted."""
        self._numbers, self._sign = Numbers(counted.amount), counted.sign
        self._minus = bool(counted.amount.minus)
        self._document = None if counted.document is None else Texts(counted.document)
        self._currency = None if counted.currency is None else Texts(counted.currency)
        self._plain = _plain(self._numbers, counted)

    def add(self, cells: Sequence[str]) -> None:
        """Add one row."""
        rest = list(cells)
        amount = rest.pop(0)
        taken_off = rest.pop(0) if self._minus else None
        kind = self._kind(rest.pop(0)) if self._document is not None else "as written"
        currency = self._named(rest.pop(0)) if self._currency is not None else None
        if taken_off is None:
            self._add(amount, kind, currency)
        elif self._numbers.is_empty(amount) == self._numbers.is_empty(taken_off):
            self.unparsable += 1
        elif self._numbers.is_empty(taken_off):
            self._add(amount, kind, currency)
        else:
            self._add(taken_off, kind, currency, taken_off=True)

    def add_batch(self, columns: Sequence[pa.Array]) -> None:
        """Add many rows, column by column; the same, and fast where amounts are plain."""
        import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only needed here

        if self._minus:
            self._one_by_one(columns)
            return
        amounts, *told = columns
        words = [[str(word) for word in pc.unique(column).to_pylist()] for column in told]
        if not told:
            self._add_column(amounts, "as written", None)
        elif _product(words) > _FEW:
            self._one_by_one(columns)
        else:
            for first in words[0]:
                some = pc.equal(told[0], first)
                for second in words[1] if len(told) > 1 else [""]:
                    mask = pc.and_(some, pc.equal(told[1], second)) if len(told) > 1 else some
                    kind = self._kind(first) if self._document is not None else "as written"
                    currency = None if self._currency is None else self._named(second if len(told) > 1 else first)
                    self._add_column(amounts.filter(mask), kind, currency)

    def include(self, other: Amounts) -> None:
        """Take in what was added up elsewhere by the same declaration."""
        self.total = EXACT.add(self.total, other.total)
        self.unparsable += other.unparsable
        self.empty += other.empty
        for currency, amount in other.sums.items():
            known = currency if currency in self.sums or len(self.sums) < _FEW else OTHERS
            self.sums[known] = EXACT.add(self.sums.get(known, Decimal(0)), amount)

    def skip(self) -> None:
        """Count a row whose amount nobody can read."""
        self.unparsable += 1

    def _one_by_one(self, columns: Sequence[pa.Array]) -> None:
        for cells in zip(*(column.to_pylist() for column in columns), strict=True):
            self.add(cells)

    def _add_column(self, column: pa.Array, kind: _Kind, currency: str | None) -> None:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
        import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only needed here

        style = self._numbers.style
        plain = pc.match_substring_regex(column, self._plain)
        if kind == "unknown":
            plain = pc.and_(plain, False)
        texts = column.filter(plain)
        if len(texts) < len(column):
            for text in column.filter(pc.invert(plain)).to_pylist():
                self._add(text, kind, currency)
        if not len(texts):
            return
        if style.thousands:
            texts = pc.replace_substring(texts, style.thousands, "")
        if style.decimal_mark != ".":
            texts = pc.replace_substring(texts, style.decimal_mark, ".")
        if kind == "negative":
            texts = pc.replace_substring_regex(texts, "^[+-]", "")
        found = pc.cast(texts, pa.decimal128(38, _PLACES))
        if kind == "positive":
            fits = pc.greater_equal(found, pa.scalar(Decimal(0), pa.decimal128(38, _PLACES)))
            self.unparsable += len(found) - (pc.sum(fits).as_py() or 0)
            found = found.filter(fits)
        total = pc.sum(found).as_py() or Decimal(0)
        total = EXACT.scaleb(total, -style.minor_units)
        self._count(total.copy_negate() if kind == "negative" else total, currency)

    def _add(self, text: str, kind: _Kind, currency: str | None, *, taken_off: bool = False) -> None:
        if self._numbers.is_empty(text):
            self.empty += 1
            return
        number = self._numbers.read(text)
        if number is not None and taken_off:
            number = number.copy_negate()
        if number is None or kind == "unknown" or (kind == "positive" and number < 0):
            self.unparsable += 1
        else:
            self._count(number.copy_abs().copy_negate() if kind == "negative" else number, currency)

    def _count(self, number: Decimal, currency: str | None) -> None:
        self.total = EXACT.add(self.total, number)
        if currency is not None:
            self.sums[currency] = EXACT.add(self.sums.get(currency, Decimal(0)), number)

    def _kind(self, cell: str) -> _Kind:
        word = None if self._document is None else self._document.read(cell)
        if self._sign is None or word is None:
            return "unknown"
        return "negative" if word in self._sign.negative else "positive" if word in self._sign.positive else "unknown"

    def _named(self, cell: str) -> str:
        """The currency of a row, empty if it has none; they are as many as a file likes, and few are told apart."""
        word = (self._currency.read(cell) if self._currency is not None else None) or ""
        return word if word in self.sums or len(self.sums) < _FEW else OTHERS


def _plain(numbers: Numbers, counted: Counted) -> str:
    """The pattern of amounts that pyarrow may read: each of them is as declared, and fits."""
    style, whole = numbers.style, min(_DIGITS, numbers.whole_digits)
    places = 0 if style.minor_units else min(_PLACES, numbers.scale)
    digits = f"[0-9]{{1,{whole}}}"
    if style.thousands and style.grouping == "western" and whole >= 12:  # noqa: PLR2004 - four groups of three
        digits = f"(?:{digits}|[0-9]{{1,3}}(?:{re.escape(style.thousands)}[0-9]{{3}}){{1,3}})"
    decimals = f"(?:{re.escape(style.decimal_mark)}[0-9]{{1,{places}}})?" if places else ""
    pattern = f"^{'[+-]?' if 'minus' in style.negatives else ''}{digits}{decimals}$"
    words = (*counted.amount.nulls, *style.zeros)
    never = whole < 1 or any(re.fullmatch(pattern[1:-1], word) for word in words)
    return "a^" if never else pattern  # nothing stands before the beginning


def _product(words: Sequence[Sequence[str]]) -> int:
    found = 1
    for some in words:
        found *= len(some)
    return found


def shortest(amount: Decimal) -> Decimal:
    """The same number without trailing zeros behind the decimal point."""
    short = EXACT.normalize(amount)
    exponent = short.as_tuple().exponent
    return short if isinstance(exponent, int) and exponent <= 0 else EXACT.quantize(short, Decimal(1))
