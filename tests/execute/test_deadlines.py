"""Deadlines that end a call: a port that hangs, a query that never ends; and nothing is written too late."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.contract.tool import Admission, AdmittedObject, Tool, ToolRegistry
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.step import call as calling
from dagster_planexec.execute.step.call import make_call
from dagster_planexec.execute.work import Run, Work, call_of
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.model import Plan
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.ingest import IngestReport, TextIngest
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import (
    Credit,
    CreditApi,
    ObjectFacts,
    ObjectStore,
    Ports,
    Roots,
    Session,
    Warehouse,
)
from dagster_planexec.world.suite import Suite, SuiteTold
from tests.support.bench import CHECKS, RealClock
from tests.support.busy_s3 import busy_s3
from tests.support.s3 import resource
from tests.support.toolbox import SQL, TASK

TYPED = replace(TASK, reconciliation=ReconcileSpec())
DEADLINE_S = 0.4
GRACE_S = 0.4
SLACK_S = 3.0
"""For a busy machine; without an end the calls below would take minutes."""
TOOLS = {tool.contract.name: tool for tool in BUILTIN_TOOLS}
SHA = "ab" * 32
ENDLESS = """create view {name} as
    select (a.range % 7)::varchar as charge_id, date '2026-03-05' as charged_on,
           (b.range % 5)::decimal(18, 2) as amount,
           null::decimal(18, 2) as vendor_amount, 1.00::decimal(18, 2) as ledger_amount, 'ledger_only' as status
    from range(10000000) a, range(10000000) b"""
ARGS: dict[str, dict[str, Any]] = {
    "warehouse.snapshot": {"source": "ledger.charges", "target": "staging.ledger_202603"},
    "warehouse.create_table": {"target": "staging.fresh_202603", "contract": "vendor_invoice"},
    "s3.get": {"bucket": "vendor-drops", "key": "vendor/exports/2026-03-invoice.csv"},
    "warehouse.load": {"sources": [SHA], "target": "staging.vendor_202603"},
    "run_sql": {
        "file": "reconcile.sql", "inputs": {"ledger": "ledger.charges", "vendor": "staging.vendor_202603"},
        "target": "recon.lines_202603",
    },
    "reconcile": {
        "inputs": {"ledger": "ledger.charges", "vendor": "staging.vendor_202603"}, "target": "recon.lines_202603",
    },
    "write_report": {"source": "recon.endless", "name": "2026-03-recon"},
    "issue_credit": {"source": "recon.lines"},
}  # fmt: skip


class HangingWarehouse(Warehouse):
    """Opens no session before it is let, and then a real one."""

    dialect = "duckdb"

    def __init__(self, inner: Warehouse) -> None:
        self._inner = inner
        self.name = inner.name
        self.let = threading.Event()

    @contextmanager
    def session(self, *, deadline_s: float | None = None) -> Iterator[Session]:
        """Late."""
        self.let.wait(30)
        with self._inner.session(deadline_s=deadline_s) as session:
            yield session

    def expectations(self, suite: Suite, table: str, *, deadline_s: float | None = None) -> SuiteTold:
        """Late."""
        self.let.wait(30)
        return self._inner.expectations(suite, table, deadline_s=deadline_s)

    def ingest(self, request: TextIngest, *, deadline_s: float | None = None) -> IngestReport:
        """Late."""
        self.let.wait(30)
        return self._inner.ingest(request, deadline_s=deadline_s)

    def together(self) -> AbstractContextManager[None]:
        """The real one."""
        return self._inner.together()


class HangingCredits(CreditApi):
    """Answers what is issued when it is let; counts what it is asked to issue."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked: list[str] = []

    target = "hanging"

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        """Late."""
        self.let.wait(30)
        return []

    def issue(self, credit: Credit) -> None:
        """At once, and for good."""
        self.asked.append(credit.key)


class NoObjects(ObjectStore):
    """Not asked here."""

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        raise AssertionError(key)

    def list(self, bucket: str, prefix: str) -> Any:
        raise AssertionError(prefix)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> Any:
        raise AssertionError(key)


