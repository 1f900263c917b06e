"""Settling a month without Dagster: the same admission, checks, steps and journal, and a loop in place of a job."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assets.demo.fault_ports import FaultListener
from assets.demo.local_s3 import client_for
from assets.vendor_reconciliation.task import FOLDER, TASK
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.scope import Binder
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Tool, ToolRegistry
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, StepReport, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Attempt, Journal, Listener
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.recorded_planner import RecordedPlanner
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.recovery.decision import Decision, Retry
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.s3_object_store import S3ObjectStore
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Asking, Launcher, Settling
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Clock, Ports, Roots

_runs = itertools.count(1)


class Counted(Planner):
    """The recorded planner, and how often it was asked."""

    def __init__(self, recording: str = "recorded_export_csv.json") -> None:
        self._inner = RecordedPlanner(FOLDER / "plans" / recording)
        self.name = self._inner.name
        self.revises = self._inner.revises
        self.asked = 0

    @property
    def recipe(self) -> str:
        """The recorded planner's."""
        return self._inner.recipe

    def propose(self, request: PlanRequest) -> Proposal:
        """Its answer."""
        self.asked += 1
        return self._inner.propose(request)


@dataclass(frozen=True)
class Loop(Launcher):
    """Runs the steps one after the other, and those again that are to be tried again, without a pause."""

    work: Work
    reports: list[StepReport] = field(default_factory=list)

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        """Every step in the order of the plan's graph."""
        plan = self.work.journal.load_plan(plan_digest)
        run_id = f"plan-run-{next(_runs)}-{uuid.uuid4().hex[:8]}"
        admission = decode_admission(attempt.admission)
        run = Run(self.work, attempt.id, plan, plan_digest, period, admission, run_id, lease_token=lease_token)
        for step in topological_order(edges(plan)):
            decision: Decision = Retry("", 0)
            while isinstance(decision, Retry):
                report = run_step(run, step)
                self.reports.append(report)
                decision = report.decision
        return run_id


@dataclass
class World:
    """The flagship in a seeded home."""

    home: Path
    endpoint: str
    period: str = "2026-02"
    task: Task = TASK
    planner: Counted = field(default_factory=Counted)
    fault: FaultListener | None = None
    clock: Clock = field(default_factory=SystemClock)
    checks: Mapping[str, Binder] | None = None
    """Instead of those of the package."""
    tools: Sequence[Tool] = BUILTIN_TOOLS

    def work(self, *, listeners: Sequence[Listener] = ()) -> Work:
        """Everything that carries it out; the journal is the environment's `default`."""
        warehouse = DuckDbWarehouse(self.home / "warehouse.duckdb")
        clock = self.clock
        roots = Roots(sql=self.home / "sql", reports=self.home / "reports", landing=self.home / "landing")
        store = S3ObjectStore(client_for(self.endpoint))
        ports = Ports(store, warehouse, DuckDbCredits(warehouse, clock), clock, roots)
        told = [*listeners, *([self.fault.on_event] if self.fault else [])]
        journal = Journal(listeners=told)
        wrapped = self.fault.wrap(ports) if self.fault else ports
        tools = ToolRegistry(self.tools).restricted_to(self.task.tools)
        return Work(self.task, tools, wrapped, journal, BINDERS if self.checks is None else self.checks)

    def settle(
        self,
        *,
        listeners: Sequence[Listener] = (),
        replan: bool = False,
        task_run_id: str | None = None,
        asking: Asking | None = None,
    ) -> RunReport:
        """One run of the month."""
        work = self.work(listeners=listeners)
        try:
            run_id = task_run_id or f"task-run-{uuid.uuid4().hex[:8]}"
            settling = Settling(work, self.planner, Loop(work), run_id, asking=asking or Asking())
            return settle(settling, self.task.period(self.period), replan=replan)
        finally:
            work.journal.close()

    def credits(self) -> Sequence[tuple[str, str]]:
        """(line key, amount) of every credit line that was issued for the month, in the order of keys."""
        with DuckDbWarehouse(self.home / "warehouse.duckdb").session() as session:
            if session.describe("credits.issued") is None:
                return ()
            rows = session.rows(
                "select line_key, amount from credits.issued where period = ? order by 1", [self.period]
            )
        return tuple((str(key), str(amount)) for key, amount in rows)


def calls_by_run(journal: Journal, attempt: str) -> Mapping[str, list[str]]:
    """Plan run to the steps whose tools it called, in order."""
    found: dict[str, list[str]] = {}
    for event in journal.events(attempt, kinds=["calling"]):
        found.setdefault(str(event.run_id), []).append(str(event.step))
    return found
