"""What a task declares about its result, as the flat, hashable shapes that probes take."""

from __future__ import annotations

from decimal import Decimal

from dagster_planexec.contract.reconcile.resolved import comparison_of
from dagster_planexec.contract.task import Drop, NamedInput, Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.period import Period
from dagster_planexec.world.sides.comparison.shape import Comparison
from dagster_planexec.world.sides.relation import InputView
from dagster_planexec.world.sides.result import CreditShape, ResultLayout


def result_layout(task: Task) -> ResultLayout:
    """The layout of the task's reconciliation result, with the credited lines if the task credits any.

    Raises:
        PlanexecError: BAD_CONTRACT if the task declares no result, or names a side without saying where it is.
    """
    shape = task.result
    if shape is None:
        raise _bad(task, "declares no result", "give one deliverable a ResultShape")
    sides = tuple(side.name for side in task.sides)
    missing = [side for side in sides if side not in shape.only or side not in shape.amounts]
    if missing:
        raise _bad(task, f"does not say where side {missing[0]!r} is in its result", "name it in only and amounts")
    contracts = [task.contracts[side.contract] for side in task.sides]
    scale = max(contract.column(contract.amount).scale for contract in contracts)
    return ResultLayout(
        shape.key,
        shape.status,
        shape.identical,
        shape.differs,
        tuple((side, shape.only[side]) for side in sides),
        tuple((side, shape.amounts[side]) for side in sides),
        scale,
        _credited(task, scale),
        shape.further,
        tuple((side, shape.rows[side]) for side in sides if side in shape.rows),
    )


def comparison(task: Task, period: Period | None = None) -> Comparison:
    """The typed comparison of the task's sides, in scope of a period.

    Raises:
        PlanexecError: BAD_CONTRACT if the task declares none, or one that cannot be followed.
    """
    if task.reconciliation is None:
        raise _bad(task, "declares no reconciliation", "write a ReconcileSpec, or read one with load_spec")
    return comparison_of(task.reconciliation, task.declared_sides, period)


def credit_shape(task: Task) -> CreditShape:
    """Which lines of the task's result are credited.

    Raises:
        PlanexecError: BAD_CONTRACT if the task declares no result or credits nothing.
    """
    layout = result_layout(task)
    if layout.credit is None:
        raise _bad(task, "declares no credit rule", "give its irreversible deliverable a CreditRule")
    return layout.credit


def effect_scope(task: Task) -> tuple[str, str]:
    """The effect scope of the task's irreversible deliverable, and the first period that may have effects.

    Raises:
        PlanexecError: BAD_CONTRACT if either is not declared; a default could pay twice.
    """
    made = task.irreversible
    if made is None or not made.effect_scope or not made.effects_from:
        raise _bad(task, "declares no effect_scope and effects_from", "name both on its irreversible deliverable")
    return made.effect_scope, made.effects_from


def view_of(task: Task, period: Period, named: NamedInput, table: str, *, whole: bool = False) -> InputView:
    """One input bound to one table; `whole`: all of the table, because it was made in scope already."""
    contract = task.contracts[named.contract]
    scoped = contract.date is not None and not whole
    return InputView(
        named.name,
        named.role,
        table,
        contract.key,
        contract.amount,
        contract.date if scoped else None,
        period.start if scoped else None,
        period.end if scoped else None,
    )


def live_view(task: Task, period: Period, name: str) -> InputView | None:
    """The rows of a live input that a period is about: what admission fingerprints and what credits rest on.

    None for an input that is no live table (a delivery: its landed bytes are the evidence).
    """
    declared = task.input(name)
    return None if declared.source is None else view_of(task, period, declared, declared.source)


def drop_of(task: Task) -> Drop:
    """Where the task's delivery lies.

    Raises:
        PlanexecError: BAD_CONTRACT if nothing is delivered for it.
    """
    if task.drop is None:
        raise _bad(task, "has no drop", "give it one, or use no tool and no check that is about a delivery")
    return task.drop


def currency_of(task: Task) -> str:
    """The currency of every amount. Raises as `credit_cap_of`."""
    stated = {task.contracts[side.contract].currency for side in task.sides}
    if task.limits.currency is None and len(stated) == 1 and (common := stated.pop()) is not None:
        return common  # both sides say the same, so nothing is assumed
    if task.limits.currency is None:
        raise _bad(task, "states no currency", _STATE)
    return task.limits.currency


def credit_cap_of(task: Task) -> Decimal:
    """The most money that is credited without a person.

    Raises:
        PlanexecError: BAD_CONTRACT if the task does not state it; a default could pay.
    """
    if task.limits.credit_cap is None:
        raise _bad(task, "states no credit_cap", _STATE)
    return task.limits.credit_cap


def credit_lines_threshold_of(task: Task) -> int:
    """The most credit lines that need no person. Raises as `credit_cap_of`."""
    if task.limits.credit_lines_threshold is None:
        raise _bad(task, "states no credit_lines_threshold", _STATE)
    return task.limits.credit_lines_threshold


def min_matched_share_of(task: Task) -> Decimal:
    """The least share of each side's keys that the other side must have. Raises as `credit_cap_of`."""
    if task.limits.min_matched_share is None:
        raise _bad(task, "states no min_matched_share", _STATE)
    return task.limits.min_matched_share


_STATE = "state it in the task's limits"


def lower_cap(task: Task, named: str | None) -> Decimal:
    """The cap that counts: the task's, or the plan's if that is lower."""
    cap = credit_cap_of(task)
    return cap if named is None else min(cap, Decimal(named))


def _credited(task: Task, scale: int) -> CreditShape | None:
    made, shape = task.irreversible, task.result
    if made is None or made.credit_rule is None or shape is None:
        return None
    rule = made.credit_rule
    unknown = [side for side in (rule.charged, rule.billed) if side not in shape.amounts]
    if unknown:
        raise _bad(task, f"credits by side {unknown[0]!r}, which its result does not have", "name one of its sides")
    return CreditShape(
        shape.key,
        shape.status,
        shape.differs,
        shape.only[rule.charged],
        shape.amounts[rule.charged],
        shape.amounts[rule.billed],
        scale,
    )


def _bad(task: Task, what: str, hint: str) -> PlanexecError:
    return PlanexecError("BAD_CONTRACT", f"task {task.name!r} {what}", hint=hint)
