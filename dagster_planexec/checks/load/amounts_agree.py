"""The amounts in a loaded table add up to those in its files, to the last digit."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, records_of, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.tables import SumTable

NAME = "amounts_agree"


def amounts_agree(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The sum in the table against the sum of an independent parser. Both are exact, so there is no tolerance."""
    contract = contract_of(scope.task, scope.args)
    in_table = SumTable(target_of(scope), contract.amount)
    return (Check(NAME, phase, in_table, records_of(scope), _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return Finding("failed", "a landed copy", "absent", f"{against.source.subject} is not there", "OBJECT_GONE")
    expected, total, unparsable = against["sum"], observed["sum"], against["unparsable"]
    if unparsable:
        text = f"the files add up to {expected} without {unparsable} amounts that cannot be read; the table to {total}"
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    if expected != total:
        text = f"the amounts in the files add up to {expected}, those in the table to {total}"
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", expected, total, f"the amounts add up to {total} in the files and in the table")
