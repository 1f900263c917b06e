"""What a project offers to `planexec demo`: a world to run in, faults to put into it, and a control to compare with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """What a person asked for."""

    home: Path | None
    """None: the project's default home, fresh for a fault."""
    data: str
    fault: str | None
    partition: str | None
    literal: bool = False
    """Whether the control executor will run in it."""


class Scene(ABC):
    """A seeded world, up and running, with the environment set for the project's definitions."""

    task: str
    partition: str
    home: Path

    @abstractmethod
    def run_literally(self) -> Mapping[str, Any]:
        """Run the plan by the control executor: a loop over the steps that reads no answer. The same document."""

    @abstractmethod
    def stay(self, *, port: int) -> int:
        """Run `dagster dev` on this world until it is interrupted, and return its exit code."""


class DemoStage(ABC):
    """A project's demo."""

    @abstractmethod
    def data_sets(self) -> tuple[str, ...]:
        """The data sets, the default first."""

    @abstractmethod
    def faults(self) -> Mapping[str, str]:
        """Fault name to one line of what it does, when, and what the run must end with."""

    @abstractmethod
    def open(self, request: DemoRequest) -> AbstractContextManager[Scene]:
        """Set the world up; take it down at the end of the block.

        Raises:
            PlanexecError: HOME_UNWRITABLE, PORT_IN_USE, LOCKED, UNKNOWN_PARTITION; BAD_CONTRACT for an unknown fault.
        """
