"""A probe of the dates in a table: how many rows lie in a period, and how many in each of its months."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import by_contract, count_of
from dagster_planexec.world.subject import Subject, table


@dataclass(frozen=True, slots=True)
class PeriodOfTable(Probe):
    """Which days are the rows of?

    Args:
        table: `schema.table`.
        column: Its DATE column.
        start: The first day of the period.
        end: The first day after it.
    """

    table: str
    column: str
    start: date
    end: date

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """Counts by month."""
        return f"SQL count(*) by month of {self.column}"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows`, `in_period`, `before`, `after`, `null`, `by_month` (`2026-03` to rows, of the period only)."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                with by_contract(self.table):
                    # Days first: there are few of them, and rows without end whose month would be written out.
                    found = session.rows(
                        f"with days as (select cast({session.quote(self.column)} as date) as day, count(*) as n "
                        f"from {session.quote(self.table)} group by day) select case when day is null then 'null' "
                        "when day < cast(? as date) then 'before' when day >= cast(? as date) then 'after' "
                        "else strftime(day, '%Y-%m') end as part, sum(n) from days group by part order by part",
                        (self.start.isoformat(), self.end.isoformat()),
                    )
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, f"there is no table {self.table}")
        counts = {str(part): count_of(count) for part, count in found}
        by_month = {part: count for part, count in counts.items() if part not in {"null", "before", "after"}}
        return self.seen(
            ports,
            {
                "rows": sum(counts.values()),
                "in_period": sum(by_month.values()),
                "before": counts.get("before", 0),
                "after": counts.get("after", 0),
                "null": counts.get("null", 0),
                "by_month": by_month,
            },
        )
