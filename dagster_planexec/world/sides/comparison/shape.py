"""What a typed comparison of two sides is, in flat, hashable terms that SQL can follow. Nothing here knows a task."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from dagster_planexec.errors import PlanexecError

Match = Literal["one-to-one", "multiset", "one-to-many"]
Word = Literal["upper", "lower", "collapse_spaces", "remove_spaces", "remove_hyphens", "strip_leading_zeros"]
"""What is done to a key's text, on both sides, in the order of the words. Blanks at its ends always go."""

IDENTICAL = "identical"
AMOUNT_DIFFERS = "amount_differs"
COLUMN_DIFFERS = "column_differs"
"""The amounts agree and a further compared column does not. A word of its own, so that no money is paid for it."""
CURRENCY_DIFFERS = "currency_differs"
OUT_OF_PERIOD = "out_of_period"
"""Every row that the line stands for is dated outside the period. A line with one row inside is compared."""
DUPLICATE_KEY = "duplicate_key"
NULL_KEY = "null_key"

MOST_DIGITS = 38
"""Digits of the widest DECIMAL that DuckDB, Spark and Snowflake have."""
SUM_DIGITS = 10
"""Digits that a sum of rows may need beyond one amount: ten thousand million rows."""
BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What counts as blank in a key: the white space of Unicode. Named one by one, as each warehouse's `trim` differs."""


def only(side: str) -> str:
    """The status word of a line that only one side has."""
    return f"{side}_only"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may be apart and still agree. `digits` is a decimal text, never a float."""

    kind: Literal["exact", "absolute", "relative"] = "exact"
    digits: str = "0"
    """Of `relative`: a share of the smaller of the two, which nobody can make larger by one wrong amount."""


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class Number:
    """A decimal column on both sides: its digits, and what a difference of it needs."""

    columns: tuple[str, str]
    precision: tuple[int, int]
    scale: tuple[int, int]
    tolerance: Tolerance = EXACT

    @property
    def places(self) -> int:
        """Decimals in which both sides are written without rounding either."""
        return max(self.scale)

    @property
    def whole(self) -> int:
        """Digits before the decimal point that either side may have."""
        return max(p - s for p, s in zip(self.precision, self.scale, strict=True))

    @property
    def digits(self) -> int:
        """Precision of the DECIMAL in which either side is written."""
        return self.whole + self.places

    def width(self, match: Match) -> int:
        """Precision of the DECIMAL in which the comparison is done: the digits, one for a difference, ten for sums."""
        return self.digits + 1 + (0 if match == "one-to-one" else SUM_DIGITS)

    def require_room(self, match: Match) -> None:
        """Whether every intermediate value fits without rounding, on every warehouse.

        Raises:
            PlanexecError: BAD_CONTRACT with the digits it would need.
        """
        # One more digit: some warehouses type a difference wider than it can be, and cut decimals to make it fit.
        needs = self.width(match) + 1
        if self.tolerance.kind == "relative":
            needs += places_of(self.tolerance.digits) + 2
        if needs > MOST_DIGITS:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"column {self.columns[0]!r} has {self.whole} digits before and {self.places} behind the point; "
                f"comparing it {match} needs {needs} digits, and a DECIMAL has {MOST_DIGITS}",
                hint="declare the precision that the amounts have in the file contract",
            )
        if self.tolerance.kind == "absolute" and places_of(self.tolerance.digits) > self.places:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"tolerance {self.tolerance.digits} of column {self.columns[0]!r} is finer than its last digit "
                f"({self.places} decimals)",
                hint="leave it out, or write it in the decimals of the amounts",
            )


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that is no number, compared as trimmed text; blank and absent are the same."""

    columns: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """Where one side has what is compared."""

    name: str
    """The bound name of its rows, as `run_sql` binds inputs."""
    key: tuple[str, ...]
    currency: str | None
    """The ISO code of all its amounts, or None if a column says it."""
    currency_column: str | None = None
    date: str | None = None
    """The column that says which period a row belongs to; None: all of them belong."""
    start: dt.date | None = None
    end: dt.date | None = None
    """The first day after the period."""

    @property
    def has_period(self) -> bool:
        """Whether a row of it can lie outside."""
        return self.date is not None and self.start is not None and self.end is not None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, and what it takes to say of each of their rows what became of it."""

    first: ComparedSide
    second: ComparedSide
    key: tuple[str, ...]
    """The key's columns as the result calls them."""
    amount: Number
    match: Match = "one-to-one"
    many: int | None = None
    """Of `one-to-many`: which of the two sides (0 or 1) has several rows for one of the other."""
    normalise: tuple[Word, ...] = ()
    numbers: tuple[tuple[str, Number], ...] = ()
    """Further decimal columns by the name they have in the result."""
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def sides(self) -> tuple[ComparedSide, ComparedSide]:
        """Both."""
        return self.first, self.second

    @property
    def names(self) -> tuple[str, str]:
        """Of both."""
        return self.first.name, self.second.name

    def carries_currency(self, at: int) -> bool:
        """Whether the query takes a side's currency along; one that is the same for all rows is said at the end."""
        return self.match == "multiset" or self.sides[at].currency_column is not None

    @property
    def has_period(self) -> bool:
        """Whether a row of either side can lie outside the period."""
        return any(side.has_period for side in self.sides)

    @property
    def has_columns(self) -> bool:
        """Whether anything but the amount is compared."""
        return bool(self.numbers or self.attributes)

    @property
    def further(self) -> tuple[str, ...]:
        """The status words beside identical, amount_differs and those of one side."""
        columns = (COLUMN_DIFFERS,) if self.has_columns else ()
        return (*columns, CURRENCY_DIFFERS, OUT_OF_PERIOD, DUPLICATE_KEY, NULL_KEY)

    @property
    def words(self) -> tuple[str, ...]:
        """Every status word, in the order in which they are shown."""
        return (IDENTICAL, AMOUNT_DIFFERS, *(only(name) for name in self.names), *self.further)


def result_columns(comparison: Comparison) -> tuple[str, ...]:
    """The names of the result's columns, in order."""
    one, other = comparison.names
    pairs = [name for name, _ in (*comparison.numbers, *comparison.attributes)]
    return (
        *comparison.key, "status", *(("differing",) if comparison.has_columns else ()),
        f"{one}_amount", f"{other}_amount", "difference", f"{one}_currency", f"{other}_currency",
        f"{one}_rows", f"{other}_rows", *(f"{side}_{name}" for name in pairs for side in (one, other)),
    )  # fmt: skip


def places_of(digits: str) -> int:
    """Decimals of a number's text."""
    return len(digits.partition(".")[2])
