"""Who proposes: the interface every planner keeps, and what a proposal carries besides the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.period import Period


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a planner is asked: a task, one period, and the tools it may use."""

    task: Task
    period: Period
    tools: ToolRegistry


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan, or the code of why there is none, with where it came from. Provenance is kept beside the digest."""

    plan: Plan | None
    planner: str
    author: str
    """Who wrote it: a model and its prompt's digest, or a person."""
    model_called: bool
    code: str | None = None
    message: str = ""
    hint: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def provenance(self, task: Task) -> dict[str, Any]:
        """What is journalled with the plan."""
        return {
            "planner": self.planner,
            "author": self.author,
            "model_called": self.model_called,
            "task_version": task.version,
            "contracts": {name: contract.version for name, contract in sorted(task.contracts.items())},
            **self.more,
        }


class Planner(ABC):
    """Writes a plan for one period of one task. It proposes; it decides nothing."""

    name: str

    @abstractmethod
    def propose(self, request: PlanRequest) -> Proposal:
        """A plan for the request. A failure to propose is a Proposal with a code, not an exception."""

    def examine(self, request: PlanRequest) -> Proposal | None:  # noqa: ARG002 - for planners that know
        """What it would propose, if that is known without asking anybody; None if only a call could tell.

        For looking at an installation before a run: it calls no model and costs nothing.
        """
        return None

    @property
    def recipe(self) -> str:
        """What identifies this planner's way of proposing; another recipe opens another attempt."""
        return self.name
