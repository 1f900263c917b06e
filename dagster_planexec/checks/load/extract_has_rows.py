"""A delivery has the rows its contract demands, counted before anything is loaded."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, records_of, stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "extract_has_rows"


def extract_has_rows(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Records in the landed copies, counted as far as `min_rows` of the contract, or of a claim that asks for more."""
    contract = contract_of(scope.task, scope.args)
    floor, source = contract.min_rows, stated(contract, "min_rows")
    claimed = scope.claimed_count(NAME, "min_rows")
    if claimed is not None and claimed > floor:
        floor, source = claimed, scope.stated_by_claim(NAME, "min_rows")
    if floor == 0:
        return (NotApplicable(NAME, phase, "the contract declares min_rows: 0", source),)
    # Counting stops at the floor that is judged: a lower stop would make every higher claim fail.
    counted = records_of(scope, at_most=floor)
    return (Check(NAME, phase, counted, Stated(floor, source), _judge, absent_code="OBJECT_GONE"),)


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    assert isinstance(against, Stated)  # noqa: S101 - bound above
    floor, rows = int(str(against.value)), int(str(observed["rows"]))
    expected = f"at least {floor} record{'' if floor == 1 else 's'}"
    if rows < floor:
        what = "no record" if rows == 0 else f"{rows} record{'' if rows == 1 else 's'}"
        return Finding("failed", expected, what, f"the delivery has {what}", "EMPTY_EXTRACT")
    found = f"{rows} record{'' if rows == 1 else 's'} or more"
    return Finding("passed", expected, found, f"the delivery has {found}")
