"""The whole matrix: every cell of every step."""

from __future__ import annotations

from tests.faults.case import Case, NotApplicable
from tests.faults.steps import (
    fetch_export,
    issue_credit,
    load_staging,
    reconcile,
    scope_ledger,
    stage_table,
    write_report,
)

CELLS: tuple[Case | NotApplicable, ...] = tuple(
    cell
    for module in (scope_ledger, stage_table, fetch_export, load_staging, reconcile, write_report, issue_credit)
    for cell in module.CELLS
)
CASES: tuple[Case, ...] = tuple(cell for cell in CELLS if isinstance(cell, Case))
EXCLUDED: tuple[NotApplicable, ...] = tuple(cell for cell in CELLS if isinstance(cell, NotApplicable))
