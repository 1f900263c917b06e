"""The probe of a table's rows and of the exact sums of some of its columns."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import seen_of_table
from dagster_planexec.world.sides.relation import count_of, exact_sum
from dagster_planexec.world.subject import Subject, table


@dataclass(frozen=True)
class TotalsOfTable(Probe):
    """How many rows does the table have, and what do these columns add up to?"""

    table: str
    columns: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """A count and sums."""
        return f"SQL count(*), sum({', '.join(self.columns)})" if self.columns else "SQL count(*)"

    def observe(self, ports: Ports) -> Observation:
        """One pass. Facts: `rows`, and `sums` by column."""
        return seen_of_table(self, ports, self.table, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        sums = "".join(f", sum({session.quote(column)})" for column in self.columns)
        rows, *totals = session.rows(f"select count(*){sums} from {session.quote(self.table)}")[0]
        found: dict[str, Fact] = {
            column: exact_sum(total, f"{self.table}.{column}")
            for column, total in zip(self.columns, totals, strict=True)
        }
        return {"rows": count_of(rows), "sums": found}
