"""A loaded table has as many rows as its files have records, counted by a parser that is not the loader's."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, records_of, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.contents.rejects import LoadedAndRefused
from dagster_planexec.world.probes.table.tables import CountTable

NAME = "row_counts_agree"


def row_counts_agree(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Rows in the table, and in its rejects table if the contract allows any, against records in all the files."""
    contract, target = contract_of(scope.task, scope.args), target_of(scope)
    if contract.allowed_rejects is not None:
        both = LoadedAndRefused(target, contract.amount)
        return (Check(NAME, phase, both, records_of(scope), _judge, absent_code="TABLE_GONE"),)
    return (Check(NAME, phase, CountTable(target), records_of(scope), _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return Finding("failed", "a landed copy", "absent", f"{against.source.subject} is not there", "OBJECT_GONE")
    expected, rows = against["rows"], observed["rows"]
    each = against.facts.get("each")
    of = f" ({' + '.join(str(n) for n in each)})" if isinstance(each, tuple) else ""
    refused = observed.facts.get("refused")
    if refused:
        rows = int(str(rows)) + int(str(refused))
        beside = f"{observed['rows']} rows in the table and {refused} refused"
        text = f"{expected} records{of} in the files, {beside}"
        if expected != rows:
            return Finding("failed", expected, rows, text, "ROWCOUNT_MISMATCH")
        return Finding("passed", expected, rows, text)
    if expected != rows:
        text = f"the files have {expected} records{of}, the table has {rows} rows"
        return Finding("failed", expected, rows, text, "ROWCOUNT_MISMATCH")
    return Finding("passed", expected, rows, f"{rows} records{of} in the files, {rows} rows in the table")
