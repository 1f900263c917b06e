"""Rows and an amount that are stated, against those that are found: to the last digit, with got and want."""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.checks.check import Finding

CODE = "CONTROL_TOTAL_MISMATCH"
_EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


def exact(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, of however many digits."""
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


@dataclass(frozen=True, slots=True)
class Figures:
    """A count and a sum; None is not stated, or was not counted."""

    rows: int | None
    amount: Decimal | None
    unread: int = 0
    """Amounts that could not be read; they are not in the sum."""

    def words(self, *, like: Figures | None = None) -> str:
        """`5 rows, 500.00`; of what another one does not have, nothing is said. As many places as the other has."""
        rows = None if like is not None and like.rows is None else self.rows
        amount = None if like is not None and like.amount is None else self.amount
        said = [] if rows is None else [f"{rows} row{'' if rows == 1 else 's'}"]
        said += [] if amount is None else [f"{_as_long_as(amount, like.amount if like is not None else None):f}"]
        said += [f"{self.unread} amounts unread"] if self.unread and amount is not None else []
        return ", ".join(said) or "nothing"


def _as_long_as(amount: Decimal, other: Decimal | None) -> Decimal:
    """The same amount with as many places as another one: a counter that drops zeros says 30 of 30.00."""
    mine, wanted = (one.as_tuple().exponent if one is not None else 0 for one in (amount, other))
    if isinstance(mine, int) and isinstance(wanted, int) and wanted < mine:
        return _EXACT.quantize(amount, Decimal((0, (1,), wanted)))
    return amount


def agree(due: Figures, found: Figures, *, of: str, stated_by: str) -> Finding:
    """Passed if what is stated was found.

    Args:
        due: What is stated.
        found: What was counted and added up.
        of: Of what, for people: `the table`, or a file's key in quotes.
        stated_by: `manifest`, `control file`, `trailer`.
    """
    want, got = due.words(), found.words(like=due)
    same = due.rows in {None, found.rows} and (due.amount is None or (due.amount == found.amount and not found.unread))
    if same:
        return Finding("passed", want, got, f"{of}: {got}, as the {stated_by} states")
    return Finding("failed", want, got, f"{of}: the {stated_by} states {want}; found {got}", CODE)
