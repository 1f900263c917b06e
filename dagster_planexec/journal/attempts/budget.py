"""What an attempt has spent, read from its events: no run, retry or process of it can spend anything unseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster_planexec.contract.task import Limits
from dagster_planexec.journal.journal import Journal

TRIES_AGAIN = frozenset({"retry", "retry-after", "refresh-credentials", "retry-corrected", "use-fallback"})
"""Strategies of a `decided` event that end in another call, and so cost one retry."""
REPLANNED = "replanned"
ASKED = ("proposed", "chosen")
"""Kinds of events whose `usage` says what asking a model cost."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used of each budget, over all runs of one attempt."""

    retries: int = 0
    replans: int = 0
    model_calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """What may still be used; never below 0."""

    retries: int
    replans: int
    model_calls: int
    tokens: int

    @property
    def model_may_be_called(self) -> bool:
        """Whether there is a call left, and a token to spend on it."""
        return self.model_calls > 0 and self.tokens > 0

    @property
    def used_up(self) -> tuple[str, ...]:
        """The names of the budgets of which nothing is left, as `Limits` has them."""
        names = ("retries", "replans", "model_calls", "tokens")
        return tuple(f"max_{name}" for name in names if getattr(self, name) == 0)


def spent(journal: Journal, attempt_id: str) -> Spent:
    """What an attempt has spent so far."""
    retries = replans = model_calls = tokens = 0
    for event in journal.events(attempt_id, kinds=["decided", REPLANNED, *ASKED]):
        if event.kind == "decided":
            # Journals from before strategies were named have the decision alone.
            again = event.payload.get("strategy") or event.payload.get("decision")
            retries += again in TRIES_AGAIN
        elif event.kind == REPLANNED:
            replans += 1
        else:
            usage = _usage(event.payload)
            model_calls += _count(usage, "calls")
            tokens += _count(usage, "tokens_in") + _count(usage, "tokens_out")
    return Spent(retries, replans, model_calls, tokens)


def left(limits: Limits, used: Spent) -> Left:
    """What the task's limits leave of that."""
    return Left(
        max(0, limits.max_retries - used.retries),
        max(0, limits.max_replans - used.replans),
        max(0, limits.max_model_calls - used.model_calls),
        max(0, limits.max_tokens - used.tokens),
    )


def left_of(journal: Journal, attempt_id: str, limits: Limits) -> Left:
    """What an attempt may still use."""
    return left(limits, spent(journal, attempt_id))


def _usage(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    usage = payload.get("usage")
    return usage if isinstance(usage, Mapping) else {}


def _count(usage: Mapping[str, Any], name: str) -> int:
    """A number of calls or tokens; what is none, or below 0, counts as none: it was said by somebody else's server."""
    value = usage.get(name)
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
