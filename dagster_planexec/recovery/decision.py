"""What may follow an outcome. A closed union: whoever handles decisions handles all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dagster_planexec.contract.strategies import Strategy
from dagster_planexec.contract.tool import Effect

Stage = Literal["precondition", "call", "postcondition", "surprise"]
"""Where a code was met. At `surprise` the step is done, and what it showed speaks against the rest of the plan."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """Hand the result on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the same step again after a pause, in the same run."""

    reason: str
    after_s: float


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Try again much later: the run ends without failing and holds nothing, and another continues when it is time."""

    reason: str
    after_s: float


@dataclass(frozen=True, slots=True)
class RefreshCredentials:
    """Have the credentials read anew, then try again at once."""

    reason: str


@dataclass(frozen=True, slots=True)
class RetryCorrected:
    """Respell an argument as the tool takes it, then try again at once."""

    reason: str


@dataclass(frozen=True, slots=True)
class UseFallback:
    """Have another tool make the same call, at once. What it leaves is judged as the step's own."""

    reason: str
    tool: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the step out and go on: nothing needs it."""

    reason: str


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


Decision: TypeAlias = (
    Proceed | Retry | RetryAfter | RefreshCredentials | RetryCorrected | UseFallback | Skip | Replan | Hold | Stop
)


def word_of(decision: Decision) -> str:
    """A decision as the journal and people call it: `retry-after` of a RetryAfter."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(decision).__name__).lower()


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
    """Tries of this step so far in this run, this one included."""
    max_tries: int
    text: str
    """The sentence of the verdict or failure, for the reason."""
    call_may_have_happened: bool = False
    """The call was begun and its outcome is not known (time-out, lost connection, process death)."""
    replannable: bool = False
    """The task lists the code as one after which another plan may be asked for."""
    checkpoint: bool = False
    """The plan itself ends here: what comes next depends on what was seen."""
    narrowed: tuple[Strategy, ...] | None = None
    """What the tool's contract leaves of the code's strategies; None if it says nothing."""
    retries_left: int | None = None
    """How often anything in this attempt may still be tried again; None if nobody counts."""
    retry_after_s: float | None = None
    """After how many seconds the service asked to be called again."""
    fallback: str | None = None
    """The tool that the contract names for when this one cannot be called, if it is at hand."""
    fallback_used: bool = False
    needed: bool = True
    """A deliverable or another step needs this step."""
    refreshable: bool = False
    """The ports can have their credentials read anew."""
    refreshed: bool = False
    correctable: bool = False
    """Code knows another spelling of the arguments, of the same meaning."""
    corrected: bool = False
    came_back: bool = False
    """The same tool met the same code at the same claim in this attempt before, and something was done about it."""
    jitter: float = 0.0
    """From 0 to 1: which part of the pause is left out at random, by run, step and try."""