class Place:
    """A warehouse, a landed file, SQL, and calls that are given up soon."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        for name in ("sql", "reports", "landing/ab"):
            (folder / name).mkdir(parents=True)
        (folder / "sql" / "reconcile.sql").write_text(SQL["reconcile.sql"])
        (folder / "landing" / "ab" / SHA).write_text("charge_id,charged_on,amount\nc1,2026-03-05,1.00\n")
        self.folder = folder
        self.warehouse = DuckDbWarehouse(folder / "w.duckdb")
        with self.warehouse.session() as session:
            for schema in ("ledger", "recon", "staging"):
                session.execute(f"create schema {schema}")
            session.execute("create table recon.lines as select 'c1' as charge_id, 'ledger_only' as status, "
                            "1.00::decimal(18, 2) as ledger_amount, null::decimal(18, 2) as vendor_amount")  # fmt: skip
            session.execute("create table recon.endless as from recon.lines")
            session.execute("create table ledger.charges as select 'c1' as charge_id, date '2026-03-05' as charged_on, "
                            "1.00::decimal(18, 2) as amount")  # fmt: skip
            session.execute(
                "create table staging.vendor_202603 (charge_id varchar, charged_on date, amount decimal(18,2))"
            )
        self.ports = Ports(NoObjects(), self.warehouse, DuckDbCredits(self.warehouse, RealClock()), RealClock(),
                           Roots(folder / "sql", folder / "reports", folder / "landing"))  # fmt: skip
        self.journal = journal

    def endless(self) -> None:
        """Make the relations that tools read without an end."""
        with self.warehouse.session() as session:
            for table in ("ledger.charges", "recon.endless"):
                session.execute(f"drop table {table}")
            session.execute(ENDLESS.format(name="ledger.charges"))
            session.execute(ENDLESS.format(name="recon.endless"))

    def call(self, name: str, ports: Ports, *, deadline_s: float = DEADLINE_S) -> tuple[Failed, bool, float]:
        """The outcome, whether it may have happened, and the seconds it took."""
        import hashlib

        tool = soon(TOOLS[name], deadline_s)
        work = Work(TYPED, ToolRegistry([tool]), ports, self.journal, CHECKS)
        plan = Plan.model_validate({"task": TASK.name, "period": "2026-03",
                                    "steps": [{"id": "a", "tool": name, "args": ARGS[name]}]})  # fmt: skip
        facts = ObjectFacts("vendor-drops", ARGS["s3.get"]["key"], 44, "e", datetime.now(UTC))
        admission = Admission((AdmittedObject(facts, SHA),), {},
                              {"reconcile.sql": hashlib.sha256(SQL["reconcile.sql"].encode()).hexdigest()})  # fmt: skip
        attempt, _ = self.journal.open_attempt(
            task=TASK.name, version="1", period="2026-03", inputs_digest="x", admission={}
        )
        run = Run(work, attempt.id, plan, "d", Period.parse("2026-03", "month"), admission, "r")
        resolved = Resolved(tool.contract.args.model_validate(ARGS[name]), ARGS[name], {})
        began = time.monotonic()
        outcome, unknown = make_call(run, plan.steps[0], tool, resolved, call_of(run, "a", tool.contract))
        took = time.monotonic() - began
        assert isinstance(outcome, Failed), outcome
        return outcome, unknown, took

    def state(self) -> tuple[Any, ...]:
        """Everything that a tool could have written."""
        with self.warehouse.session() as session:
            tables = session.rows("select schema_name, table_name from duckdb_tables() order by all")
            counts = [session.rows(f"select count(*) from {schema}.{table}")[0][0] for schema, table in tables]
        files = sorted(str(p.relative_to(self.folder)) for p in (self.folder / "reports").rglob("*"))
        landed = sorted(str(p.relative_to(self.folder)) for p in (self.folder / "landing").rglob("*") if p.is_file())
        return tables, counts, files, landed


def soon(tool: Tool, deadline_s: float) -> Tool:
    """The tool, with a deadline that a test can wait for."""
    made = type(tool)()
    made.contract = replace(tool.contract, deadline_s=deadline_s)
    return made


def left_behind() -> None:
    """Wait for the calls that were given up."""
    for thread in threading.enumerate():
        if thread.name == "planexec-call":
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Place]:
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    monkeypatch.setattr(calling, "GRACE_S", GRACE_S)
    journal = Journal()
    yield Place(tmp_path, journal)
    left_behind()
    journal.close()


READS_TABLES = ["warehouse.snapshot", "run_sql", "reconcile", "write_report"]


@pytest.mark.parametrize("name", READS_TABLES)
def test_a_query_that_never_ends_is_interrupted_at_the_deadline(place, name):
    """By the session itself, before anybody has to give the call up; nothing is left of it."""
    place.endless()
    before = place.state()
    outcome, unknown, took = place.call(name, place.ports)

    assert outcome.code == "TIMEOUT", outcome.message
    assert unknown is True
    assert took < DEADLINE_S + GRACE_S + SLACK_S
    assert place.state() == before


SESSIONS = [name for name in TOOLS if name not in {"s3.get", "warehouse.load"}]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_warehouse_that_hangs_does_not_hold_the_call_and_what_is_left_behind_writes_nothing(place, name):
    """Given up a little after its deadline. Let go later, it asks whether it is still wanted, and is not."""
    warehouse = HangingWarehouse(place.warehouse)
    before = place.state()
    outcome, unknown, took = place.call(name, replace(place.ports, warehouse=warehouse))
    warehouse.let.set()
    left_behind()

    # Of what cannot be undone it is known that nothing was begun: its lines were not even read.
    assert (outcome.code, unknown) == ("TIMEOUT", name != "issue_credit"), outcome.message
    assert took < DEADLINE_S + GRACE_S + SLACK_S
    assert place.state() == before


@pytest.mark.parametrize("name", SESSIONS)
def test_the_same_call_writes_where_nothing_hangs(place, name):
    """Otherwise the test above would show nothing."""
    before = place.state()
    with pytest.raises(AssertionError, match="Done"):
        place.call(name, place.ports, deadline_s=60.0)

    assert place.state() != before


def test_a_load_into_a_warehouse_that_hangs_is_given_up(place):
    """What a port does with a load that it has accepted is between the port and its deadline; DuckDB keeps it."""
    warehouse = HangingWarehouse(place.warehouse)
    outcome, unknown, took = place.call("warehouse.load", replace(place.ports, warehouse=warehouse))

    assert (outcome.code, unknown) == ("TIMEOUT", True), outcome.message
    assert took < DEADLINE_S + GRACE_S + SLACK_S
    warehouse.let.set()


def test_a_store_that_never_answers_does_not_hold_the_call_and_nothing_lands_late(place):
    """A socket that is silent: the client's own time-out is longer than this call has."""
    with busy_s3("http://127.0.0.1:9") as busy:
        busy.silent_reads = {1}
        store = resource(busy.endpoint, read_timeout_s=2.0).port()
        before = place.state()
        outcome, unknown, took = place.call("s3.get", replace(place.ports, objects=store))
        left_behind()

    assert (outcome.code, unknown) == ("TIMEOUT", True), outcome.message
    assert took < DEADLINE_S + GRACE_S + 1.0  # less than the client's two seconds
    assert place.state()[3] == before[3]


