"""Interleaved timing: every case once per round, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure, and the budget it is held against."""

    name: str
    value: float
    unit: Literal["ms", "s", "ratio", "MB"]
    budget: float | None
    """None for a figure that has no budget."""
    medians: Mapping[str, float]
    """The absolute figures behind the value, by case."""
    runs: int
    """Rounds that count."""
    size: Mapping[str, int] = field(default_factory=dict)
    """How much was worked on."""
    bound: Literal["at most", "at least"] = "at most"
    """What the budget is."""
    medians_in: Literal["s", "MB"] = "s"

    @property
    def within(self) -> bool | None:
        """Whether the budget is kept; None if there is none."""
        if self.budget is None:
            return None
        return self.value <= self.budget if self.bound == "at most" else self.value >= self.budget

    def as_json(self) -> dict[str, Any]:
        """As the document has it."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "budget": self.budget,
            "bound": self.bound,
            "within": self.within,
            "medians": {case: round(found, 4) for case, found in self.medians.items()},
            "medians_in": self.medians_in,
            "size": dict(self.size),
            "runs": self.runs,
        }


def medians(
    cases: Mapping[str, Callable[[], object]],
    runs: int,
    *,
    before: Mapping[str, Callable[[], object]] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds per case: the median of `runs` rounds, after one that does not count and warms everything.

    Args:
        cases: What is timed, by name. A case must be repeatable.
        runs: Rounds that count.
        before: What a case needs each time, and is no part of it.
        clock: What says the time.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(1 + runs):
        for name, case in cases.items():
            if before is not None and name in before:
                before[name]()
            gc.collect()
            began = clock()
            case()
            seconds[name].append(clock() - began)
    return {name: median(found[1:]) for name, found in seconds.items()}
