"""Whatever a planner proposes, and again and again: settling ends with a report, within its caps, and in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dagster_planexec.contract.codes import CODES
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan
from tests.support.random_plans import PLANS, broken_flagships
from tests.support.settled import TASK, Place, ScriptedPlanner

CALM = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _plan(data: dict[str, Any]) -> Plan | None:
    """The plan, if it is one by its schema; a planner that writes none is another property's matter."""
    try:
        return Plan.model_validate(data)
    except ValidationError:
        return None


@CALM
@given(st.lists(PLANS | broken_flagships(), min_size=1, max_size=3))
def test_no_plan_makes_settling_raise(place: Place, proposed: list[dict[str, Any]]) -> None:
    """It ends rejected or with an error, with a known code and without a call: none of these is the toy task's plan."""
    plans = [_plan(data) for data in proposed]
    planner = ScriptedPlanner(lambda _, n: plans[(n - 1) % len(plans)])
    report = place.settle(planner, replan=True)

    assert report.status in {"rejected", "error"}
    assert report.code in CODES
    assert place.calls == []
    assert len(planner.asked) <= 2


@st.composite
def toy_plans(draw: st.DrawFn) -> Plan:
    """A sound plan of the toy task whose steps make too few rows, expect wrongly, or stop at a checkpoint."""
    steps: list[dict[str, Any]] = []
    expects: list[dict[str, Any]] = []
    for n in range(draw(st.integers(1, 4))):
        before = [step["id"] for step in steps]
        needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=2)) if before else []
        rows = draw(st.sampled_from([3, 3, 3, 2]))
        args = {"target": f"staging.t{n}_202603", "rows": rows}
        steps.append({"id": f"s{n}", "tool": "make", "args": args, "depends_on": needs})
        if draw(st.booleans()):
            value = draw(st.sampled_from([3, 3, 4]))
            expects.append({"about": f"step:s{n}", "measure": "rows", "op": "==", "value": value})
    steps[-1]["checkpoint"] = draw(st.booleans())
    return Plan.model_validate({"task": "toy", "period": "2026-03", "expects": expects, "steps": steps})


@CALM
@given(st.lists(toy_plans(), min_size=1, max_size=5))
def test_replanning_ends_within_its_cap_and_keeps_its_order(place: Place, plans: Sequence[Plan]) -> None:
    """At most three plans run, each step behind what it needs, none after its run stopped; a success needs all done."""
    place.calls.clear()
    planner = ScriptedPlanner(lambda _, n: plans[(n - 1) % len(plans)])
    report = place.settle(planner, checkpoints=True, replan=True)

    assert report.revision <= 1 + TASK.limits.max_replans
    assert len(planner.asked) <= 2 * (1 + TASK.limits.max_replans)  # each with one repair
    assert report.code is None or report.code in CODES
    if report.status == "succeeded":
        assert {step.outcome for step in report.steps} <= {"done", "reused"}
        assert not any(step.checkpoint for step in report.plan.steps)
    attempt = place.work.journal.newest_attempt("toy", "2026-03")
    assert attempt is not None
    _assert_in_order(place, attempt.id)


def _assert_in_order(place: Place, attempt: str) -> None:
    journal = place.work.journal
    adopted: list[Plan] = []
    ended: dict[str, str] = {}
    stopped = True
    for event in journal.events(attempt):
        if event.kind == "plan-adopted":
            adopted.append(journal.load_plan(event.payload["digest"]))
        elif event.kind == "admitted":
            ended, stopped = {}, False
        elif event.kind == "calling":
            assert not stopped
            assert all(ended.get(name) in {"done", "reused"} for name in edges(adopted[-1])[event.step or ""])
        elif event.kind == "stopped":
            stopped = True
        elif event.kind == "step-ended":
            ended[event.step or ""] = event.payload["state"]
