"""Amounts of a file, read and added up exactly, in other words than the loader's."""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from dagster_planexec.world.ingest import NumberStyle

if TYPE_CHECKING:
    import pyarrow as pa

_PLACES = 18
EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


class Amounts:
    """Adds up amounts exactly, and counts what is none."""

    def __init__(self, style: NumberStyle) -> None:
        thousands, decimal_mark = style.thousands, style.decimal_mark
        whole, mark = "[0-9]+", re.escape(decimal_mark)
        if thousands:
            whole = f"(?:[0-9]+|[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+)"
        self.total, self.unparsable, self.empty = Decimal(0), 0, 0
        self._style = re.compile(f"[+-]?(?:{whole}(?:{mark}[0-9]+)?|{mark}[0-9]+)")
        self._thousands, self._mark = thousands, decimal_mark
        # Few enough digits that pyarrow's 38 hold a batch's sum; a longer amount is added up one by one.
        self._plain = f"^[+-]?[0-9]{{1,14}}({mark}[0-9]{{1,{_PLACES}}})?$"

    def add(self, texts: Iterable[str]) -> None:
        """Add cells, one by one."""
        for text in texts:
            cell = text.strip(" \t")
            if not cell:
                self.empty += 1
            elif self._style.fullmatch(cell) is None:
                self.unparsable += 1
            else:
                number = cell.replace(self._thousands, "") if self._thousands else cell
                self.total = EXACT.add(self.total, Decimal(number.replace(self._mark, ".")))

    def include(self, other: Amounts) -> None:
        """Take in what was added up elsewhere in the same style."""
        self.total = EXACT.add(self.total, other.total)
        self.unparsable += other.unparsable
        self.empty += other.empty

    def add_batch(self, column: pa.Array) -> None:
        """Add a column of cells; the same, and fast where they are plain."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
        import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only needed here

        plain = pc.match_substring_regex(column, self._plain)
        numbers = column.filter(plain)
        if len(numbers) < len(column):
            self.add(column.filter(pc.invert(plain)).to_pylist())
        if len(numbers):
            if self._mark != ".":
                numbers = pc.replace_substring(numbers, self._mark, ".")
            found = pc.sum(pc.cast(numbers, pa.decimal128(38, _PLACES))).as_py()
            self.total = EXACT.add(self.total, found)


def shortest(amount: Decimal) -> Decimal:
    """The same number without trailing zeros behind the decimal point."""
    short = EXACT.normalize(amount)
    exponent = short.as_tuple().exponent
    return short if isinstance(exponent, int) and exponent <= 0 else EXACT.quantize(short, Decimal(1))
