"""Who proposes: the interface every planner keeps, and what a proposal carries besides the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dagster_planexec.contract.task import Task
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.request import PlanRequest


@dataclass(frozen=True, slots=True)
class Usage:
    """What asking a model cost. Every attempt to reach it is a call, also one that was refused."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: str | None = None
    """US dollars as a decimal string, by the configured prices; None if none are configured."""
    ms: int = 0


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
    usage: Usage | None = None
    """None if no model was called."""

    def provenance(self, task: Task) -> dict[str, Any]:
        """What is journalled with the plan."""
        return {
            "planner": self.planner,
            "author": self.author,
            "model_called": self.model_called,
            "task_version": task.version,
            "contracts": {name: contract.version for name, contract in sorted(task.contracts.items())},
            **({"usage": asdict(self.usage)} if self.usage is not None else {}),
            **self.more,
        }


class Planner(ABC):
    """Writes a plan for one period of one task. It proposes; it decides nothing."""

    name: str
    calls_model: bool = False
    """Whether proposing costs model calls, which the attempt's budget counts."""
    deadline_s: float = 3_600.0
    """Seconds after which a proposal is given up as a TIMEOUT; a planner's own deadlines come first."""
    revises: bool = False
    """Whether it can answer a request that has `revising` or `repair`; one that cannot is not asked."""

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
