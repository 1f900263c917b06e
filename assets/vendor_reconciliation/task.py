"""The flagship: the vendor's monthly invoice against the ledger of charges."""

from __future__ import annotations

from pathlib import Path

from assets.reconciliation import Books, Calendar, reconciliation_task
from dagster_planexec.contract.task import Drop

FOLDER = Path(__file__).parent

TASK = reconciliation_task(
    name="vendor_reconciliation",
    goal="Reconcile the vendor's invoice of the month with the ledger, report every difference, credit overcharges.",
    # Vendor and ledger both bill by UTC days, so a charge at 23:30 in New York on 31 March is an April charge to both.
    calendar=Calendar("month", zone="UTC", first_period="2026-01"),
    drop=Drop(
        bucket="vendor-drops",
        prefix="vendor/exports/",
        pattern=r"{period}-invoice.*\.csv(\.gz)?",
        input="vendor",
        quiet_s=900,
    ),
    books=Books(FOLDER, "ledger.charges", "ledger_charges", "vendor_invoice"),
    currency="USD",
    effect_scope="vendor-invoice-credits",
)
