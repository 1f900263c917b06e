"""Numbers as people read them, in Python: the mark of a negative is taken off, then the currency sign, then digits.

The loader reads them with patterns, in SQL. Nothing here knows how; both follow the same declaration.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from dagster_planexec.world.ingest import NumberStyle, TextColumn

_GAPS = " \t\u00a0\u202f"
_PRECISE = 99
"""An exponent beyond it makes no number that a column could hold."""


class Numbers:
    """Reads the cells of one column.

    Args:
        column: What is declared: the style, the precision and scale of the table's column, the words for nothing.
    """

    def __init__(self, column: TextColumn) -> None:
        self.style = column.number
        self._nulls, self._zeros = frozenset(column.nulls), frozenset(column.number.zeros)
        self.scale = column.scale if column.type == "decimal" else 0
        self.whole_digits = column.precision - column.scale if column.type == "decimal" else 19
        wide = Decimal(10) ** self.whole_digits
        self._between = (-wide, wide) if column.type == "decimal" else (Decimal(-(2**63) - 1), Decimal(2**63))

    def is_empty(self, text: str) -> bool:
        """Whether there is nothing in the cell, or a word that stands for nothing."""
        cell = text.strip(" \t")
        return not cell or cell in self._nulls

    def read(self, text: str) -> Decimal | None:
        """The number of a cell that is not empty; None if it is not written as declared, or does not fit the column."""
        cell = text.strip(" \t")
        if cell in self._zeros:
            return Decimal(0)
        for digits, below, signed in self._bare(cell):
            number = self._number(digits, begins_with_digit=signed)
            if number is not None:
                value = number.copy_negate() if below else number  # a minus would round to 28 digits
                return value if self._between[0] < value < self._between[1] else None
        return None

    def _bare(self, cell: str) -> Iterator[tuple[str, bool, bool]]:
        """Every way to take marks off: what is left, whether it is below zero, whether a currency sign was there."""
        for body, below in _unmarked(cell, self.style):
            yield body, below, False
            for inner in _without_sign(body, self.style):
                yield inner, below, True
        for rest in _without_sign(cell, self.style):
            for body, below in _unmarked(rest, self.style):
                yield body, below, True

    def _number(self, text: str, *, begins_with_digit: bool) -> Decimal | None:
        mantissa, exponent = text, 0
        if self.style.exponent and (at := max(text.find("e"), text.find("E"))) >= 0:
            mantissa, power = text[:at], _power(text[at + 1 :])
            if power is None:
                return None
            exponent = power
        whole, dot, decimals = mantissa.partition(self.style.decimal_mark)
        if dot and (self.style.minor_units or not _digits(decimals)):
            return None
        if whole:
            whole = self._joined(whole)
        elif begins_with_digit or not dot:
            return None
        if whole and not _digits(whole):
            return None
        exponent -= self.style.minor_units
        if len(decimals) - exponent > self.scale:
            return None
        return Decimal((0, tuple(map(int, whole + decimals)), exponent - len(decimals)))

    def _joined(self, whole: str) -> str:
        """Digits before the decimal mark without the marks between thousands; no digits if those stand elsewhere."""
        mark = self.style.thousands
        if not mark or mark not in whole:
            return whole
        first, *groups = whole.split(mark)
        last = groups.pop()
        middle, longest = (2, 2) if self.style.grouping == "indian" else (3, 3)
        fits = 1 <= len(first) <= longest and len(last) == 3 and all(len(group) == middle for group in groups)  # noqa: PLR2004 - thousands
        return "".join((first, *groups, last)) if fits else mark


def _unmarked(cell: str, style: NumberStyle) -> Iterator[tuple[str, bool]]:
    """What is left without the mark of its sign, and whether it is below zero."""
    yield cell, False
    for kind in style.negatives:
        match kind:
            case "minus":
                if cell[:1] in {"-", "+"}:
                    yield cell[1:], cell[0] == "-"
            case "trailing_minus":
                if cell[-1:] in {"-", "+"}:
                    yield cell[:-1], cell[-1] == "-"
            case "parentheses":
                if cell.startswith("(") and cell.endswith(")"):
                    yield cell[1:-1], True
            case "credit":
                if cell[-2:] in {"CR", "Cr", "cR", "cr", "DR", "Dr", "dR", "dr"}:
                    body = cell[:-2]
                    yield body, cell[-2] in "Cc"
                    if body[-1:] and body[-1] in _GAPS:
                        yield body[:-1], cell[-2] in "Cc"


def _without_sign(cell: str, style: NumberStyle) -> Iterator[str]:
    """What is left without a currency sign before or behind it, and the blank that may stand between."""
    for sign in style.currency_signs:
        if cell.startswith(sign):
            rest = cell[len(sign) :]
            yield rest
            if rest[:1] and rest[0] in _GAPS:
                yield rest[1:]
        if cell.endswith(sign):
            rest = cell[: -len(sign)]
            yield rest
            if rest[-1:] and rest[-1] in _GAPS:
                yield rest[:-1]


def _power(text: str) -> int | None:
    """An exponent that a number of some column could have."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not _digits(digits):
        return None
    short = digits.lstrip("0")
    if len(short) > len(str(_PRECISE)):
        return None
    power = int(short or "0")
    return -power if text[0] == "-" else power


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
