"""The probe of a table's rows and of the exact sums of some of its columns."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import by_contract, count_of, exact_sum
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
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            sums = "".join(f", sum({session.quote(column)})" for column in self.columns)
            try:
                with by_contract(self.table):
                    rows, *totals = session.rows(f"select count(*){sums} from {session.quote(self.table)}")[0]
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, f"there is no table {self.table}")
        found: dict[str, Fact] = {
            column: exact_sum(total, f"{self.table}.{column}")
            for column, total in zip(self.columns, totals, strict=True)
        }
        return self.seen(ports, {"rows": count_of(rows), "sums": found})
