"""The control: a literal executor, as somebody writes one in an afternoon. Same plan, same world, none of the checks.

Its tools are its own and naive on purpose. They work in a DuckDB file of their own beside the world's, so nothing it
does can be seen by the harness's runs on the same home.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import Fault
from assets.demo.world import DemoWorld
from dagster_planexec.contract.task import Task
from dagster_planexec.plan.model import Plan
from dagster_planexec.plan.reference import Reference, resolve

if TYPE_CHECKING:
    import duckdb

log = logging.getLogger(__name__)

Result = dict[str, Any]
"""What a tool answers. An error is a value under `error`, which nothing branches on."""

LINES_ON_A_PAGE = 50
PAGES = 5


@dataclass(frozen=True, slots=True)
class LiteralStep:
    """One line of the transcript."""

    id: str
    tool: str
    outcome: str
    """`done`, `error` or `held`: what the tool said of itself."""
    detail: str


@dataclass(slots=True)
class LiteralRun:
    """What came of following the plan to the letter."""

    steps: list[LiteralStep] = field(default_factory=list)
    report: Path | None = None
    ledger_rows: int = 0
    vendor_rows: int = 0
    discrepancies: int = 0
    issued_count: int = 0
    issued_amount: Decimal = Decimal("0.00")
    held_count: int = 0
    held_amount: Decimal = Decimal("0.00")

    @property
    def status(self) -> str:
        """`held` if the threshold held the credits, else `succeeded`. It knows no other end."""
        return "held" if self.held_count else "succeeded"


def execute_literally(plan: Plan, world: DemoWorld, fault: Fault | None = None) -> LiteralRun:
    """Follow the plan step by step, whatever the steps answer.

    Args:
        plan: The plan that the harness would check.
        world: A seeded world.
        fault: What goes wrong on the way, at the moments at which it does for the harness. A fault inside a call
            wraps a port; these tools use none, so nothing happens.
    """
    import duckdb  # noqa: PLC0415 - heavy

    own = own_world(world)
    own.warehouse.parent.mkdir(parents=True, exist_ok=True)
    listener = FaultListener(fault, own)
    listener.before_plan()
    run = LiteralRun()
    answers: dict[str, Result] = {}
    with duckdb.connect(own.warehouse) as warehouse:
        tools = _Tools(warehouse, world, own.warehouse.parent, run)
        listener.on_event("admitted", None)
        for step in plan.steps:
            args = resolve(step.args, partial(_answered, answers))
            result = tools.call(step.tool, args)
            answers[step.id] = result
            if result.get("error"):
                log.warning("step %s returned an error: %s", step.id, result["error"])
            run.steps.append(LiteralStep(step.id, step.tool, result["status"], result.get("error") or result["detail"]))
            listener.on_event("step-done", step.id)
    return run


def own_world(world: DemoWorld) -> DemoWorld:
    """The same bucket and home, with the executor's own warehouse file: what faults between steps act on."""
    own = DemoWorld(world.home, world.endpoint, data=world.data.name, period=world.period.text)
    own.warehouse = world.home / "literal" / "warehouse.duckdb"
    own.s3 = world.s3
    return own


def _answered(answers: Mapping[str, Result], ref: Reference) -> Any:  # noqa: ANN401 - any JSON
    """What an earlier step answered under that name; None, like a dict's `get`, if it did not."""
    return answers.get(ref.step, {}).get(ref.field)


