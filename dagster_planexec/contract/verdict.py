"""A verdict: one check, both sides with their sources, and whether the next step may start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from dagster_planexec.world.observation import Fact, Source

Status = Literal["passed", "failed", "not-evaluated", "errored", "not-applicable"]
Phase = Literal["live", "pre", "post"]

_OPENS = frozenset({"passed", "not-applicable"})
_WORST_FIRST: tuple[Status, ...] = ("errored", "failed", "not-evaluated", "passed", "not-applicable")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: the value, and where it came from."""

    value: Fact
    source: Source

    def __str__(self) -> str:
        """`61400 (warehouse:staging.x read by SQL count(*) at ...)`."""
        return f"{self.value} ({self.source})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found. Only `passed` and `not-applicable` open a gate."""

    check: str
    phase: Phase
    status: Status
    expected: Side
    observed: Side
    code: str | None = None
    """The stable code if the gate stays shut, else None."""
    text: str = ""
    """One sentence for a person."""
    retry_after_s: float | None = None
    """For `errored`: seconds after which the service asked to be looked at again. It is for the try, not for memory."""

    @property
    def opens(self) -> bool:
        """Whether the next thing may happen. Decided here and nowhere else."""
        return self.status in _OPENS


def first_shut(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The first verdict, in contract order, that does not open its gate."""
    return next((verdict for verdict in verdicts if not verdict.opens), None)


def worst(statuses: Iterable[Status]) -> Status | None:
    """The worst of several statuses of one gate; None of none."""
    found = set(statuses)
    return next((status for status in _WORST_FIRST if status in found), None)
