"""What a done step shows about the rest of the plan, and plans that end where something has to be seen first."""

from __future__ import annotations

from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.request import PlanRequest
from tests.support.settled import Place, ScriptedPlanner, copy, make, plan_of


def expect(step: str, value: int, *, op: str = "==", measure: str = "rows") -> dict[str, object]:
    """An expectation about a step that is done."""
    return {"about": f"step:{step}", "measure": measure, "op": op, "value": value}


def wrong_about_a_copy(_: PlanRequest, n: int) -> Plan:
    """A plan that expects five rows of a copy of three, then one that expects three."""
    return plan_of(make("a", 3), copy("b", "a"), copy("c", "b"), expects=[expect("b", 5 if n == 1 else 3)])


def test_a_surprise_asks_for_another_plan_although_nothing_failed(place: Place) -> None:
    """The step stands, is done and reused; what comes after it has not run under the plan that was wrong."""
    planner = ScriptedPlanner(wrong_about_a_copy)
    report = place.settle(planner)

    assert (report.status, report.revision) == ("succeeded", 2)
    assert place.calls == ["a", "b", "c"]
    [first] = report.as_json()["revisions"]
    assert (first["trigger"], first["step"], first["code"]) == ("surprise", "b", "EXPECTATION_FAILED")
    told = planner.asked[1].revising
    assert told is not None
    assert [(v.expected.value, v.observed.value) for v in told.broken] == [("step:b rows == 5", 3)]
    assert {o.step.id: o.outcome for o in told.recent} == {"a": "done", "b": "done"}


def test_a_surprise_is_asked_again_when_its_step_is_reused(place: Place) -> None:
    """A run that ended before another plan came does not go on past it in the next one."""
    planner = ScriptedPlanner(lambda request, n: None if n == 2 else wrong_about_a_copy(request, n))
    first = place.settle(planner)
    assert (first.status, first.code, first.cause) == ("stopped", "UNAVAILABLE", "EXPECTATION_FAILED")
    assert place.calls == ["a", "b"]

    asked = len(planner.asked)
    second = place.settle(planner)
    assert (second.status, second.revision) == ("succeeded", 2)
    assert (planner.asked[asked].revising is not None, place.calls) == (True, ["a", "b", "c"])


def test_a_surprise_stops_where_nobody_writes_another_plan(place: Place) -> None:
    """It is no failure of the step, and no success of the run."""
    planner = ScriptedPlanner(wrong_about_a_copy)
    planner.revises = False
    report = place.settle(planner)

    assert (report.status, report.code) == ("stopped", "EXPECTATION_FAILED")
    assert [(s.id, s.outcome) for s in report.steps] == [("a", "done"), ("b", "done"), ("c", "not-run")]


def test_an_expectation_of_what_no_step_measures_is_refused(place: Place) -> None:
    """A measure that the tool does not have, and a step that is not there."""
    plan = plan_of(make("a", 3), expects=[expect("a", 3, measure="colour"), expect("z", 1)])
    report = place.settle(ScriptedPlanner(lambda _, __: plan))

    found = [(f["code"], f["field"]) for f in report.findings if f["severity"] == "error"]
    assert found == [("expectation-unknown", "expects[0].measure"), ("expectation-unknown", "expects[1].about")]
    assert place.calls == []


# ---------------------------------------------------------------- checkpoints


def one_after_the_other(request: PlanRequest, _: int) -> Plan:
    """Looks at one table at a time: as many rows as it has, so many steps are left."""
    if request.revising is None:
        return plan_of(make("a", 3, checkpoint=True))
    number = request.revising.revision
    done = [make("a", 3), *(make(f"a{n}", 3, after=["a"]) for n in range(2, number))]
    last = make(f"a{number}", 3, after=["a"], **({"checkpoint": True} if request.revising.replans_left else {}))
    return plan_of(*done, last)


def test_a_plan_that_ends_at_a_checkpoint_goes_on_with_what_was_seen(place: Place) -> None:
    """The planner sees the result, writes the next steps, and is told when it must finish."""
    planner = ScriptedPlanner(one_after_the_other)
    report = place.settle(planner, checkpoints=True)

    assert (report.status, report.revision) == ("succeeded", 3)
    assert place.calls == ["a", "a2", "a3"]
    triggers = [request.revising.trigger for request in planner.asked if request.revising]
    assert triggers == ["checkpoint", "checkpoint"]
    assert [request.revising.replans_left for request in planner.asked if request.revising] == [1, 0]


def test_a_checkpoint_that_nobody_may_follow_is_refused(place: Place) -> None:
    """The last plan of an attempt has to finish; one that does not is refused, with what it ended at as the cause."""
    planner = ScriptedPlanner(
        lambda request, n: plan_of(*(make(f"a{i}", 3) for i in range(n - 1)), make(f"a{n - 1}", 3, checkpoint=True))
    )
    report = place.settle(planner, checkpoints=True)

    assert (report.status, report.code) == ("stopped", "PLAN_REJECTED")
    assert [f["code"] for f in report.findings if f["severity"] == "error"] == ["checkpoint-misplaced"]
    assert len(place.kinds("replanned")) == 2


def test_a_checkpoint_needs_a_task_that_works_by_checkpoints(place: Place) -> None:
    """Whoever wrote the task decides, not the plan."""
    report = place.settle(ScriptedPlanner(one_after_the_other))

    assert (report.status, place.calls) == ("rejected", [])


def test_a_run_that_was_killed_at_a_checkpoint_goes_on_there(place: Place) -> None:
    """The step is not called again; its checkpoint is met again, and the planner is asked."""
    planner = ScriptedPlanner(lambda request, n: None if n == 2 else one_after_the_other(request, n))
    assert place.settle(planner, checkpoints=True).code == "UNAVAILABLE"
    report = place.settle(planner, checkpoints=True)

    assert (report.status, report.revision) == ("succeeded", 3)
    assert place.calls == ["a", "a2", "a3"]
