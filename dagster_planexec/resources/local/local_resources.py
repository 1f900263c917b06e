"""What lives on the worker's own disk, as Dagster resources: the warehouse file, the credits in it, folders.

Each has `port()`, which answers with the port that probes and tools use. Settings may be plain or `EnvVar`s; relative
paths start at `home`, so that one variable moves everything.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from pydantic import Field

from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import CreditApi, Roots, Warehouse


class DuckDbWarehouseResource(dg.ConfigurableResource[None]):
    """A DuckDB file as the warehouse: one file per task."""

    home: str = Field(default=".", description="The folder that a relative path starts from; give an EnvVar.")
    path: str = Field(description="The file; it is made if it is not there.")
    wait_s: float = Field(default=30.0, ge=0, description="Seconds to wait for a file that another process holds.")
    memory_limit: str | None = Field(default=None, description="A DuckDB size such as 512MB; its own choice if unset.")

    def port(self) -> Warehouse:
        """The warehouse port on that file."""
        return DuckDbWarehouse(Path(self.home, self.path), wait_s=self.wait_s, memory_limit=self.memory_limit)


class DuckDbCreditsResource(dg.ConfigurableResource[None]):
    """Credits as rows of a DuckDB file: the example's stand-in for a credit system."""

    home: str = Field(default=".", description="The folder that a relative path starts from; give an EnvVar.")
    path: str = Field(description="The file with the table credits.issued.")
    wait_s: float = Field(default=30.0, ge=0, description="Seconds to wait for a file that another process holds.")

    def port(self) -> CreditApi:
        """The credit port on that file."""
        return DuckDbCredits(DuckDbWarehouse(Path(self.home, self.path), wait_s=self.wait_s), SystemClock())


class RootsResource(dg.ConfigurableResource[None]):
    """The folders a task may touch."""

    home: str = Field(default=".", description="The folder that relative paths start from; give an EnvVar.")
    sql: str = Field(description="SQL files that run_sql may name.")
    reports: str = Field(description="Where reports are written.")
    landing: str = Field(description="Content-addressed copies of fetched objects.")
    files: str | None = Field(default=None, description="Files that the task's own tools read.")

    def port(self) -> Roots:
        """The folders as paths."""
        home = Path(self.home)
        files = home / self.files if self.files is not None else None
        return Roots(sql=home / self.sql, reports=home / self.reports, landing=home / self.landing, files=files)
