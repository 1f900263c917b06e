"""What may follow an outcome. A closed union: whoever handles decisions handles all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dagster_planexec.contract.tool import Effect

Stage = Literal["precondition", "call", "postcondition", "surprise"]
"""Where a code was met. At `surprise` the step is done, and what it showed speaks against the rest of the plan."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """Hand the result on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the same step again after a pause."""

    reason: str
    after_s: float


@dataclass(frozen=True, slots=True)
class Replan:
    """The rest of the plan is no longer believed: the run ends without failing, and another plan is asked for."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """A person has to decide. The run ends without failing, and nothing irreversible has happened."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing after this step runs, on any branch."""

    reason: str


Decision: TypeAlias = Proceed | Retry | Replan | Hold | Stop


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a rule may look at. Facts only: no plan, no model, no clock."""

    code: str | None
    """The step's code; None if nothing is wrong."""
    stage: Stage
    """Where it was met."""
    effect: Effect
    idempotent: bool
    tries: int
    """Tries of this step so far, this one included."""
    max_tries: int
    text: str
    """The sentence of the verdict or failure, for the reason."""
    call_may_have_happened: bool = False
    """The call was begun and its outcome is not known (time-out, lost connection, process death)."""
    replannable: bool = False
    """The task lists the code as one after which another plan may be asked for."""
    checkpoint: bool = False
    """The plan itself ends here: what comes next depends on what was seen."""
