"""The flagship's world: a ledger of charges, and vendor invoices that agree with it but for a known few lines.

Everything follows from `SEED` and the period. March 2026 has 61,400 charges, as on the Saturday of the story.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cache
from random import Random
from typing import Literal

from assets.pair import DataSet, Difference, Line, Pair, money
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.world.period import Period

SEED = 20260307
MARCH = "2026-03"

LEDGER_ROWS = {"2026-01": 3_600, "2026-02": 4_100, MARCH: 61_400, "2026-04": 2_700}
"""Charges in the ledger by month. April is still open: the ledger has charges, the vendor has delivered nothing."""
DELIVERED = ("2026-01", "2026-02", MARCH)

OVERCHARGED = 9
"""Lines on which the ledger charged more than the vendor billed: the surplus is credited."""
UNDERCHARGED = 4
"""Lines on which it charged less: no credit."""
LEDGER_ONLY = 6
"""Charges the vendor did not bill: credited in full."""
VENDOR_ONLY = 3
"""Invoice lines without a charge: no credit."""
INFLATED = 30
"""More overcharged lines in the `inflated` month: still under the threshold of 50 lines, far over the cap."""

Variant = Literal["healthy", "perfect", "inflated"]

HEADER = ("Line", "Charge Ref", "Account", "Service Date", "Line Description", "Net Amount")
DESCRIPTIONS = (
    "Card processing fee",
    "Cross-border fee",
    "Chargeback handling, card not present",
    "Account updater",
    'Tokenisation "vault" storage',
    "Payout, same day",
)


def month(period: str, variant: Variant = "healthy") -> Pair:
    """Both sides of one month. The ledger is the same in every variant; only the vendor's side differs.

    Args:
        period: `2026-03`; months without an entry in `LEDGER_ROWS` get 3,000 charges.
        variant: `healthy`: a few differences of every kind. `perfect`: none. `inflated`: credits far over the cap.
    """
    rng = Random(f"{SEED}/{period}")  # noqa: S311 - data that must repeat
    drawn = rng.sample(range(LEDGER_ROWS.get(period, 3_000)), OVERCHARGED + UNDERCHARGED + LEDGER_ONLY + INFLATED)
    over, under, unbilled, inflated = _split(drawn, OVERCHARGED, UNDERCHARGED, LEDGER_ONLY)
    ledger = _ledger(period, rng, unbilled, inflated)
    changes: dict[int, int | None] = {}
    if variant != "perfect":
        changes |= {i: ledger[i].cents - rng.randrange(100, 2_000) for i in over}
        changes |= {i: ledger[i].cents + rng.randrange(1, 1_500) for i in under}
        changes |= dict.fromkeys(unbilled)
    extra = [] if variant == "perfect" else _unknown_to_the_ledger(period, rng, len(ledger))
    if variant == "inflated":
        changes |= {i: ledger[i].cents - 4_000 for i in inflated}
    billed = []
    for index, line in enumerate(ledger):
        cents = changes.get(index, line.cents)
        if cents is not None:
            billed.append(line if cents == line.cents else line._replace(cents=cents))
    # The vendor lists by account, the ledger by day.
    vendor = sorted([*billed, *extra], key=lambda line: (line.account_id, line.charge_id))
    return Pair.of(period, ledger, vendor, [*_changed(ledger, changes), *(_invented(line) for line in extra)])


def export_csv(lines: Iterable[Line], *, more: Sequence[tuple[str, str]] = ()) -> bytes:
    """The vendor's file with these lines, each numbered; `more` are columns the contract may not know."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEADER, *(header for header, _ in more)])
    values = [value for _, value in more]
    writer.writerows(
        [number, line.charge_id, line.account_id, line.charged_on, line.description, money(line.cents), *values]
        for number, line in enumerate(lines, 1)
    )
    return text.getvalue().encode()


def export_key(period: str, suffix: str = ".csv") -> str:
    """Where the vendor puts the invoice of a month."""
    return f"{TASK.drop.prefix}{period}-invoice{suffix}"


def _split(drawn: list[int], *sizes: int) -> list[list[int]]:
    parts, start = [], 0
    for size in sizes:
        parts.append(drawn[start : start + size])
        start += size
    return [*parts, drawn[start:]]


def _ledger(period: str, rng: Random, unbilled: list[int], inflated: list[int]) -> list[Line]:
    """The charges of a month in the order of their days, the first on its first day and the last on its last."""
    rows = LEDGER_ROWS.get(period, 3_000)
    span = Period.parse(period, "month")
    days = [(span.start + timedelta(n)).isoformat() for n in range((span.end - span.start).days)]
    cents = [rng.randrange(2_500, 25_000) for _ in range(rows)]
    # Full credits stay small and inflated lines stay positive, so every bound of the month holds by construction.
    for index in unbilled:
        cents[index] = rng.randrange(1_000, 3_500)
    for index in inflated:
        cents[index] = rng.randrange(5_000, 25_000)
    month_of = span.compact
    return [
        Line(
            f"CH-{month_of}-{index + 1:06d}",
            f"AC-{rng.randrange(4_000):05d}",
            days[index * len(days) // rows],
            DESCRIPTIONS[index % len(DESCRIPTIONS)],
            cents[index],
        )
        for index in range(rows)
    ]


def _unknown_to_the_ledger(period: str, rng: Random, rows: int) -> list[Line]:
    span = Period.parse(period, "month")
    return [
        Line(
            f"CH-{span.compact}-{rows + number:06d}",
            f"AC-{rng.randrange(4_000):05d}",
            (span.start + timedelta(rng.randrange(28))).isoformat(),
            DESCRIPTIONS[0],
            rng.randrange(1_000, 9_000),
        )
        for number in range(1, VENDOR_ONLY + 1)
    ]


def _changed(ledger: list[Line], changes: dict[int, int | None]) -> Iterable[Difference]:
    for index, cents in sorted(changes.items()):
        line = ledger[index]
        status: Literal["ledger_only", "amount_differs"] = "ledger_only" if cents is None else "amount_differs"
        yield Difference(line.charge_id, status, line.cents, cents)


def _invented(line: Line) -> Difference:
    return Difference(line.charge_id, "vendor_only", None, line.cents)


@cache
def _healthy(period: str) -> Pair:
    return month(period)


@cache
def _export(period: str) -> bytes:
    return export_csv(_healthy(period).vendor)


def _whole_ledger() -> list[Line]:
    return [line for period in LEDGER_ROWS for line in _healthy(period).ledger]


def _exports() -> dict[str, bytes]:
    return {export_key(period): _export(period) for period in DELIVERED}


DATA = DataSet(
    name="saturday",
    task=TASK,
    default_period=MARCH,
    currency="USD",
    ledger=_whole_ledger,
    exports=_exports,
    pair=_healthy,
    export_key=export_key,
)
