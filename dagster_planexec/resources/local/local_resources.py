"""What lives on the worker's own disk, as Dagster resources: the warehouse file, the credits in it, folders, the clock.

Each has `port()`, which answers with the port that probes and tools use. Paths may be plain or `EnvVar`s.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from pydantic import Field

from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.local.system_clock import SystemClock
from dagster_planexec.world.ports import Clock, CreditApi, Roots, Warehouse


class DuckDbWarehouseResource(dg.ConfigurableResource[None]):
    """A DuckDB file as the warehouse: one file per task."""

    path: str = Field(description="The file; it is made if it is not there.")
    wait_s: float = Field(default=30.0, ge=0, description="Seconds to wait for a file that another process holds.")
    memory_limit: str | None = Field(default=None, description="A DuckDB size such as 512MB; its own choice if unset.")

    def port(self) -> Warehouse:
        """The warehouse port on that file."""
        return DuckDbWarehouse(Path(self.path), wait_s=self.wait_s, memory_limit=self.memory_limit)


class DuckDbCreditsResource(dg.ConfigurableResource[None]):
    """Credits as rows of a DuckDB file: the example's stand-in for a credit system."""

    path: str = Field(description="The file with the table credits.issued.")
    wait_s: float = Field(default=30.0, ge=0, description="Seconds to wait for a file that another process holds.")

    def port(self) -> CreditApi:
        """The credit port on that file."""
        return DuckDbCredits(DuckDbWarehouse(Path(self.path), wait_s=self.wait_s), SystemClock())


class RootsResource(dg.ConfigurableResource[None]):
    """The folders a task may touch."""

    sql: str = Field(description="SQL files that run_sql may name.")
    reports: str = Field(description="Where reports are written.")
    landing: str = Field(description="Content-addressed copies of fetched objects.")

    def port(self) -> Roots:
        """The folders as paths."""
        return Roots(sql=Path(self.sql), reports=Path(self.reports), landing=Path(self.landing))


class SystemClockResource(dg.ConfigurableResource[None]):
    """The worker's own clock."""

    def port(self) -> Clock:
        """The clock port."""
        return SystemClock()
