"""Who takes part in settling a period, and what is passed between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.checks.static.static_check import is_rejected
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.money.lease.leases import HasEnded, Lease, nobody_knows
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.diff import Edit
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Planner
from dagster_planexec.world.period import Period


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan with everything that is known of it before anything runs: what a person can read, and stop."""

    plan: Plan
    digest: str
    attempt: Attempt
    findings: tuple[StaticFinding, ...]
    live: tuple[Verdict, ...]
    edits: tuple[Edit, ...] | None
    """Against the plan of the last settled earlier period; None if there is none."""
    compared_with: str | None
    """That period."""
    revises: tuple[Edit, ...] | None = None
    """Against the revision before it; None for the first."""

    @property
    def claims(self) -> int:
        """How many claims the plan's steps and expectations make."""
        return len(self.plan.expects) + sum(len(step.claims) for step in self.plan.steps)

    @property
    def rejected_with(self) -> str | None:
        """The code of the rejection: the first live finding, else PLAN_REJECTED; None if the plan may run."""
        for verdict in self.live:
            if not verdict.opens:
                return verdict.code
        return "PLAN_REJECTED" if is_rejected(self.findings) else None


class Launcher(ABC):
    """Runs an admitted plan and comes back when the run has ended."""

    @abstractmethod
    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        """The id of the run. How it ended is in the journal.

        Args:
            attempt: Whose plan.
            plan_digest: The plan.
            period: The month or quarter.
            lease_token: Under which the month is held: whatever runs a step, in whatever process, writes under it.

        Raises:
            PlanexecError: The run could not be started.
        """


@dataclass(frozen=True, slots=True)
class Asking:
    """How a run asks for its month."""

    started_by: str = "a person"
    """In words."""
    run_key: str | None = None
    """Under which a sensor or schedule asked for the run."""
    has_ended: HasEnded = nobody_knows
    """Whether the run of another holder is known to have ended."""
    on_taken: Callable[[Lease], None] = field(default=lambda _: None)
    """Told when the month is held, before anything else: to clear away what an earlier holder left."""
    lasts_s: int | None = None
    """Seconds that the lease lasts without a beat; None: longer than the longest deadline of a tool."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Who takes part, and who is told."""

    work: Work
    planner: Planner
    launcher: Launcher
    task_run_id: str | None = None
    on_checked: Callable[[CheckedPlan], None] = field(default=lambda _: None)
    """Told before a plan's run starts, whether it may run or not: once per revision."""
    asking: Asking = field(default_factory=Asking)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A period up to the point where its plan could run."""

    report: RunReport
    """Ended if the plan may not run."""
    attempt: Attempt | None = None
    checked: CheckedPlan | None = None
    """None if there is no plan to check."""

    @property
    def may_run(self) -> bool:
        """Whether the plan was checked and nothing stands against it."""
        return self.checked is not None and self.checked.rejected_with is None
