"""What one deliverable's table is expected to be, and what a warehouse told of it: plain facts, of no library."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation as the suite states it."""

    type: str
    kwargs: str
    """JSON, with its keys in order, so that equal expectations are equal."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The kwargs as Great Expectations takes them."""
        found: dict[str, Any] = json.loads(self.kwargs)
        return found

    @property
    def mostly(self) -> Any:  # noqa: ANN401 - a JSON number
        """The share of rows that is enough; 1 if nothing is said."""
        return self.arguments.get("mostly", 1)

    def __str__(self) -> str:
        """`expect_column_values_to_be_between(column=amount, min_value=0)`: what verdicts show."""
        said = ", ".join(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in self.arguments.items()
        )
        return f"{self.type}({said})"


@dataclass(frozen=True, slots=True)
class Suite:
    """What one deliverable's table is expected to be."""

    name: str
    expectations: tuple[Expectation, ...]
    sha256: str
    """Of the file's bytes."""


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
