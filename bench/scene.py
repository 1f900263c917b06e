"""A folder with a DuckDB file of two sides, and the flagship task over it: what the measures work on."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.reconciliation import SQL_FOLDER
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.execute.admit import hash_sql, live_tables
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts, Ports, Roots

MARCH = Period.parse("2026-03", "month")
SQL_FILE = "reconcile.sql"
HEADERS = ("Line", "Charge Ref", "Account", "Service Date", "Line Description", "Net Amount")
"""Of the invoice, in the order of the contract's columns."""

# One amount in a thousand differs, and about one row in a thousand is of one side only.
_LEDGER = """
select 'CH-' || lpad(cast(i as varchar), 9, '0') as charge_id, 'A' || cast(i % 5000 as varchar) as account_id,
    date '2026-03-01' + cast(i % 31 as integer) as charged_on, 'usage of ' || cast(i % 97 as varchar) as description,
    cast(10 + i % 997 + cast(i % 100 as decimal(18, 2)) / 100 as decimal(18, 2)) as amount, 'USD' as currency
from range({rows}) t(i)"""
_VENDOR = """
select row_number() over () as invoice_line, charge_id, account_id, charged_on, description,
    cast(amount + case when hash(charge_id) % 1000 = 0 then 1 else 0 end as decimal(18, 2)) as amount
from ledger.charges where hash(charge_id) % 997 <> 1"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A warehouse file, its roots, and the task."""

    folder: Path
    ports: Ports
    task: Task

    @property
    def warehouse(self) -> DuckDbWarehouse:
        """The warehouse as what it is."""
        assert isinstance(self.ports.warehouse, DuckDbWarehouse)
        return self.ports.warehouse

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements on an unlocked connection, so that they may read and write files; the rows of the last."""
        with self.warehouse.open_unlocked() as (connection, _):
            return [connection.execute(statement).fetchall() for statement in statements][-1]

    def land_invoice(self) -> AdmittedObject:
        """Write the vendor's table as the vendor would, where a fetch would have put it."""
        file = self.folder / "invoice.csv"
        columns = (column.name for column in self.task.contracts["vendor_invoice"].columns)
        headers = ", ".join(f'{column} as "{header}"' for column, header in zip(columns, HEADERS, strict=True))
        self.run(f"copy (select {headers} from staging.vendor) to '{file}' (header, delimiter ',')")
        with file.open("rb") as read:
            sha256 = hashlib.file_digest(read, "sha256").hexdigest()
        landed = self.ports.roots.landed_path(sha256)
        landed.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, landed)
        return self.landed()

    def landed(self) -> AdmittedObject:
        """The one file that was landed, as it would have been admitted."""
        (path,) = (path for path in self.ports.roots.landing.rglob("*") if path.is_file())
        key = f"{self.task.drop.prefix}2026-03-invoice.csv"
        facts = ObjectFacts(self.task.drop.bucket, key, path.stat().st_size, "etag", self.ports.clock.now())
        return AdmittedObject(facts, path.name)

    def admission(self, *objects: AdmittedObject) -> Admission:
        """What was seen when the attempt opened."""
        tables = live_tables(self.task, MARCH, self.ports)
        return Admission(objects, tables, hash_sql(self.ports.roots.sql), at=self.ports.clock.now())


def opened(folder: Path, *, max_steps: int = 12, memory_limit: str | None = None) -> Scene:
    """A scene that was made before, perhaps in another process.

    Args:
        folder: The scene's folder.
        max_steps: The task's bound on the length of a plan.
        memory_limit: As of `DuckDbWarehouse`.
    """
    roots = Roots(folder / "sql", folder / "reports", folder / "landing")
    warehouse = DuckDbWarehouse(folder / "warehouse.duckdb", memory_limit=memory_limit)
    clock = SystemClock()
    # No measure fetches anything, so nothing stands for the object store.
    ports = Ports(None, warehouse, DuckDbCredits(warehouse, clock), clock, roots)  # type: ignore[arg-type]
    # A suite is a library's work on the table that is there, whoever loaded it: it is no part of what is compared.
    bare = tuple(replace(made, suite=None) for made in TASK.deliverables)
    return Scene(folder, ports, replace(TASK, limits=replace(TASK.limits, max_steps=max_steps), deliverables=bare))


def scene(folder: Path, *, rows: int, max_steps: int = 12) -> Scene:
    """A ledger of so many charges of March, and what the vendor bills for them.

    Args:
        folder: An empty folder.
        rows: Rows of `ledger.charges`; `staging.vendor` has about as many.
        max_steps: As of `opened`.
    """
    shutil.copytree(SQL_FOLDER, folder / "sql")
    made = opened(folder, max_steps=max_steps)
    made.run(
        *(f"create schema {name}" for name in ("ledger", "staging", "recon")),
        f"create table ledger.charges as {_LEDGER.format(rows=rows)}",
        "create table staging.ledger as select * from ledger.charges",
        f"create table staging.vendor as {_VENDOR}",
    )
    return made
