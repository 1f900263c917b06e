"""The flagship over the year 2025 and January 2026, with months of sixty charges."""

from __future__ import annotations

from functools import cache

from assets.demo import saturday
from assets.pair import DataSet, Difference, Line, Pair
from assets.reconciliation import Books, Calendar, reconciliation_task
from assets.vendor_reconciliation.task import FOLDER
from assets.vendor_reconciliation.task import TASK as FLAGSHIP
from dagster_planexec.world.period import Period

TASK = reconciliation_task(
    name="vendor_reconciliation",
    goal="Reconcile the vendor's invoice of the month with the ledger, report every difference, credit overcharges.",
    calendar=Calendar("month", zone="UTC", first_period="2025-01", last_period="2026-01"),
    drop=FLAGSHIP.drop,
    books=Books(FOLDER, "ledger.charges", "ledger_charges", "vendor_invoice"),
    currency="USD",
    effect_scope="vendor-invoice-credits-of-a-year",
)

PERIODS = tuple(f"2025-{month:02d}" for month in range(1, 13))
EMPTY, CREDITED, INFLATED = "2025-05", "2025-03", "2025-09"
"""The month whose export holds its header only; one with credits under every limit; one with credits over the cap."""
LATE = "2026-01"
"""The month that is delivered after the year was settled."""
CHARGES = 60


@cache
def month(period: str) -> Pair:
    """Both sides of a month. They agree, but for the months with credits."""
    span = Period.parse(period, "month")
    ledger = [
        Line(
            f"CH-{span.compact}-{n:04d}", f"AC-{n % 7}", f"{period}-{n % 28 + 1:02d}", "Card processing fee", 10_000 + n
        )
        for n in range(CHARGES)
    ]
    less, lines = {CREDITED: (150, 3), INFLATED: (9_000, 6)}.get(period, (0, 0))
    vendor = [line._replace(cents=line.cents - less) if n < lines else line for n, line in enumerate(ledger)]
    differences = [
        Difference(ours.charge_id, "amount_differs", ours.cents, theirs.cents)
        for ours, theirs in zip(ledger, vendor, strict=True)
        if ours != theirs
    ]
    return Pair.of(period, ledger, vendor, differences)


def export_of(period: str) -> bytes:
    """What the vendor delivers for a month."""
    return saturday.export_csv(() if period == EMPTY else month(period).vendor)


DATA = DataSet(
    name="year",
    task=TASK,
    default_period=PERIODS[0],
    currency="USD",
    ledger=lambda: [line for period in (*PERIODS, LATE) for line in month(period).ledger],
    exports=lambda: {saturday.export_key(period): export_of(period) for period in PERIODS},
    pair=month,
    export_key=saturday.export_key,
)
