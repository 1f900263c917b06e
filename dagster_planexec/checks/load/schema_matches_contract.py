"""A table has the columns and types of its contract, in any order, and no others."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.tables import DescribeTable

NAME = "schema_matches_contract"
_NAMED = 10


def schema_matches_contract(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The catalogue against the contract's columns."""
    contract = contract_of(scope.task, scope.args)
    declared = Stated({column.name: column.sql_type for column in contract.columns}, stated(contract, "columns"))
    return (Check(NAME, phase, DescribeTable(target_of(scope)), declared, _judge, absent_code="TABLE_GONE"),)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    assert isinstance(against, Stated)  # noqa: S101 - bound above
    declared, found = against.value, observed["columns"]
    assert isinstance(declared, Mapping)  # noqa: S101 - bound above
    assert isinstance(found, Mapping)  # noqa: S101 - what the probe promises
    wrong = [f"lacks {name} {kind}" for name, kind in declared.items() if name not in found]
    wrong += [
        f"has {name} as {found[name]}, not {kind}"
        for name, kind in declared.items()
        if name in found and found[name] != kind
    ]
    wrong += [f"has {name[:80]!r}, which is not declared" for name in found if name not in declared]
    expected, seen = _text(declared), _text(found)
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        return Finding("failed", expected, seen, f"the table {'; '.join(wrong[:_NAMED])}{more}", "SCHEMA_DRIFT")
    return Finding("passed", expected, seen, f"the table has the {len(declared)} declared columns")


def _text(columns: Mapping[str, object]) -> str:
    return ", ".join(f"{name[:80]} {kind}" for name, kind in columns.items())
