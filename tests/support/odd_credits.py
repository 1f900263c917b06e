"""Credit systems that break off, and a desk with lines to issue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from dagster_planexec.errors import PortError, RefusedError
from dagster_planexec.world.ports import Credit, CreditApi


class Odd(CreditApi):
    """A real credit system behind one that does something odd when the n-th credit of this process is issued."""

    def __init__(
        self, inner: CreditApi, *, at: int = 1, before: Callable[[], None] | None = None,
        after: Callable[[], None] | None = None, target: str | None = None,
    ) -> None:  # fmt: skip
        self.inner, self.at, self.before, self.after = inner, at, before, after
        self.named = target
        self.sent: list[Credit] = []
        self.finds: list[Credit] = []
        self.blind = False
        """Whether it cannot be asked by key."""
        self.behind = False
        """Whether its list does not show what it has issued."""

    @property
    def target(self) -> str:
        return self.named or self.inner.target

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        return () if self.behind else self.inner.listed(scope, period)

    def find(self, credit: Credit) -> Credit | None:
        self.finds.append(credit)
        if self.blind:
            raise PortError("UNAVAILABLE", "503")
        return self.inner.find(credit)

    def issue(self, credit: Credit) -> None:
        self.sent.append(credit)
        here = len(self.sent) == self.at
        if here and self.before is not None:
            self.before()
        self.inner.issue(credit)
        if here and self.after is not None:
            self.after()


def breaks(code: str = "TIMEOUT") -> Callable[[], None]:
    def raises() -> None:
        raise PortError(code, "no answer")

    return raises


def refuses(code: str, retry_after_s: float | None = None) -> Callable[[], None]:
    def raises() -> None:
        raise RefusedError(code, "no", retry_after_s=retry_after_s)

    return raises


def rows(**amounts: str) -> list[tuple[str, str, str, None]]:
    """Lines that are to be credited in full."""
    return [(key, "ledger_only", amount, None) for key, amount in amounts.items()]


def money(**amounts: str) -> dict[str, Decimal]:
    return {key: Decimal(amount) for key, amount in amounts.items()}
