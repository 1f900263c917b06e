"""The amounts in a loaded table add up to those in its files, to the last digit."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, records_of, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.contents.currencies import CurrenciesOfTable
from dagster_planexec.world.probes.table.contents.rejects import LoadedAndRefused
from dagster_planexec.world.probes.table.tables import SumTable

NAME = "amounts_agree"
_SHOWN = 40


def amounts_agree(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The sum in the table against the sum of an independent parser; by currency, if there may be several.

    Both are exact, so there is no tolerance. What was refused, where some of it may be, is on the table's side.
    """
    contract, target = contract_of(scope.task, scope.args), target_of(scope)
    records = records_of(scope)
    checks: list[BoundCheck] = []
    if contract.allowed_rejects is not None:
        both = LoadedAndRefused(target, contract.amount)
        checks.append(Check(NAME, phase, both, records, _judge_both, absent_code="TABLE_GONE"))
    elif not contract.currencies:
        in_table = SumTable(target, contract.amount)
        checks.append(Check(NAME, phase, in_table, records, _judge, absent_code="TABLE_GONE"))
    if contract.currencies and contract.currency_column is not None:
        declared = tuple(contract.currencies.items())
        words = CurrenciesOfTable(
            target, contract.currency_column, contract.amount, declared, contract.allowed_rejects is not None
        )
        checks.append(Check(NAME, phase, words, records, _judge_each, absent_code="TABLE_GONE"))
    return tuple(checks)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return _gone(against)
    expected, total, unparsable = against["sum"], observed["sum"], against["unparsable"]
    if unparsable:
        text = f"the files add up to {expected} without {unparsable} amounts that cannot be read; the table to {total}"
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    if expected != total:
        text = f"the amounts in the files add up to {expected}, those in the table to {total}"
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", expected, total, f"the amounts add up to {total} in the files and in the table")


def _judge_both(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return _gone(against)
    expected, total = against["sum"], observed["both_sums"]
    unread = int(str(against["unparsable"])) + int(str(against["empty"]))
    there = f"{observed['sum']} in the table and {observed['refused_sum']} in {observed['refused']} refused rows"
    if expected != total:
        text = f"the amounts in the files add up to {expected}; {there}"
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    if unread != observed["no_amount"]:
        text = (
            f"{unread} amounts of the files are empty or cannot be read, {observed['no_amount']} of the table and of "
            "what was refused"
        )
        return Finding("failed", expected, total, text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", expected, total, f"the amounts in the files add up to {expected}; {there}")


def _judge_each(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return _gone(against)
    expected, sums, unparsable = _by_currency(against), _by_currency(observed), against["unparsable"]
    if observed["refused"]:
        # A refused row keeps its amount and not its currency; all of them together are closed by the other judge.
        text = f"{_told(sums)} in the table, {_told(expected)} in the files with {observed['refused']} refused rows"
        return Finding("passed", _told(expected), _told(sums), text)
    if unparsable:
        text = f"the files add up to {_told(expected)} without {unparsable} amounts that cannot be read"
        return Finding("failed", _told(expected), _told(sums), text, "CONTROL_TOTAL_MISMATCH")
    if expected != sums:
        text = f"the amounts in the files add up to {_told(expected)}, those in the table to {_told(sums)}"
        return Finding("failed", _told(expected), _told(sums), text, "CONTROL_TOTAL_MISMATCH")
    text = f"the amounts add up to {_told(sums)} in the files and in the table"
    return Finding("passed", _told(expected), _told(sums), text)


def _by_currency(seen: Observation) -> dict[str, Decimal]:
    sums = seen.facts.get("sums", {})
    assert isinstance(sums, Mapping)  # noqa: S101 - what both probes promise
    # A currency without an amount is none of the counter's.
    return {str(code): total for code, total in sums.items() if isinstance(total, Decimal) and total != 0}


def _told(sums: Mapping[str, Decimal]) -> str:
    return ", ".join(f"{code[:_SHOWN] or 'no currency'} {total}" for code, total in sorted(sums.items())) or "nothing"


def _gone(against: Observation | Stated) -> Finding:
    return Finding("failed", "a landed copy", "absent", f"{against.source.subject} is not there", "OBJECT_GONE")
