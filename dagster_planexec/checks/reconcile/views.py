"""Named inputs of a task, bound to tables in scope of a period: one definition for the tool and for its checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import comparison, view_of
from dagster_planexec.contract.task import RECONCILE, NamedInput, Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.period import Period
from dagster_planexec.world.sides.query import AdmittedFile, Generated, Query
from dagster_planexec.world.sides.relation import InputView


def views_of(task: Task, period: Period, inputs: Mapping[str, str]) -> tuple[InputView, ...]:
    """The inputs of one `run_sql` step, in the task's order.

    Args:
        task: Declares the names, their roles and contracts.
        period: The scope of every input whose contract has a date column.
        inputs: Input name to `schema.table`, as the step names them.

    Raises:
        PlanexecError: VALIDATION_ERROR if a name is not declared, a side is missing, or two sides are one table (such
            a comparison agrees with itself for ever); BAD_CONTRACT if two sides' keys cannot be compared.
    """
    declared = {named.name: named for named in task.inputs}
    unknown = sorted(set(inputs) - set(declared))
    if unknown:
        raise _refused(f"input {unknown[0][:80]!r} is not declared by task {task.name}", f"declared: {_list(declared)}")
    missing = [side.name for side in task.sides if side.name not in inputs]
    if missing:
        raise _refused(f"side {missing[0]!r} is not given", f"give every side of the task: {_list(inputs_of(task))}")
    # A delivery is the period's as a whole: a line of it that is dated outside was billed all the same, and left out it
    # would look as if the vendor had not billed it.
    views = tuple(
        view_of(task, period, named, inputs[named.name], whole=task.drop is not None and named.name == task.drop.input)
        for named in task.inputs
        if named.name in inputs
    )
    sides = [view for view in views if view.part == "side"]
    for n, side in enumerate(sides):
        for other in sides[:n]:
            if side.table.lower() == other.table.lower():
                raise _refused(
                    f"sides {other.name!r} and {side.name!r} are one table, {side.table[:80]}",
                    "give each side its own table",
                )
            if len(side.key) != len(other.key):
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"sides {other.name!r} and {side.name!r} have keys of {len(other.key)} and {len(side.key)} columns",
                    hint="declare keys that correspond column by column",
                )
    return views


def compared_views(task: Task, period: Period, inputs: Mapping[str, str]) -> tuple[InputView, ...]:
    """The two sides of the task's reconciliation, with the key and amount that it compares.

    Raises:
        PlanexecError: As `views_of`; VALIDATION_ERROR if anything but the sides is given.
    """
    sides = inputs_of(task)
    other = sorted(set(inputs) - set(sides))
    if other:
        raise _refused(f"input {other[0][:80]!r} is no side of task {task.name}", f"give {_list(sides)}, and no other")
    compared = comparison(task, period)
    key = {side.name: side.key for side in compared.sides}
    amount = dict(zip(compared.names, compared.amount.columns, strict=True))
    return tuple(
        replace(view, key=key[view.name], amount=amount[view.name], normalise=compared.normalise)
        for view in views_of(task, period, inputs)
    )


def query_of(scope: StepScope) -> tuple[Query, tuple[InputView, ...]]:
    """What a step ran over its named inputs, and the rows that the names stood for."""
    task, inputs = scope.task, scope.args.inputs
    if scope.contract.name == RECONCILE:
        return Generated(comparison(task, scope.period)), compared_views(task, scope.period, inputs)
    # Without an admitted digest the probe finds none equal, so the gate stays shut.
    admitted = scope.admission.sql_sha256.get(scope.args.file, "not admitted")
    return AdmittedFile(scope.args.file, admitted), views_of(task, scope.period, inputs)


def input_with_source(task: Task, source: str) -> NamedInput | None:
    """The input that is declared to come from this live table, if there is one."""
    return next((named for named in task.inputs if (named.source or "").lower() == source.lower()), None)


def sources_of(task: Task) -> tuple[str, ...]:
    """The live tables of a task; no tool writes to one."""
    return tuple(named.source for named in task.inputs if named.source)


def inputs_of(task: Task) -> tuple[str, ...]:
    """The names of the sides."""
    return tuple(side.name for side in task.sides)


def _list(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(names)


def _refused(text: str, hint: str) -> PlanexecError:
    return PlanexecError("VALIDATION_ERROR", text, hint=hint)
