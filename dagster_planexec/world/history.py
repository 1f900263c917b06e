"""The past as a port: what was observed of settled earlier periods of a task, whoever remembers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from dagster_planexec.world.period import Period


@dataclass(frozen=True, slots=True)
class PastPeriod:
    """One settled period, as it was observed when it settled."""

    period: str
    attempt: str
    landed: frozenset[str] = frozenset()
    """SHA-256 of what was delivered for it."""
    rows: int | None = None
    """Of the delivery's table; None if nothing was loaded."""
    total: Decimal | None = None
    """The sum of its amounts."""
    lines: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Side to how many lines of the result it has, and how many of them another side has too."""


class History(ABC):
    """What is remembered of a task's periods."""

    @abstractmethod
    def settled_before(self, period: Period) -> tuple[PastPeriod, ...]:
        """The settled periods that end before this one begins, oldest first, each once; the last twelve at most.

        Raises:
            PlanexecError: They cannot be read.
        """
