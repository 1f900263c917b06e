"""What a period may be, beside the settled ones before it: bounds of a delivery and of what was matched."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.errors import PlanexecError

ENOUGH = 3
"""Settled earlier periods from which on their median says something."""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Bounds that a person stated. What is None is not judged.

    The absolute ones hold always, and are all there is while fewer than three earlier periods have settled.

    Raises:
        PlanexecError: BAD_CONTRACT if a bound lets nothing through, or nothing is bounded.
    """

    min_rows: int | None = None
    max_rows: int | None = None
    """Of the delivery."""
    min_total: Decimal | None = None
    max_total: Decimal | None = None
    """Of its amounts."""
    volume_ratio: tuple[Decimal, Decimal] | None = (Decimal("0.5"), Decimal(2))
    """Least and most of the median's rows, and of its total where that is above zero."""
    max_unmatched_share: Decimal | None = None
    """Most of a side's lines that the other side may lack."""
    unmatched_above_median: Decimal | None = Decimal("0.1")
    """How far a side's unmatched share may lie above the median of its earlier ones, e.g. 0.1: from 2 % to 12 %."""

    may_repeat: bool = False
    """Whether a delivery may be, byte for byte, that of the period before: a fixed fee without a date is."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("rows", self.min_rows, self.max_rows),
            ("total", self.min_total, self.max_total),
            ("volume_ratio", *(self.volume_ratio or (None, None))),
        ):
            if least is not None and most is not None and least > most:
                raise _bad(f"states {name} of at least {least} and at most {most}, which nothing is")
        for name in ("max_unmatched_share", "unmatched_above_median"):
            share = getattr(self, name)
            if share is not None and not (isinstance(share, Decimal) and 0 <= share <= 1):
                raise _bad(f"states {name} {share}; expected a Decimal from 0 to 1")
        if any(isinstance(bound, float) for bound in (self.min_total, self.max_total, *(self.volume_ratio or ()))):
            raise _bad("states a bound as a float; expected Decimal")


def _bad(what: str) -> PlanexecError:
    return PlanexecError("BAD_CONTRACT", f"Plausible {what}", hint="correct the bound")
