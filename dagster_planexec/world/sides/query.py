"""Where the query of a reconciliation comes from: a file that was admitted, or a comparison that SQL is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dagster_planexec.world.ports import Ports
from dagster_planexec.world.sides.comparison.shape import Comparison
from dagster_planexec.world.sides.sql_file import read_sql, without_semicolon


class Query(ABC):
    """One query over bound names. Frozen and comparable, as the probes that hold it are."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in a source text."""

    @abstractmethod
    def text(self, ports: Ports) -> str:
        """The statement, without what ends it, in the warehouse's dialect.

        Raises:
            PlanexecError: VALIDATION_ERROR or BAD_CONTRACT if there is none that may be run.
        """


@dataclass(frozen=True, slots=True)
class AdmittedFile(Query):
    """A file below the SQL root, with the digest that was admitted."""

    file: str
    sha256: str

    @property
    def name(self) -> str:
        """The file."""
        return self.file

    def text(self, ports: Ports) -> str:
        """The bytes that were admitted, or none."""
        return without_semicolon(read_sql(ports.roots.sql, self.file, self.sha256))


@dataclass(frozen=True, slots=True)
class Generated(Query):
    """The query that a typed comparison stands for."""

    comparison: Comparison

    @property
    def name(self) -> str:
        """What it compares."""
        return f"comparison of {' and '.join(self.comparison.names)}"

    def text(self, ports: Ports) -> str:
        """Made anew, so that nobody can have changed it."""
        from dagster_planexec.world.sides.comparison.sql import comparison_sql  # noqa: PLC0415 - sqlglot: 100 ms

        return comparison_sql(self.comparison, ports.warehouse.dialect)
