"""A small reconciliation over a real DuckDB file: sides, worlds, and tools and checks run as a step runs them."""

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.task import Deliverable, Drop, Limits, NamedInput, ResultShape, Scope, Task
from dagster_planexec.contract.tool import Admission, ToolCall
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Clock, Ports, Roots

MARCH = Period.parse("2026-03", "month")


class WallClock(Clock):
    """The clock on the wall, without its waits."""

    def now(self):
        return datetime.now(UTC)

    def sleep(self, seconds):
        raise AssertionError("nothing here waits")


def contract(name="charges", **changes):
    """The contract of a side: a text key, an account, a region, DECIMAL money and a date."""
    declared = {
        "name": name,
        "version": "1",
        "columns": (
            Column(name="charge_id", type="text"),
            Column(name="account_id", type="text"),
            Column(name="region", type="text"),
            Column(name="amount", type="decimal"),
            Column(name="charge_date", type="date", formats=("%Y-%m-%d",)),
        ),
        "key": ("charge_id",),
        "amount": "amount",
        "date": "charge_date",
        "currency": "USD",
    }
    return FileContract(**(declared | changes))


def shape(*sides):
    """A result with one amount column and one status word per side."""
    return ResultShape(
        key=("charge_id",),
        status="status",
        identical="identical",
        differs="amount_differs",
        only={side: f"{side}_only" for side in sides},
        amounts={side: f"{side}_amount" for side in sides},
    )


def task(sides=("ledger", "vendor"), *, result=True, lookups=(), **changes):
    """A task that compares these sides; the first of them is a live table."""
    inputs = [NamedInput(side, "side", "charges", "books.charges" if n == 0 else None) for n, side in enumerate(sides)]
    inputs += [NamedInput(name, "lookup", "charges") for name in lookups]
    declared = {
        "name": "vendor_reconciliation",
        "version": "1",
        "goal": "compare",
        "granularity": "month",
        "first_period": "2026-01",
        "zone": "UTC",
        "tools": ("run_sql",),
        "drop": Drop("vendor-drops", "vendor/", r"{period}\.csv", sides[-1]),
        "inputs": tuple(inputs),
        "contracts": {"charges": contract()},
        "deliverables": (Deliverable("recon_lines", ("run_sql",), result=shape(*sides) if result else None),),
        "limits": Limits("USD", Decimal(500), 50, min_matched_share=Decimal("0.9")),
        "scope": Scope(frozenset({"books", "staging"}), frozenset({"staging", "recon"}), {}),
    }
    return Task(**(declared | changes))


@dataclass
class Bench:
    """One warehouse, one SQL folder, and what it takes to call a tool and judge its checks."""

    task: Task
    ports: Ports

    @property
    def sql(self):
        return self.ports.roots.sql

    def run(self, *statements):
        """Prepare the warehouse."""
        with self.ports.warehouse.session() as session:
            for statement in statements:
                session.execute(statement)

    def rows(self, sql):
        """Look into the warehouse."""
        with self.ports.warehouse.session() as session:
            return session.rows(sql)

    def admission(self):
        """The SQL files as they are now."""
        files = {str(p.relative_to(self.sql)): p for p in self.sql.rglob("*") if p.is_file() and not p.is_symlink()}
        digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
        return Admission((), {}, digests)

    def call(self, tool, args, *, deadline_s=30.0, admission=None):
        """What the tool answers."""
        seen = admission or self.admission()
        return tool.call(args, ToolCall(self.task, MARCH, "step", self.ports, seen, deadline_s))

    def scope(self, tool, args, result=None, *, admission=None):
        """What checks are bound from."""
        seen = admission or self.admission()
        return StepScope(self.task, MARCH, "step", tool.contract, args, result, seen, self.ports.roots)

    def verdicts(self, binder, tool, args, *, admission=None):
        """Bind, observe, judge."""
        out = []
        for check in binder(self.scope(tool, args, admission=admission), "post"):
            probes = getattr(check, "probes", None)
            seen = {probe: probe.observe(self.ports) for probe in probes or ()}
            out.append(check.verdict() if probes is None else check.verdict(seen))
        return out


def bench(folder: Path, **changes):
    """An empty warehouse and SQL folder under this folder."""
    roots = Roots(folder / "sql", folder / "reports", folder / "landing")
    roots.sql.mkdir(parents=True)
    warehouse = DuckDbWarehouse(folder / "warehouse.duckdb", wait_s=2.0)
    return Bench(task(**changes), Ports(None, warehouse, None, WallClock(), roots))


def with_limits(of: Task, **changes):
    """The task with other limits."""
    return replace(of, limits=replace(of.limits, **changes))


COLUMNS = "charge_id varchar, account_id varchar, region varchar, amount decimal(18,2), charge_date date"

LEDGER = """
select 'C' || lpad(cast(i as varchar), 4, '0') as charge_id, 'A' || lpad(cast(i % 50 as varchar), 2, '0') as account_id,
  case i % 3 when 0 then 'EU' when 1 then 'US' else 'APAC' end as region,
  cast(10 + i % 97 as decimal(18,2)) as amount, date '2026-03-01' + cast(i % 31 as integer) as charge_date
from range(1000) t(i)
"""
"""1,000 charges of March, 10.00 to 106.00."""

VENDOR = {
    # Two charges missing, two that nobody knows, two 1.00 too high, one 8.00 and one 0.50 too low.
    "normal": """
        select charge_id, account_id, region, charge_date,
          amount + case charge_id when 'C0003' then 1 when 'C0005' then 1 when 'C0007' then -8 when 'C0100' then -0.5
          else 0 end as amount
        from ledger where charge_id not in ('C0009', 'C0019')
        union all select 'V0001', 'A00', 'EU', date '2026-03-02', 12.00
        union all select 'V0002', 'A00', 'EU', date '2026-03-02', 200.00""",
    "perfect": "select * from ledger",
    "vendor-empty": "select * from ledger where false",
    # March dates, as many rows and the same money, but the keys of something else.
    "wrong-month": "select * replace ('D' || charge_id as charge_id) from ledger",
    "one-row": "select * from ledger where charge_id = 'C0001'",
}


def make_world(on: Bench, world: str):
    """`staging.ledger`, with rows of February that are out of scope, and the delivery `staging.vendor` of one world."""
    february = "select 'F' || charge_id, account_id, region, amount, date '2026-02-11' from ledger where amount < 30"
    with on.ports.warehouse.session() as session:
        session.execute("create schema if not exists staging")
        session.bind_view("ledger", LEDGER)
        for side, rows in (("ledger", "select * from ledger"), ("vendor", VENDOR[world])):
            session.execute(f"create or replace table staging.{side} ({COLUMNS})")
            session.execute(f"insert into staging.{side} by name {rows}")
            if side == "ledger":  # a delivery is in scope as a whole, a live table is not
                session.execute(f"insert into staging.{side} {february}")
