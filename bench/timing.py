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
    """One budget and what was measured against it."""

    name: str
    value: float
    unit: Literal["ms", "s", "ratio"]
    budget: float | None
    """At most this much; None for a figure that has no budget."""
    medians_s: Mapping[str, float]
    """The absolute times behind the value, in seconds, by case."""
    size: Mapping[str, int] = field(default_factory=dict)
    """How much was worked on."""

    def as_json(self) -> dict[str, Any]:
        """As the document has it."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "budget": self.budget,
            "within": None if self.budget is None else self.value <= self.budget,
            "medians_s": {case: round(seconds, 4) for case, seconds in self.medians_s.items()},
            "size": dict(self.size),
        }


def medians(
    cases: Mapping[str, Callable[[], object]], runs: int, *, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Seconds per case: the median of `runs` rounds, after one that does not count and warms everything.

    Args:
        cases: What is timed, by name. A case must be repeatable.
        runs: Rounds that count.
        clock: What says the time.
    """
    for case in cases.values():
        case()
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            gc.collect()
            began = clock()
            case()
            seconds[name].append(clock() - began)
    return {name: median(found) for name, found in seconds.items()}
