"""What a call that cannot be undone is about to do, or has done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one scope and period."""

    count: int
    """Line keys for which something is to be issued, or was issued, by this call."""
    amount: Decimal
    """What that is together."""
    already: int
    """Line keys of the result for which nothing is to be issued any more."""
    known_amount: Decimal
    """Everything that was issued before, whoever issued it."""
    elsewhere: int = 0
    """Line keys that another system has issued."""
    over: Decimal = Decimal(0)
    """What was issued before beyond what is due now. It stays issued."""
