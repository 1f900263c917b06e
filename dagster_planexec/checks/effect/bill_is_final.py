"""Every line of the bill is final: what is still an estimate may be reported, and moves no money."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.layout import view_of
from dagster_planexec.contract.task import NamedInput, Task
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.table.contents.final import FinalInTable
from dagster_planexec.world.sides.final import FinalWhen

NAME = "bill_is_final"


def bill_is_final(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The table of each side whose contract says when a line is final, as the comparison was given it."""
    sides = estimable(scope.task)
    if not sides:
        reason = "no contract of a side says when a line is final"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("contracts.final_when")),)
    return tuple(_bound(scope, phase, side) for side in sides)


def estimable(task: Task) -> tuple[NamedInput, ...]:
    """The sides of which a line may be an estimate."""
    return tuple(side for side in task.sides if task.contracts[side.contract].final_when)


def conditions_of(contract: FileContract) -> tuple[FinalWhen, ...]:
    """What makes a line final, as probes take it."""
    return tuple(
        FinalWhen(
            contract.column(final.column).in_file(None, contract.nulls),
            tuple(contract.normal(alias) for alias in contract.column(final.column).aliases),
            final.filled,
            final.one_of,
            final.none_of,
        )
        for final in contract.final_when
    )


def none_estimated(contract: FileContract) -> Stated:
    """The expected side: no line."""
    return Stated(0, final_clause(contract))


def final_clause(contract: FileContract) -> Source:
    """Where it is stated when a line is final."""
    return stated(contract, "final_when")


def judge(seen: Observation, against: Observation | Stated) -> Finding:
    """No estimated line; with what they are worth, where that was seen."""
    expected = against.value if isinstance(against, Stated) else 0
    rows, estimated = seen["rows"], seen["estimated"]
    observed = {fact: seen[fact] for fact in ("estimated", "rows", "worth") if fact in seen.facts}
    if estimated:
        worth = f", worth {seen['worth']}," if "worth" in seen.facts else ""
        text = f"{estimated} of {rows} lines{worth} are estimates still: no money moves on a bill that is not final"
        return Finding("failed", expected, observed, text, "NOT_FINAL")
    return Finding("passed", expected, observed, f"each of {rows} lines is final")


def _bound(scope: StepScope, phase: Phase, side: NamedInput) -> Check:
    contract = scope.task.contracts[side.contract]
    view = view_of(scope.task, scope.period, side, _table_of(scope, side), whole=side.source is None)
    probe = FinalInTable(view, conditions_of(contract))
    return Check(NAME, phase, probe, none_estimated(contract), judge, absent_code="TABLE_GONE")


def _table_of(scope: StepScope, side: NamedInput) -> str:
    """The table that the result was made from."""
    for produced in scope.inputs.values():
        given = getattr(produced.scope.args, "inputs", None)
        if isinstance(given, Mapping) and side.name in given:
            return str(given[side.name])
    raise PlanexecError(
        "VALIDATION_ERROR",
        f"no step whose result is credited compares side {side.name!r}, so nobody can say whether its bill is final",
        hint="let the source of the credits be a reference to the step that makes the result",
    )
