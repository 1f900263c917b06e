"""How a task has failed before, and what helped: remembered beyond the events it was learnt from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """How a task has failed before, over all its periods."""

    task: str
    tool: str
    code: str
    check: str | None
    """The check that was not passed; None if the call itself failed."""
    shape: str
    """Twelve hex digits that name the plan's shape: its tools and how they depend on one another."""
    count: int
    first_seen: str
    last_seen: str
    """ISO 8601, UTC."""
    resolved_by: str | None
    """What a later attempt or revision of the same period did differently before it settled, e.g. `new inputs`."""
