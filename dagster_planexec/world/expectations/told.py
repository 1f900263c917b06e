"""What a warehouse tells of a table after it was asked a suite: plain facts, bounded, nothing of any library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one expectation."""

    expectation: str
    """As the suite states it, in one line."""
    success: bool
    observed: str
    """In words: how many rows break it, or the number that was counted."""
    looked_at: int | None
    """Rows it looked at; None for one that is not about rows. Those without a value are not looked at."""
    unexpected: int | None
    """Rows that break it; None for one that is not about rows."""
    examples: tuple[str, ...] = ()
    """A few of the values that break it, bounded."""
    raised: str = ""
    """What went wrong while it was asked: then nobody knows whether it holds."""


@dataclass(frozen=True, slots=True)
class SuiteTold:
    """A whole suite on one table."""

    rows: int
    """Rows of the table, counted beside the suite."""
    outcomes: tuple[Told, ...]
    """In the order of the suite."""
    page: str = ""
    """The same as a page of HTML, for people; empty if it was only looked."""
