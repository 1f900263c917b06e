"""A probe that changes what it looks at, as another process may between two looks."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject


@dataclass(frozen=True)
class Meddler(Probe):
    """Counts the rows of a table, then does something to it."""

    table: str
    does: str = "update"

    @property
    def subject(self) -> Subject:
        """The table."""
        return Subject("warehouse", self.table)

    @property
    def reader(self) -> str:
        """Somebody who meddles."""
        return "meddler"

    def observe(self, ports: Ports) -> Observation:
        """Look, then change."""
        with ports.warehouse.session() as session:
            rows = session.rows(f"select count(*) from {self.table}")[0][0]
            session.execute(
                f"drop table {self.table}" if self.does == "drop table" else f"update {self.table} set i = i + 1"
            )
        return self.seen(ports, {"rows": rows})
