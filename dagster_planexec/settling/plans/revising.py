"""When another plan is asked for, what the planner is told, and when it is enough.

Nothing in here can go on for ever: every re-plan is journalled before it is asked for, and the cap counts those of the
whole attempt, whichever run or process made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.live_check import live_check
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.encoding import decode, decode_verdict
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.results import tools_done
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.planner.request import Revising, StepOutcome, Trigger
from dagster_planexec.settling.plans.proposing import is_unheard
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.period import Period

REPLANNED = "replanned"
AROUND = 2
"""Steps before and after the one at which the run stopped that the planner is shown."""
RECENT = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run that ended because the rest of its plan is no longer believed."""

    run_id: str
    step: str
    trigger: Trigger
    code: str | None
    """None at a checkpoint."""
    reason: str


def wanted_in(work: Work, attempt: Attempt, run_id: str) -> Wanted | None:
    """Whether a run stopped for another plan; the first stop counts, as it does for the steps."""
    stops = work.journal.events(attempt.id, run_id=run_id, kinds=["stopped"])
    if not stops or not stops[0].payload.get("replan"):
        return None
    said = stops[0].payload
    code = said["code"]
    trigger: Trigger = "checkpoint" if code is None else "surprise" if said["stage"] == "surprise" else "failed-check"
    return Wanted(run_id, stops[0].step or "", trigger, code, str(said["reason"]))


def why_not(work: Work, attempt: Attempt, wanted: Wanted) -> tuple[str, str] | None:
    """(code, text) of why no other plan is asked for, or None if one may be."""
    made, cap = _answered(work, attempt), work.task.limits.max_replans
    if len(made) >= cap:
        return "REPLAN_EXHAUSTED", f"{len(made)} of {cap} new plans were asked for; {wanted.reason}"
    run = [replan for replan in made if replan.adopted]
    done = len(_done(work, attempt))
    if run and done <= run[-1].done:
        text = f"the new plan came no further: {done} steps done, {run[-1].done} before; {wanted.reason}"
        return "REPLAN_UNCHANGED", text
    return None


@dataclass(frozen=True, slots=True)
class _Replan:
    """One time that another plan was asked for."""

    done: int
    """Steps done in the attempt by then."""
    adopted: bool
    """Whether its answer was run."""


def _answered(work: Work, attempt: Attempt) -> list[_Replan]:
    """The re-plans of the attempt that count: also one whose process died, but not one that nobody answered.

    No network, no key, too many calls: what that costs is bounded by the budget of calls to a model.
    """
    found: list[_Replan] = []
    for event in work.journal.events(attempt.id, kinds=[REPLANNED, "proposed", "plan-adopted"]):
        if event.kind == REPLANNED:
            found.append(_Replan(int(event.payload["done"]), adopted=False))
        elif found and event.kind == "plan-adopted":
            found[-1] = replace(found[-1], adopted=True)
        elif found and not found[-1].adopted and is_unheard(event.payload.get("code") or "PLAN_REJECTED"):
            found.pop()
    return found


def facts_for(work: Work, attempt: Attempt, wanted: Wanted, plan: Plan, period: Period) -> Revising:
    """Everything the planner is told of the run that stopped; the rest of its plan is looked at again, not one step.

    To be called when the re-plan is counted already, see `journal_replan`.
    """
    ended = work.journal.events(attempt.id, run_id=wanted.run_id, kinds=["step-ended"])
    at = next(n for n, step in enumerate(plan.steps) if step.id == wanted.step)
    outcomes = [_outcome(plan, cast("str", event.step), event.payload) for event in ended]
    verdicts = [v for event in ended if event.step == wanted.step for v in event.payload["verdicts"]]
    broken = [v for v in map(decode_verdict, verdicts) if not v.opens]
    return Revising(
        revision=attempt.revision + 1,
        trigger=wanted.trigger,
        step=wanted.step,
        code=wanted.code,
        broken=(*broken, *_broken_ahead(work, attempt, plan, period, broken)),
        done=tuple(_done(work, attempt).values()),
        nearby=plan.steps[max(0, at - AROUND) : at + AROUND + 1],
        recent=tuple([o for o in outcomes if o.outcome != "not-run"][-RECENT:]),
        earlier=revisions(work, attempt),
        replans_left=max(0, work.task.limits.max_replans - len(_answered(work, attempt))),
    )


def journal_replan(work: Work, attempt: Attempt, wanted: Wanted) -> None:
    """Count the re-plan before it is asked for: a process that dies meanwhile has used it up."""
    said = {
        "revision": attempt.revision + 1, "trigger": wanted.trigger, "code": wanted.code, "reason": wanted.reason,
        "done": len(_done(work, attempt)), "after_run": wanted.run_id,
    }  # fmt: skip
    work.journal.append(attempt.id, None, [NewEvent(REPLANNED, wanted.step, said)])


def revisions(work: Work, attempt: Attempt) -> tuple[Plan, ...]:
    """Every plan the attempt has had, oldest first; one that was altered since is left out, it cannot run either."""
    plans = []
    for event in work.journal.events(attempt.id, kinds=["plan-adopted"]):
        try:
            plans.append(work.journal.load_plan(str(event.payload["digest"])))
        except PlanexecError:
            continue
    return tuple(plans)


def _done(work: Work, attempt: Attempt) -> dict[str, StepOutcome]:
    """What is done in the attempt, each deed once, the newest result of it."""
    return {
        done.identity: StepOutcome(
            Step(id=done.step, tool=done.tool, args=dict(done.args)), "done", None,
            cast("Mapping[str, Fact]", decode(dict(done.result))),
        )
        for done in tools_done(work.journal, attempt.id)
    }  # fmt: skip


def _outcome(plan: Plan, step_id: str, payload: Mapping[str, Any]) -> StepOutcome:
    facts = cast("Mapping[str, Fact]", decode(dict(payload["facts"])))
    return StepOutcome(plan.step(step_id), payload["state"], payload["code"], facts)


def _broken_ahead(
    work: Work, attempt: Attempt, plan: Plan, period: Period, known: Sequence[Verdict]
) -> tuple[Verdict, ...]:
    """What else of the plan does not hold now, of everything that is not done."""
    admission = decode_admission(attempt.admission)
    run = Run(work, attempt.id, plan, attempt.plan_digest or "", period, admission, "live-check")
    told = {(v.check, v.code, str(v.observed.source.subject)) for v in known}
    shut = [v for v in live_check(run).verdicts if not v.opens]
    return tuple(v for v in shut if (v.check, v.code, str(v.observed.source.subject)) not in told)
