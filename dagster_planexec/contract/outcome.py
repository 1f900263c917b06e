"""What became of a tool call (an outcome) and of a step. Errors are values with codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel

from dagster_planexec.world.observation import Fact

StepState = Literal["done", "reused", "failed", "held", "waiting", "not-run"]


@dataclass(frozen=True, slots=True)
class Done:
    """The call succeeded, as far as the tool knows. What it reports is a claim until a check has judged it."""

    result: BaseModel


@dataclass(frozen=True, slots=True)
class Failed:
    """The call did not succeed."""

    code: str
    message: str
    """One bounded sentence; text from outside is quoted."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    retry_after_s: float | None = None
    """Seconds after which the service asked to be called again; None if it said nothing."""


@dataclass(frozen=True, slots=True)
class Held:
    """The tool did nothing, because a person has to decide first."""

    code: str
    message: str
    facts: Mapping[str, Fact] = field(default_factory=dict)


Outcome: TypeAlias = Done | Failed | Held
