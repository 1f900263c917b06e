"""The live rules in their order: objects, then tables and systems, then what the plan expects."""

from __future__ import annotations

from collections.abc import Sequence

from dagster_planexec.checks.check import BoundCheck
from dagster_planexec.checks.live.earlier_effects_are_known import earlier_effects_are_known
from dagster_planexec.checks.live.expectations_of_the_plan import expectations_of_the_plan
from dagster_planexec.checks.live.outlives_its_read import outlives_its_read
from dagster_planexec.checks.live.source_matches_contract import source_matches_contract
from dagster_planexec.checks.live.watched_is_there import watched_is_there
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission
from dagster_planexec.plan.model import Expectation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots

LIVE_STEP_CHECKS = frozenset({"object_exists", "object_is_non_empty", "drop_is_complete"})
"""Step preconditions that can be judged before the run, because they ask for nothing that a step makes."""


def step_checks(scope: StepScope, *, wait_s: float) -> tuple[BoundCheck, ...]:
    """The live rules of one step whose arguments are known before the run.

    Args:
        scope: The step, resolved.
        wait_s: Seconds that the steps before it may take.
    """
    return outlives_its_read(scope, wait_s=wait_s) if scope.contract.perishable else ()


def plan_checks(
    task: Task, period: Period, expects: Sequence[Expectation], admission: Admission, roots: Roots
) -> tuple[BoundCheck, ...]:
    """The live rules of the task and of the plan as a whole."""
    return (
        *watched_is_there(task, period, roots),
        *source_matches_contract(task),
        *earlier_effects_are_known(task, period),
        *expectations_of_the_plan(task, period, expects, admission, roots),
    )
