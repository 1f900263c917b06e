"""What executing needs, and what became of one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.scope import Binder
from dagster_planexec.contract.outcome import StepState
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, EffectTool, ToolCall, ToolContract, ToolRegistry
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import effects_of, issued_elsewhere
from dagster_planexec.plan.model import Plan
from dagster_planexec.recovery.choice import Chooser
from dagster_planexec.recovery.decision import Decision
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probes.result.to_issue import Elsewhere


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


def _nobody() -> str | None:
    return None


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
    ended_by: Callable[[], str | None] = _nobody
    """Asked before every line that cannot be undone: who has ended this run, in words; None while nobody has."""


def call_of(run: Run, step: str, contract: ToolContract) -> ToolCall:
    """What a tool is given for one call of one step."""
    call = ToolCall(run.work.task, run.period, step, run.work.ports, run.admission, contract.deadline_s)
    return replace(call, elsewhere=elsewhere_of(run, contract.name, call))


def elsewhere_of(run: Run, tool_name: str, call: ToolCall) -> Elsewhere:
    """What the ledger says another system has issued for the scope and period; nothing for a tool without effects."""
    tool = run.work.tools.get(tool_name)
    if not isinstance(tool, EffectTool) or not run.work.journal.has_effects:
        return ()
    known = effects_of(run.work.journal, tool.scope(call), run.period.text)
    return issued_elsewhere(known, tool.target(call.ports))


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
