"""The live check: before any side effect, the world is asked what the steps not yet done take for granted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.checks.check import BoundCheck
from dagster_planexec.checks.live.catalogue import LIVE_STEP_CHECKS, plan_checks, step_checks
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.execute.judging import judge
from dagster_planexec.execute.resolve import Unfit, identity_with, resolve_step, scope_of
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.results import find_done
from dagster_planexec.plan.model import Step
from dagster_planexec.plan.reference import references


@dataclass(frozen=True, slots=True)
class LiveReport:
    """What the world answered."""

    verdicts: tuple[Verdict, ...]


def live_check(run: Run, *, leave_out: frozenset[str] = frozenset()) -> LiveReport:
    """Judge everything that can be judged before the run: object rules first, then tables, then expectations.

    A step whose arguments refer to results is judged when they exist, by its own preconditions. A step that is done in
    an earlier run of the attempt is not judged again here: its result is, when it is reused.

    Args:
        run: The run that is to come.
        leave_out: Ids of steps that ask nothing, because the static check refuses them.
    """
    objects: list[BoundCheck] = []
    for index, step in enumerate(run.plan.steps):
        if (
            step.id in leave_out
            or _is_done(run, step)
            or next(references(step), None) is not None
            or step.tool not in run.work.tools
        ):
            continue
        resolved = resolve_step(run, step, {})
        if isinstance(resolved, Unfit):
            continue  # the static check names it
        scope = scope_of(run, step, resolved)
        names = [name for name in scope.contract.preconditions if name in LIVE_STEP_CHECKS]
        for name in names:
            objects.extend(run.work.checks[name](scope, "live"))
        waits = sum(
            run.work.tools[earlier.tool].contract.deadline_s
            for earlier in run.plan.steps[:index]
            if earlier.tool in run.work.tools
        )
        objects.extend(step_checks(scope, wait_s=waits))
    rest = plan_checks(run.work.task, run.period, run.plan.expects, run.admission, run.work.ports.roots)
    return LiveReport(tuple(judge(run, [*objects, *rest])))


def _is_done(run: Run, step: Step) -> bool:
    if next(references(step), None) is not None:
        return False
    done = find_done(run.work.journal, run.attempt, identity_with(step, step.args, {}))
    landed = done.result.get("landed") if done else None
    path: Path | None = run.work.ports.roots.landed_path(landed) if isinstance(landed, str) else None
    return done is not None and (path is None or path.is_file())
