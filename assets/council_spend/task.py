"""The same work on published data: a council's spending against a ledger made from it, by quarter."""

from __future__ import annotations

from pathlib import Path

from assets.reconciliation import Books, Calendar, reconciliation_task
from dagster_planexec.contract.task import Drop

FOLDER = Path(__file__).parent

TASK = reconciliation_task(
    name="council_spend",
    goal="Reconcile the quarter's published spending with the ledger, report every difference, credit overcharges.",
    # Paid dates are British calendar days. The files end with 2018-Q1, so the partitions do.
    calendar=Calendar("quarter", zone="Europe/London", first_period="2017-Q2", last_period="2018-Q1"),
    drop=Drop(
        bucket="council-drops",
        prefix="spend/",
        pattern=r"{period}-expenditure.*\.csv(\.gz)?",
        input="vendor",
        quiet_s=900,
    ),
    books=Books(
        FOLDER, "ledger.payments", "ledger_payments", "published_spend", frozenset({"vendor_invoice", "recon_lines"})
    ),
    currency="GBP",
    effect_scope="council-spend-credits",
    prefix="council_",
)
