"""Probes of one table: its columns, its rows, its fingerprint, a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.relation import by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

LOOK_S = 120.0
"""How long one look at a table may take; the statement is interrupted after it."""


class _TableProbe(Probe):
    table: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    def _look(self, ports: Ports, look: Callable[[Session], Mapping[str, Fact]]) -> Observation:
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                return self.seen(ports, look(session))
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, f"there is no table {self.table}")


@dataclass(frozen=True)
class DescribeTable(_TableProbe):
    """The columns of a table. Facts: `columns`, name to type, in the table's order."""

    table: str

    @property
    def reader(self) -> str:
        """The catalogue."""
        return "catalogue"

    def observe(self, ports: Ports) -> Observation:
        """Ask the catalogue."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            columns = session.describe(self.table)
        if columns is None:
            return self.absent(ports, f"there is no table {self.table}")
        return self.seen(ports, {"columns": {column.name: column.type for column in columns}})


@dataclass(frozen=True)
class CountTable(_TableProbe):
    """The rows of a table. Facts: `rows`."""

    table: str

    @property
    def reader(self) -> str:
        """A count."""
        return "SQL count(*)"

    def observe(self, ports: Ports) -> Observation:
        """Count."""

        def look(session: Session) -> Mapping[str, Fact]:
            return {"rows": count_of(session.rows(f"select count(*) from {session.quote(self.table)}")[0][0])}

        return self._look(ports, look)


@dataclass(frozen=True)
class FingerprintTable(_TableProbe):
    """What is in a table, as a number. Facts: `rows`, `digest`."""

    table: str

    @property
    def reader(self) -> str:
        """A count and a sum of row hashes."""
        return "SQL fingerprint"

    def observe(self, ports: Ports) -> Observation:
        """Read every row once."""

        def look(session: Session) -> Mapping[str, Fact]:
            found = session.fingerprint(f"select * from {session.quote(self.table)}")
            return {"rows": found.rows, "digest": found.digest}

        return self._look(ports, look)


@dataclass(frozen=True)
class SumTable(_TableProbe):
    """The exact sum of a column. Facts: `rows`, `sum`."""

    table: str
    column: str

    @property
    def reader(self) -> str:
        """A sum."""
        return f"SQL sum({self.column})"

    def observe(self, ports: Ports) -> Observation:
        """Add up."""

        def look(session: Session) -> Mapping[str, Fact]:
            column = session.quote(self.column)
            with by_contract(self.table):
                rows, total = session.rows(f"select count(*), sum({column}) from {session.quote(self.table)}")[0]
            return {"rows": count_of(rows), "sum": exact_sum(total, f"{self.table}.{self.column}")}

        return self._look(ports, look)
