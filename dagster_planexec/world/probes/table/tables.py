"""Probes of one table: its columns, its rows, its fingerprint, a sum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Fingerprint, Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.relation import by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

LOOK_S = 120.0
"""How long one look at a table may take; the statement is interrupted after it."""


def named_fingerprint(session: Session, table: str, query: str) -> Fingerprint:
    """The fingerprint of rows of a table, with the names of its columns in the digest.

    Values alone know no names: two amounts whose columns were renamed into one another would be taken for unchanged,
    and whoever reads them by name gets the other one.
    """
    found = session.fingerprint(query)
    names = "\n".join(column.name for column in session.describe(table) or ())
    return Fingerprint(found.rows, f"{found.digest}-{hashlib.sha256(names.encode()).hexdigest()[:12]}")


def seen_of_table(probe: Probe, ports: Ports, table: str, look: Callable[[Session], Mapping[str, Fact]]) -> Observation:
    """What one look at a table shows, on a session of its own; absent where there is no such table.

    Raises:
        PortError: VALIDATION_ERROR for what is no name of a table; SCHEMA_DRIFT where it does not bear a query that is
            made of its contract.
    """
    with ports.warehouse.session(deadline_s=LOOK_S) as session:
        session.quote(table)
        try:
            with by_contract(table):
                return probe.seen(ports, look(session))
        except PortError as error:
            if error.code != "TABLE_GONE":
                raise
            return probe.absent(ports, f"there is no table {table}")


class _TableProbe(Probe):
    table: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    def _look(self, ports: Ports, look: Callable[[Session], Mapping[str, Fact]]) -> Observation:
        return seen_of_table(self, ports, self.table, look)


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
    """What is in a table, under which names, in short. Facts: `rows`, `digest`."""

    table: str

    @property
    def reader(self) -> str:
        """A count and a sum of row hashes."""
        return "SQL fingerprint"

    def observe(self, ports: Ports) -> Observation:
        """Read every row once."""

        def look(session: Session) -> Mapping[str, Fact]:
            found = named_fingerprint(session, self.table, f"select * from {session.quote(self.table)}")
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
            rows, total = session.rows(f"select count(*), sum({column}) from {session.quote(self.table)}")[0]
            return {"rows": count_of(rows), "sum": exact_sum(total, f"{self.table}.{self.column}")}

        return self._look(ports, look)
