"""What executing needs, and what became of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.scope import Binder
from dagster_planexec.contract.outcome import StepState
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, ToolCall, ToolContract, ToolRegistry
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.model import Plan
from dagster_planexec.recovery.choice import Chooser
from dagster_planexec.recovery.decision import Decision
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports


@dataclass(frozen=True, slots=True)
class Work:
    """A task with everything that carries it out. Nothing of Dagster."""

    task: Task
    tools: ToolRegistry
    ports: Ports
    journal: Journal
    checks: Mapping[str, Binder] = field(default_factory=lambda: BINDERS)
    """Every check that contracts, tasks and plans may name; a project may add its own to those of this package."""
    chooser: Chooser | None = None
    """Who picks where the rules leave more than one thing to do; asked only if the task allows it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an attempt's plan."""

    work: Work
    attempt: str
    plan: Plan
    plan_digest: str
    period: Period
    admission: Admission
    run_id: str
    backfill: str | None = None
    """The backfill that asked for this run together with others; None if this period was asked for by itself."""
    lease_token: int | None = None
    """Under which the run holds its month; None where nobody holds leases, as for a look at a plan."""


def call_of(run: Run, step: str, contract: ToolContract) -> ToolCall:
    """What a tool is given for one call of one step."""
    return ToolCall(run.work.task, run.period, step, run.work.ports, run.admission, contract.deadline_s)


@dataclass(frozen=True, slots=True)
class StepReport:
    """What became of a step: its state, its verdicts, and what was decided."""

    step: str
    tool: str
    state: StepState | None
    """None while it is to be tried again."""
    code: str | None
    reason: str
    tries: int
    duration_s: float
    verdicts: tuple[Verdict, ...]
    decision: Decision
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The tool's result or the held facts, as JSON."""
    hold_id: str | None = None
