"""No two rows of a table share a key."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.keys import KeysOfTable

NAME = "keys_are_unique"


def keys_are_unique(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Keys that repeat, compared as trimmed text, against none; with the rows that share them and their worth."""
    contract = contract_of(scope.task, scope.args)
    if not contract.unique_key:
        reason = "the contract declares unique_key: false"
        return (NotApplicable(NAME, phase, reason, stated(contract, "unique_key")),)
    keys = KeysOfTable(target_of(scope), contract.key, contract.amount)
    return (Check(NAME, phase, keys, Stated(0, stated(contract, "unique_key")), _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, _: Observation | Stated) -> Finding:
    keys, rows, amount = observed["duplicate_keys"], observed["duplicate_rows"], observed["duplicate_amount"]
    if not keys:
        return Finding("passed", 0, 0, f"no key of {observed['rows']} rows repeats")
    examples = observed["examples"]
    shown = f", e.g. {'; '.join(str(e) for e in examples)}" if isinstance(examples, tuple) and examples else ""
    verb = "key repeats" if keys == 1 else "keys repeat"
    text = f"{keys} {verb}, in {rows} rows worth {amount}{shown}"
    return Finding("failed", 0, keys, text, "DUPLICATE_KEY")
