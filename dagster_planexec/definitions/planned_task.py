"""A bound task and its planner. Only what settles a task needs both; what runs a plan loads the binding alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.contract.task import Task
from dagster_planexec.planner.planner import Planner


def task_run_name(task: Task) -> str:
    """The name of the job of a task's asset: what schedules and sensors start."""
    return f"{task.name}__task_run"


def continue_name(task: Task) -> str:
    """The name of the job that finishes a period which people have released."""
    return f"{task.name}__continue"


def finish_name(task: Task) -> str:
    """The name of the one op of that job."""
    return f"{task.name}__finish"


def decide_name(task: Task) -> str:
    """The name of the job whose form takes a signed decision."""
    return f"{task.name}__decide"


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """What a project lists: a task with its parts, and who writes its plans."""

    binding: TaskBinding
    planner: Callable[[], Planner]
    """Makes the planner in the process that settles, so that its key is read there and nowhere else."""

    @property
    def name(self) -> str:
        """The task's name."""
        return self.binding.task.name
