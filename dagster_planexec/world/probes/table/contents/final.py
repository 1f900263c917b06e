"""A probe of how much of a bill is still an estimate, in the table that it was loaded into."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.final import FinalWhen
from dagster_planexec.world.sides.relation import InputView, by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table


@dataclass(frozen=True, slots=True)
class FinalInTable(Probe):
    """How many rows are not final, and what are they worth?"""

    view: InputView
    conditions: tuple[FinalWhen, ...]

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.view.table)

    @property
    def reader(self) -> str:
        """A count and a sum."""
        return f"SQL count(*) where {' or '.join(one.column.name for one in self.conditions)} is not final"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows`, `estimated` and `worth` (the sum of the estimated amounts)."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if session.describe(self.view.table) is None:
                return self.absent(ports, f"there is no table {self.view.table}")
            broken = [one.broken(session.quote) for one in self.conditions]
            amount = session.quote(self.view.amount) if self.view.amount is not None else "0"
            with by_contract(self.view.table):
                rows, estimated, worth = session.rows(
                    f"with lines as (select {amount} as amount, {' or '.join(sql for sql, _ in broken)} as estimated "
                    f"from ({self.view.query(session.quote)})) "
                    "select count(*), count(*) filter (estimated), sum(amount) filter (estimated) from lines",
                    [value for _, bound in broken for value in bound],
                )[0]
        what = f"{self.view.table}.{self.view.amount}"
        return self.seen(
            ports,
            {"rows": count_of(rows), "estimated": count_of(estimated), "worth": exact_sum(worth, what)},
        )
