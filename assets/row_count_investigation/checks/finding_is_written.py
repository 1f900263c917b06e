"""The finding's table holds one row per piece of evidence."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Stated, equal
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.probes.table.tables import CountTable

NAME = "finding_is_written"


def finding_is_written(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Rows by SQL against the evidence that the plan cites."""
    due = len(scope.args.evidence)
    stated = Stated(due, scope.stated_by_contract("one row per piece of evidence"))
    return (
        Check(
            NAME, phase, CountTable(scope.args.target), stated,
            lambda seen, _: equal("ROWCOUNT_MISMATCH", due, seen["rows"], what="rows of the finding"),
            absent_code="TABLE_GONE",
        ),
    )  # fmt: skip
