"""A delivery has about as many rows, and amounts to about as much, as those of settled earlier periods."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from statistics import median

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.load.contract_of import contract_of, target_of
from dagster_planexec.checks.plausible.bounds import Bound, periods_of, shown, unbounded
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.delivery.plausible import ENOUGH, Plausible
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.tables import SumTable

NAME = "volume_is_plausible"


def volume_is_plausible(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Rows and total in the table against what the task bounds: by itself, and beside the median of the past.

    What applies is known when the attempt opens. A median that is not above zero bounds nothing.
    """
    plausible = scope.task.plausible
    past = [one for one in scope.admission.past if one.rows is not None]
    bounds = tuple(_bounds(plausible, past)) if plausible is not None else ()
    if not bounds:
        return (unbounded(scope, phase, NAME, past, "min_rows, max_rows, min_total or max_total"),)
    contract = contract_of(scope.task, scope.args)
    stated = Stated(shown(bounds), scope.stated_by_task(f"plausible{periods_of(past, bounds)}"))
    probe = SumTable(target_of(scope), contract.amount)
    return (Check(NAME, phase, probe, stated, _judge(bounds), absent_code="TABLE_GONE"),)


def _bounds(plausible: Plausible, past: list[PastPeriod]) -> Iterator[Bound]:
    if plausible.min_rows is not None or plausible.max_rows is not None:
        yield Bound("rows", plausible.min_rows, plausible.max_rows)
    if plausible.min_total is not None or plausible.max_total is not None:
        yield Bound("total", plausible.min_total, plausible.max_total)
    if plausible.volume_ratio is None:
        return
    least, most = plausible.volume_ratio
    for what, values in (
        ("rows", [Decimal(one.rows) for one in past if one.rows is not None]),
        ("total", [one.total for one in past if one.total is not None]),
    ):
        middle = median(values) if len(values) >= ENOUGH else Decimal(0)
        if middle > 0:
            yield Bound(what, middle * least, middle * most, median=middle)


def _judge(bounds: tuple[Bound, ...]) -> Judge:
    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else None
        rows, total = seen["rows"], seen["sum"]
        found = {"rows": Decimal(int(str(rows))), "total": total if isinstance(total, Decimal) else Decimal(0)}
        observed = {"rows": rows, "total": total}
        said = f"{rows} rows amounting to {total}"
        low = [bound for bound in bounds if bound.least is not None and found[bound.of] < bound.least]
        high = [bound for bound in bounds if bound.most is not None and found[bound.of] > bound.most]
        if low:
            text = f"{said}: fewer {low[0].of} than expected, {low[0]}" if low[0].of == "rows" else f"{said}: {low[0]}"
            return Finding("failed", expected, observed, text, "COVERAGE_LOW")
        if high:
            return Finding("failed", expected, observed, f"{said}: {high[0]}", "VOLUME_HIGH")
        return Finding("passed", expected, observed, f"{said}; {'; '.join(str(bound) for bound in bounds)}")

    return judge
