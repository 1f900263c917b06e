"""What the task watches is there when the plan is checked."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.contract.task import Task
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.subject import Subject

NAME = "watched_is_there"


def watched_is_there(task: Task, period: Period, roots: Roots) -> tuple[BoundCheck, ...]:
    """One look at each watched thing. Whether it is what it should be is a matter of expectations and of steps."""
    return tuple(
        Check(
            NAME, "live", watch.probe(task, period, roots),
            Stated("there", Source(Subject("task", f"{task.name} v{task.version}"), f"watch {watch.name}")),
            _judge, absent_code=watch.gone,
        )
        for watch in task.watches
    )  # fmt: skip


def _judge(observed: Observation, _: Observation | Stated) -> Finding:
    counts = ", ".join(f"{name} {value}" for name, value in observed.facts.items() if isinstance(value, int))
    return Finding(
        "passed", "there", counts or "there", f"{observed.source.subject} is there{counts and f': {counts}'}"
    )
