"""The canonical period: one type that ties a partition key, the text in plans and files, and a time zone's window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from dagster_planexec.errors import PlanexecError

Granularity = Literal["month", "quarter"]

_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])(?:-01)?\Z")
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])\Z")
EARLIEST, LATEST = 1900, 2999
"""Years that are read. Beyond them a typing error is likelier than a bill, and calendars end."""
_MONTHS_IN = {"month": 1, "quarter": 3}


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A calendar month or quarter."""

    start: date
    """Its first day; also its Dagster partition key."""
    granularity: Granularity

    @classmethod
    def parse(cls, text: str, granularity: Granularity) -> Period:
        """Read `2026-03`, `2026-03-01`, or for quarters also `2026-Q1` and any month of the quarter.

        Raises:
            PlanexecError: UNKNOWN_PARTITION, if the text is none of these.
        """
        if granularity == "quarter" and (found := _QUARTER.match(text)) and EARLIEST <= int(found[1]) <= LATEST:
            return cls(date(int(found[1]), 3 * int(found[2]) - 2, 1), granularity)
        found = _MONTH.match(text)
        if found is None or not EARLIEST <= int(found[1]) <= LATEST:
            forms = "YYYY-MM or YYYY-MM-01" if granularity == "month" else "YYYY-Qn, YYYY-MM or YYYY-MM-01"
            raise PlanexecError(
                "UNKNOWN_PARTITION",
                f"partition {text[:40]!r} is not a {granularity}; expected {forms}",
                hint="run `planexec status TASK` to see the partitions of a task",
            )
        month = int(found[2])
        first = month if granularity == "month" else 3 * ((month - 1) // 3) + 1
        return cls(date(int(found[1]), first, 1), granularity)

    @classmethod
    def containing(cls, day: date, granularity: Granularity) -> Period:
        """The period that a calendar day lies in."""
        return cls.parse(f"{day:%Y-%m}", granularity)

    @property
    def text(self) -> str:
        """`2026-03` or `2026-Q1`: how plans, reports and effect keys name it."""
        if self.granularity == "month":
            return f"{self.start:%Y-%m}"
        return f"{self.start:%Y}-Q{(self.start.month - 1) // 3 + 1}"

    @property
    def key(self) -> str:
        """`2026-03-01`: the Dagster partition key."""
        return self.start.isoformat()

    @property
    def compact(self) -> str:
        """`202603` or `2026q1`: the form that fits a table name."""
        return self.text.replace("-", "").lower()

    @property
    def end(self) -> date:
        """The first day after the period."""
        return self.months[-1][1]

    @property
    def months(self) -> tuple[tuple[date, date], ...]:
        """Each calendar month of the period as (first day, first day of the next month)."""
        out = []
        for offset in range(_MONTHS_IN[self.granularity]):
            first = _shift(self.start, offset)
            out.append((first, _shift(first, 1)))
        return tuple(out)

    def shifted(self, by: int) -> Period:
        """The period that many periods later (negative: earlier)."""
        return Period(_shift(self.start, by * _MONTHS_IN[self.granularity]), self.granularity)

    def window(self, zone: str) -> tuple[datetime, datetime]:
        """The half-open window of the period in a time zone, as two UTC instants."""
        tz = ZoneInfo(zone)
        start = datetime(self.start.year, self.start.month, 1, tzinfo=tz)
        end = datetime(self.end.year, self.end.month, 1, tzinfo=tz)
        return start.astimezone(UTC), end.astimezone(UTC)

    def __str__(self) -> str:
        """The text form."""
        return self.text


def _shift(first: date, months: int) -> date:
    index = first.year * 12 + first.month - 1 + months
    return date(index // 12, index % 12 + 1, 1)
