"""A vendor's file and a ledger whose differences are known, because whoever made them wrote each one down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from dagster_planexec.contract.task import Task

Status = Literal["amount_differs", "ledger_only", "vendor_only"]


class Line(NamedTuple):
    """One charge, as either side has it. Money is whole cents until it is written."""

    charge_id: str
    account_id: str | None
    charged_on: str
    """ISO date."""
    description: str
    cents: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One line that the two sides do not agree on."""

    charge_id: str
    status: Status
    ledger_cents: int | None
    vendor_cents: int | None

    @property
    def credit_cents(self) -> int:
        """What the customer gets back: the surplus of a line both have, all of a line only the ledger has."""
        if self.ledger_cents is None:
            return 0
        return max(self.ledger_cents - (self.vendor_cents or 0), 0)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a correct reconciliation finds, known without one."""

    ledger_rows: int
    vendor_rows: int
    ledger_sum: Decimal
    vendor_sum: Decimal
    differences: tuple[Difference, ...]

    def count(self, status: Status) -> int:
        """How many lines end with that status."""
        return sum(1 for d in self.differences if d.status == status)

    @property
    def identical(self) -> int:
        """Lines both sides have with one amount."""
        return self.ledger_rows - self.count("amount_differs") - self.count("ledger_only")

    @property
    def credits(self) -> dict[str, Decimal]:
        """Every credit that is due, by line key."""
        return {d.charge_id: money(d.credit_cents) for d in self.differences if d.credit_cents > 0}

    @property
    def credit_sum(self) -> Decimal:
        """All credits together."""
        return sum(self.credits.values(), Decimal("0.00"))


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of one period, and the truth about them."""

    period: str
    ledger: tuple[Line, ...]
    vendor: tuple[Line, ...]
    truth: Truth

    @classmethod
    def of(cls, period: str, ledger: Iterable[Line], vendor: Iterable[Line], differences: Iterable[Difference]) -> Pair:
        """The pair, with counts and sums taken from the lines as they were made."""
        ours, theirs = tuple(ledger), tuple(vendor)
        truth = Truth(
            len(ours),
            len(theirs),
            money(sum(line.cents for line in ours)),
            money(sum(line.cents for line in theirs)),
            tuple(differences),
        )
        return cls(period, ours, theirs, truth)


@dataclass(frozen=True, slots=True, eq=False)  # one is itself: what is made of it is kept by it
class DataSet:
    """Everything the demo needs to put one task's world in place."""

    name: str
    """As in `planexec demo --data NAME`."""
    task: Task
    default_period: str
    currency: str
    ledger: Callable[[], list[Line]]
    """All lines of the ledger table, other periods than the demo's included."""
    exports: Callable[[], dict[str, bytes]]
    """Object key to content: everything the vendor has delivered."""
    pair: Callable[[str], Pair]
    """Both sides of one period, and the truth."""
    export_key: Callable[[str, str], str]
    """Period and ending (`.csv`) to the key of the delivery."""

    @property
    def ledger_table(self) -> str:
        """`schema.table` of the ledger."""
        return str(self.task.input("ledger").source)


def money(cents: int) -> Decimal:
    """Whole cents as a decimal with two places."""
    return Decimal(cents).scaleb(-2)
