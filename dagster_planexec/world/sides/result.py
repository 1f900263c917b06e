"""The columns of a reconciliation's result and which of its lines are credited, in terms that SQL can follow."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.sides.comparison.shape import COLUMN_DIFFERS


@dataclass(frozen=True, slots=True)
class CreditShape:
    """Which lines of a result are credited: charged minus billed where positive, unbilled charges in full."""

    key: tuple[str, ...]
    """Columns that together are the line key; joined as trimmed, escaped text."""
    status: str
    differs: str
    """The status word of a line whose amounts differ."""
    only_charged: str
    """The status word of a line that only the charged side has."""
    charged: str
    """The column with the amount that was charged."""
    billed: str
    """The column with the amount that the other side says was due."""
    scale: int = 2
    """Decimals of the currency. An amount with more of them is counted as inexact, never rounded in silence."""

    @property
    def money(self) -> tuple[str, ...]:
        """The columns that hold money."""
        return (self.charged, self.billed)


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """How a result says what became of each line. The hashable form of a task's result shape."""

    key: tuple[str, ...]
    status: str
    identical: str
    differs: str
    only: tuple[tuple[str, str], ...]
    """(side, status word of a line that only this side has), in the order of the task's sides."""
    amounts: tuple[tuple[str, str], ...]
    """(side, column of its amount), in the same order."""
    scale: int = 2
    credit: CreditShape | None = None
    further: tuple[str, ...] = ()
    """Status words of lines that are neither compared nor simply missing on one side."""
    rows: tuple[tuple[str, str], ...] = ()
    """(side, column of how many of its rows a line stands for); none: one, where the status says so."""

    @property
    def words(self) -> tuple[str, ...]:
        """Every status word, the agreeing ones first."""
        return (self.identical, self.differs, *(word for _, word in self.only), *self.further)

    @property
    def paired(self) -> tuple[str, ...]:
        """Status words of lines that both sides have, whatever does not agree on them."""
        return (self.identical, self.differs, *(word for word in self.further if word == COLUMN_DIFFERS))

    @property
    def money(self) -> tuple[str, ...]:
        """The columns that hold money."""
        return tuple(column for _, column in self.amounts)

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of the sides."""
        return tuple(side for side, _ in self.amounts)
