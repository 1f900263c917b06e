"""Of each side about as much is found on the other side as in settled earlier periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from statistics import median
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import target_of
from dagster_planexec.checks.plausible.bounds import Bound, periods_of, shown, unbounded
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.delivery.plausible import ENOUGH, Plausible
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.contract.task import ResultShape
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.identities import ResultFigures

NAME = "match_rate_is_plausible"
_PAIR = 2


def match_rate_is_plausible(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The unmatched share of each side's lines against what the task bounds: by itself, and above its median."""
    task, shape = scope.task, scope.task.result
    if shape is None:
        reason = f"no deliverable of task {task.name} is a result"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("deliverables.result")),)
    result_layout(task)  # BAD_CONTRACT if a side is not in the shape
    past = [one for one in scope.admission.past if one.lines]
    bounds = tuple(_bounds(task.plausible, shape, past)) if task.plausible is not None else ()
    if not bounds:
        return (unbounded(scope, phase, NAME, past, "max_unmatched_share"),)
    words = (*shape.paired, *shape.only.values())
    amounts = tuple((side, column) for side, column in shape.amounts.items() if side in shape.only)
    probe = ResultFigures(target_of(scope), shape.status, words, amounts)
    stated = Stated(shown(bounds), scope.stated_by_task(f"plausible{periods_of(past, bounds)}"))
    return (Check(NAME, phase, probe, stated, _judge(bounds, shape), absent_code="TABLE_GONE"),)


def _bounds(plausible: Plausible, shape: ResultShape, past: list[PastPeriod]) -> Iterator[Bound]:
    for side in shape.only:
        of = f"unmatched share of {side}"
        if plausible.max_unmatched_share is not None:
            yield Bound(of, None, plausible.max_unmatched_share)
        shares = [unmatched(*one.lines[side]) for one in past if side in one.lines]
        if plausible.unmatched_above_median is not None and len(shares) >= ENOUGH:
            middle = median(shares)
            yield Bound(of, None, middle + plausible.unmatched_above_median, median=middle)


def unmatched(lines: int, matched: int) -> Decimal:
    """The share of a side's lines that the other side lacks; 0 of none. Not rounded: a bound is met or it is not."""
    return Decimal(lines - matched) / lines if lines else Decimal(0)


def _judge(bounds: tuple[Bound, ...], shape: ResultShape) -> Judge:
    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else None
        statuses: Mapping[str, Any] = seen["statuses"]  # type: ignore[assignment]

        def count(word: str) -> int:
            return int(statuses[word]["lines"]) if word in statuses else 0

        def matched(side: str) -> int:
            if len(shape.only) > _PAIR and shape.differs in statuses:  # of three sides, one may lack the line
                return count(shape.identical) + int(statuses[shape.differs]["present"][side])
            return sum(count(word) for word in shape.paired)

        lines = {side: (matched(side) + count(word), matched(side)) for side, word in shape.only.items()}
        shares = {f"unmatched share of {side}": unmatched(*counts) for side, counts in lines.items()}
        observed = {of: round(share, 6) for of, share in shares.items()}
        said = ", ".join(f"{side} {every - both} of {every}" for side, (every, both) in lines.items())
        for bound in bounds:
            if bound.most is not None and shares[bound.of] > bound.most:
                text = f"not found on the other side: {said}; {bound}"
                return Finding("failed", expected, observed, text, "COVERAGE_LOW")
        return Finding("passed", expected, observed, f"not found on the other side: {said}")

    return judge
