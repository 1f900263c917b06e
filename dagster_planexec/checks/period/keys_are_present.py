"""No row of a table is without a key."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.keys import KeysOfTable

NAME = "keys_are_present"


def keys_are_present(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Rows whose key is null or blank in some column, against none; with their count and what they are worth."""
    contract = contract_of(scope.task, scope.args)
    keys = KeysOfTable(target_of(scope), contract.key, contract.amount)
    return (Check(NAME, phase, keys, Stated(0, stated(contract, "key")), _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, _: Observation | Stated) -> Finding:
    count, amount, rows = observed["null_rows"], observed["null_amount"], observed["rows"]
    if count:
        text = f"{count} of {rows} rows, worth {amount}, have no key"
        return Finding("failed", 0, count, text, "NULL_KEY")
    return Finding("passed", 0, count, f"each of {rows} rows has a key")
