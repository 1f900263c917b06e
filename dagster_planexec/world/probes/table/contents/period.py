"""A probe of the dates in a table: how many rows lie in a period, in each of its months, and outside its window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import seen_of_table
from dagster_planexec.world.sides.relation import count_of, exact_sum
from dagster_planexec.world.subject import Subject, table


@dataclass(frozen=True, slots=True)
class PeriodOfTable(Probe):
    """Which days are the rows of?

    Args:
        table: `schema.table`.
        column: Its DATE column.
        start: The first day of the period.
        end: The first day after it.
        amount: The column that says what rows outside the window are worth; None: there is no window.
        first: The first day of the window.
        last: The last day of it.
        daily: Whether days without rows are looked for.
    """

    table: str
    column: str
    start: date
    end: date
    amount: str | None = None
    first: date | None = None
    last: date | None = None
    daily: bool = False

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """Counts by month."""
        return f"SQL count(*) by month of {self.column}"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows`, `in_period`, `before`, `after`, `null`, `by_month` (`2026-03` to rows, of the period only).

        With a window: `outside` and `outside_worth`, and `outside_days`, the first and the last of those days. Daily:
        `empty_days`, those of the period without a row, in order.
        """
        return seen_of_table(self, ports, self.table, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        # Days first: there are few of them, and rows without end whose month would be written out.
        found = session.rows(
            f"with days as (select cast({session.quote(self.column)} as date) as day, count(*) as n "
            f"from {session.quote(self.table)} group by day) select case when day is null then 'null' "
            "when day < cast(? as date) then 'before' when day >= cast(? as date) then 'after' "
            "else strftime(day, '%Y-%m') end as part, sum(n) from days group by part order by part",
            (self.start.isoformat(), self.end.isoformat()),
        )
        counts = {str(part): count_of(count) for part, count in found}
        by_month = {part: count for part, count in counts.items() if part not in {"null", "before", "after"}}
        return {
            "rows": sum(counts.values()),
            "in_period": sum(by_month.values()),
            "before": counts.get("before", 0),
            "after": counts.get("after", 0),
            "null": counts.get("null", 0),
            "by_month": by_month,
            **self._more(session),
        }

    def _more(self, session: Session) -> dict[str, Fact]:
        day, rows, more = session.quote(self.column), session.quote(self.table), dict[str, Fact]()
        if self.amount is not None and self.first is not None and self.last is not None:
            window = (self.first.isoformat(), self.last.isoformat())
            count, worth, first, last = session.rows(
                f"select count(*), sum({session.quote(self.amount)}), cast(min({day}) as varchar), "
                f"cast(max({day}) as varchar) from {rows} where {day} < cast(? as date) or {day} > cast(? as date)",
                window,
            )[0]
            more["outside"] = count_of(count)
            more["outside_worth"] = exact_sum(worth, f"{self.table}.{self.amount}")
            more["outside_days"] = () if first is None else (str(first), str(last))
        if self.daily:
            found = session.rows(
                f"select distinct cast(cast({day} as date) as varchar) from {rows} "
                f"where {day} >= cast(? as date) and {day} < cast(? as date)",
                (self.start.isoformat(), self.end.isoformat()),
            )
            there = {str(row[0]) for row in found}
            every = (self.start + timedelta(days=n) for n in range((self.end - self.start).days))
            more["empty_days"] = tuple(one.isoformat() for one in every if one.isoformat() not in there)
        return more