class _Tools:
    """The naive tools. Each is a few lines that trust what they are given."""

    def __init__(self, warehouse: duckdb.DuckDBPyConnection, world: DemoWorld, folder: Path, run: LiteralRun) -> None:
        self._db = warehouse
        self._world = world
        self._folder = folder
        self._run = run
        self._by_name: dict[str, Callable[..., Result]] = {
            "warehouse.snapshot": self.snapshot,
            "warehouse.create_table": self.create_table,
            "s3.get": self.s3_get,
            "warehouse.load": self.load,
            "run_sql": self.run_sql,
            "write_report": self.write_report,
            "issue_credit": self.issue_credit,
        }
        for schema in ("staging", "recon", "credits"):
            self._db.execute(f"create schema if not exists {schema}")

    def call(self, tool: str, args: Mapping[str, Any]) -> Result:
        """Call a tool. Whatever goes wrong in the database is answered as data, like a 404."""
        import duckdb  # noqa: PLC0415 - heavy

        try:
            return self._by_name[tool](**args)
        except duckdb.Error as error:
            return {"status": "error", "error": str(error).splitlines()[0][:200]}

    @property
    def _task(self) -> Task:
        return self._world.data.task

    def snapshot(self, source: str, target: str) -> Result:
        """Copy the period's rows of a live table."""
        period, when = self._world.period, self._task.contracts[self._task.input("ledger").contract].date
        with self._world.connection() as live:
            within = f"from {source} where {when} >= $start and {when} < $end"
            rows = live.sql(within, params={"start": period.start, "end": period.end}).to_arrow_table()
        self._db.register("arriving", rows)
        self._db.execute(f"create or replace table {target} as select * from arriving").fetchall()
        self._run.ledger_rows = rows.num_rows
        return _ok(f"{rows.num_rows:,} rows", table=target, rows=rows.num_rows)

    def create_table(self, target: str, contract: str) -> Result:
        """An empty table with the contract's columns."""
        types = {"text": "varchar", "integer": "bigint", "date": "date", "decimal": "decimal(18,2)"}
        columns = ", ".join(f"{c.name} {types[c.type]}" for c in self._task.contracts[contract].columns)
        self._db.execute(f"create or replace table {target} ({columns})")
        return _ok(target, table=target)

    def s3_get(self, bucket: str, key: str) -> Result:
        """Download an object. A 404 is answered as data, so that an agent can go on after it."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - heavy

        try:
            content = self._world.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            return {"status": "error", "error": f"{status} {error.response['Error']['Code']} s3://{bucket}/{key}"}
        path = self._folder / Path(key).name
        path.write_bytes(content)
        return _ok(f"{len(content):,} bytes", landed=str(path))

    def load(self, sources: list[str | None], target: str) -> Result:
        """Load what there is. Nothing is a legal thing to load."""
        contract = self._task.contracts[self._task.input("vendor").contract]
        loaded = 0
        for source in sources:
            if source is None or Path(source).stat().st_size == 0:
                continue
            self._db.execute(
                "create or replace temp table arriving_text as from read_csv(?, header=true, all_varchar=true)",
                [source],
            )
            header = tuple(name for name, *_ in self._db.execute("describe arriving_text").fetchall())
            picked = ", ".join(_cast(c.header, c.type, c.formats) for c in contract.columns_for(header))
            self._db.execute(f"insert into {target} select {picked} from arriving_text")
            loaded = self._count(target)
        self._run.vendor_rows = loaded
        return _ok(f"{loaded:,} rows", table=target, rows=loaded)

    def run_sql(self, file: str, inputs: dict[str, str], target: str) -> Result:
        """Run the file over the inputs and keep the result."""
        for name, table in inputs.items():
            self._db.execute(f"create or replace temp view {name} as from {table}")
        text = (self._world.roots.sql / file).read_text(encoding="utf-8")
        self._db.execute(f"create or replace table {target} as {text}")
        self._run.discrepancies = self._count(f"{target} where status <> 'identical'")
        return _ok(f"{self._run.discrepancies:,} discrepancies", table=target, rows=self._run.discrepancies)

    def write_report(self, source: str, name: str) -> Result:
        """Five pages, correctly formatted."""
        rows = self._db.execute(
            f"select charge_id, status, ledger_amount, vendor_amount from {source} "
            f"where status <> 'identical' order by charge_id limit {PAGES * LINES_ON_A_PAGE}"
        ).fetchall()
        lines = [f"# Reconciliation {name}", "", f"Discrepancies: {self._run.discrepancies:,}", ""]
        for number, row in enumerate(rows):
            if number % LINES_ON_A_PAGE == 0:
                lines += [
                    "",
                    f"## Page {number // LINES_ON_A_PAGE + 1}",
                    "",
                    "| charge | status | ledger | vendor |",
                    "|---|---|---|---|",
                ]
            lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |")
        path = self._folder / f"{name}.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._run.report = path
        return _ok(str(path), report=str(path))

    def issue_credit(self, source: str, **_caps: object) -> Result:
        """Credit every overcharge, unless there are more of them than the threshold lets through."""
        due = (
            f"select charge_id, ledger_amount - coalesce(vendor_amount, 0) as amount from {source} "
            "where status in ('amount_differs', 'ledger_only') and ledger_amount > coalesce(vendor_amount, 0)"
        )
        [(count, amount)] = self._db.execute(f"select count(*), coalesce(sum(amount), 0.00) from ({due})").fetchall()
        threshold = self._task.limits.credit_lines_threshold
        if count > threshold:
            self._run.held_count, self._run.held_amount = count, amount
            return {"status": "held", "detail": f"{count:,} credits exceeds approval threshold {threshold}"}
        self._db.execute(
            "create table if not exists credits.issued (period varchar, charge_id varchar, amount decimal(18,2))"
        )
        known = "select charge_id from credits.issued where period = ?"
        period = self._world.period.text
        self._db.execute(
            f"insert into credits.issued select ?, charge_id, amount from ({due}) where charge_id not in ({known})",
            [period, period],
        )
        self._run.issued_count, self._run.issued_amount = count, amount
        return _ok(f"{count:,} credits, {amount} {self._task.limits.currency}")

    def _count(self, relation: str) -> int:
        [(count,)] = self._db.execute(f"select count(*) from {relation}").fetchall()
        return int(count)


def _ok(detail: str, **values: object) -> Result:
    return {"status": "done", "detail": detail, **values}


def _cast(header: str | None, kind: str, formats: tuple[str, ...]) -> str:
    if header is None:
        return "null"
    quoted = '"' + header.replace('"', '""') + '"'
    if kind == "date":
        return f"strptime({quoted}, '{formats[0]}')::date"
    return quoted if kind == "text" else f"cast({quoted} as {'decimal(18,2)' if kind == 'decimal' else 'bigint'})"
