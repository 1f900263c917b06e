"""What asking a model costs: requests, tokens, and US dollars by the configured prices."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_planexec.planner.openai.service import cannot_be_set_up
from dagster_planexec.planner.planner import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    tokens_in: Decimal
    tokens_out: Decimal

    @classmethod
    def of(cls, tokens_in: str | None, tokens_out: str | None) -> Prices | None:
        """The prices from decimal strings; None if none are given.

        Raises:
            PlanexecError: BAD_CONTRACT if one is no amount, or only one is given.
        """
        if tokens_in is None and tokens_out is None:
            return None
        if tokens_in is None or tokens_out is None:
            raise cannot_be_set_up("one of the prices is missing", "name both, or none")
        return cls(_amount(tokens_in), _amount(tokens_out))

    def cost(self, tokens_in: int, tokens_out: int) -> str:
        """What these tokens cost, exactly, as a decimal string."""
        total = (self.tokens_in * tokens_in + self.tokens_out * tokens_out) / _MILLION
        return f"{total:f}"


@dataclass(slots=True)
class Spent:
    """What asking a model has cost so far."""

    model: str
    prices: Prices | None
    since: float = field(default_factory=time.monotonic)
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, usage: Any) -> None:  # noqa: ANN401 - whatever the service sent
        """Count what an answer says that it used. What is no count is not counted."""
        if isinstance(usage, Mapping):
            self.tokens_in += _count(usage.get("prompt_tokens"))
            self.tokens_out += _count(usage.get("completion_tokens"))

    def usage(self) -> Usage | None:
        """The same as it is reported; None if nothing was asked."""
        if not self.calls:
            return None
        cost = self.prices.cost(self.tokens_in, self.tokens_out) if self.prices else None
        ms = int((time.monotonic() - self.since) * 1000)
        return Usage(self.model, self.calls, self.tokens_in, self.tokens_out, cost, ms)


def _count(value: Any) -> int:  # noqa: ANN401 - any JSON
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise cannot_be_set_up(f"the price {text[:40]!r} is no amount", "write it as a decimal string, e.g. '2.50'")
    return amount
