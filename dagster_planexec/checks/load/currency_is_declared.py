"""Every amount in a table is of a currency its contract declares, and as fine as that currency."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.contents.currencies import CurrenciesOfTable

NAME = "currency_is_declared"


def currency_is_declared(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The words of the currency column against the contract's. Amounts of several currencies have no sum."""
    contract = contract_of(scope.task, scope.args)
    if contract.currency_column is None:
        reason = f"every amount is declared to be {contract.in_words}, and no column says another"
        return (NotApplicable(NAME, phase, reason, stated(contract, "currency")),)
    one = contract.currency
    declared: tuple[tuple[str, int | None], ...] = tuple(contract.currencies.items()) if one is None else ((one, None),)
    words = CurrenciesOfTable(target_of(scope), contract.currency_column, contract.amount, declared)
    expected = Stated(contract.in_words, stated(contract, "currency" if one is not None else "currencies"))
    return (Check(NAME, phase, words, expected, _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    assert isinstance(against, Stated)  # noqa: S101 - bound above
    expected, rows, others = against.value, observed["rows"], observed["others"]
    sums, named, fine = observed["sums"], observed["named"], observed["too_fine"]
    assert isinstance(sums, Mapping)  # noqa: S101 - what the probe promises
    assert isinstance(named, tuple)  # noqa: S101 - what the probe promises
    assert isinstance(fine, Mapping)  # noqa: S101 - what the probe promises
    seen = ", ".join(f"{code} {total}" for code, total in sums.items()) or "no amounts"
    if others:
        text = f"{others} of {rows} rows are not in {expected}: {'; '.join(str(one) for one in named)}"
        return Finding("failed", expected, f"{seen}; {others} rows of others", text, "MIXED_CURRENCY")
    if fine:
        counts = ", ".join(f"{count} in {code}" for code, count in fine.items())
        text = f"amounts have more decimals than their currency has minor units: {counts}"
        return Finding("failed", expected, seen, text, "SCALE_OVERFLOW")
    return Finding("passed", expected, seen, f"each of {rows} rows is in {expected}: {seen}")