def test_a_credit_system_that_hangs_is_not_asked_to_issue_after_the_call_was_given_up(place):
    """It was asked what it holds; by the time it answered nobody wanted the credits any more."""
    credits_ = HangingCredits()
    outcome, unknown, _ = place.call("issue_credit", replace(place.ports, credits=credits_))
    credits_.let.set()
    left_behind()

    assert (outcome.code, unknown) == ("TIMEOUT", False), outcome.message
    assert credits_.asked == []


def test_a_credit_system_that_answers_is_asked_to_issue(place):
    """Otherwise the test above would show nothing."""
    credits_ = HangingCredits()
    credits_.let.set()
    with pytest.raises(AssertionError, match="Done"):
        place.call("issue_credit", replace(place.ports, credits=credits_))

    assert credits_.asked == ["c1"]


def test_waiting_for_the_file_is_part_of_the_deadline(tmp_path):
    """A session that waited for its turn has less time for its statements."""
    from dagster_planexec.errors import PortError

    warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
    holding, held = threading.Event(), threading.Event()

    def hold() -> None:
        with warehouse.session():
            held.set()
            holding.wait(0.5)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(10)
    began = time.monotonic()
    with warehouse.session(deadline_s=0.8) as session, pytest.raises(PortError) as ended:
        session.rows("select count(*) from range(10000000) a, range(10000000) b")
    took = time.monotonic() - began
    other.join()

    assert ended.value.code == "TIMEOUT"
    assert took < 1.2  # 0.5 of waiting, 0.3 of work; not 0.5 and 0.8
