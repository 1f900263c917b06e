"""Bounds of what is plausible: stated, or drawn around the median of the past; and when there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.delivery.plausible import ENOUGH
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Fact

_DECIMALS = 12
"""That are shown of a bound; a third has no end."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Least and most of one figure."""

    of: str
    least: Decimal | int | None
    most: Decimal | int | None
    median: Decimal | None = None
    """That it is drawn around; None if it is stated by itself."""

    def __str__(self) -> str:
        """`rows from 50 to 200 (median 100)`."""
        parts = [
            f"{word} {_plain(bound)}" for word, bound in (("from", self.least), ("to", self.most)) if bound is not None
        ]
        around = "" if self.median is None else f" (median {_plain(self.median)})"
        return f"{self.of} {' '.join(parts)} expected{around}"


def _plain(number: Decimal | int) -> str:
    text = f"{Decimal(number):.{_DECIMALS}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(bounds: Sequence[Bound]) -> Fact:
    """All of them, for the verdict's expected side."""
    return tuple(str(bound) for bound in bounds)


def periods_of(past: Sequence[PastPeriod], bounds: Sequence[Bound]) -> str:
    """Which periods the median is of, for the source's text; nothing if no bound is drawn around one."""
    if not any(bound.median is not None for bound in bounds):
        return ""
    return f", median of {', '.join(one.period for one in past)}"


def unbounded(scope: StepScope, phase: Phase, name: str, past: Sequence[PastPeriod], words: str) -> NotApplicable:
    """That nothing bounds it: known from the task and from what had settled when the attempt was opened."""
    if scope.task.plausible is None:
        return NotApplicable(name, phase, "the task states nothing plausible", scope.stated_by_task("plausible"))
    reason = f"{len(past)} settled earlier periods, and the task states no {words}"
    if len(past) < ENOUGH:
        reason = f"fewer than {ENOUGH} settled earlier periods ({len(past)}), and the task states no {words}"
    return NotApplicable(name, phase, reason, scope.stated_by_task("plausible"))
