"""Another plan when the rest of one is no longer believed: what starts it, what is kept, and what ends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Proposal, Usage
from dagster_planexec.planner.request import PlanRequest
from tests.support.settled import TASK, Place, ScriptedPlanner, copy, make, pay, plan_of

GOOD = plan_of(make("a", 3), copy("b", "a"))


def first_bad(request: PlanRequest, n: int) -> Plan:
    """A plan whose second step makes too few rows, then one that makes enough."""
    return plan_of(make("a", 3), make("b", 2 if n == 1 else 3, after=["a"]), copy("c", "b"))


def test_a_failed_check_that_the_task_lists_asks_for_another_plan(place: Place) -> None:
    """The second plan succeeds as revision 2; what was done is reused and not called again."""
    planner = ScriptedPlanner(first_bad)
    report = place.settle(planner)

    assert (report.status, report.revision, report.cause) == ("succeeded", 2, None), report.findings
    assert place.calls == ["a", "b", "b", "c"]
    assert [(s.id, s.outcome) for s in report.steps] == [("a", "reused"), ("b", "done"), ("c", "done")]
    [first] = report.as_json()["revisions"]
    assert (first["revision"], first["step"], first["code"], first["trigger"]) == (
        1, "b", "ROWCOUNT_MISMATCH", "failed-check",
    )  # fmt: skip


def test_the_planner_is_told_facts(place: Place) -> None:
    """Where it stopped and why with both numbers, what is done, what is near, what was planned before, what is left."""
    planner = ScriptedPlanner(first_bad)
    place.settle(planner)
    told = planner.asked[1].revising

    assert told is not None
    assert (told.revision, told.trigger, told.step, told.code) == (2, "failed-check", "b", "ROWCOUNT_MISMATCH")
    assert [(v.check, v.expected.value, v.observed.value) for v in told.broken] == [("has_three_rows", 3, 2)]
    assert [(o.step.id, o.outcome, o.facts["table"]) for o in told.done] == [("a", "done", "staging.a_202603")]
    assert [step.id for step in told.nearby] == ["a", "b", "c"]
    assert [(o.step.id, o.outcome, o.code) for o in told.recent] == [
        ("a", "done", None), ("b", "failed", "ROWCOUNT_MISMATCH"),
    ]  # fmt: skip
    assert [plan.steps[1].args["rows"] for plan in told.earlier] == [2]
    assert told.replans_left == 1


@pytest.mark.parametrize("code", ["ROWCOUNT_MISMATCH", None])
def test_a_code_that_the_task_does_not_list_stops(place: Place, code: str | None) -> None:
    """Only the task says what another plan can help with; no plan and no model does."""
    planner = ScriptedPlanner(first_bad)
    report = place.settle(planner, replannable=frozenset({code} if code else ()))

    asked = len(planner.asked)
    assert (report.status, asked) == (("succeeded", 2) if code else ("stopped", 1))
    assert report.code == (None if code else "ROWCOUNT_MISMATCH")


def test_a_planner_that_writes_one_plan_only_is_not_asked_again(place: Place) -> None:
    """The run keeps the code it stopped with."""
    planner = ScriptedPlanner(first_bad)
    planner.revises = False
    report = place.settle(planner)

    assert (report.status, report.code, report.cause, len(planner.asked)) == ("stopped", "ROWCOUNT_MISMATCH", None, 1)


# ---------------------------------------------------------------- planners without an end


def _renamed(plan: Plan, n: int) -> Plan:
    text = plan.model_dump_json()
    for step in plan.steps[:2]:  # the third has the name of its tool
        text = text.replace(f'"{step.id}"', f'"{step.id}_{n}"').replace(f'"{step.id}.', f'"{step.id}_{n}.')
    return Plan.model_validate_json(text)


def _same(_: PlanRequest, n: int) -> Plan:
    return plan_of(make("a", 3), make("b", 2, after=["a"]), pay("b"))


def _in_other_words(_: PlanRequest, n: int) -> Plan:
    return plan_of(make("a", 3, rationale=f"try {n}"), make("b", 2, after=["a"]), pay("b"), intent=f"again {n}")


def _under_other_names(request: PlanRequest, n: int) -> Plan:
    return _renamed(_same(request, n), n)


def _in_another_order(_: PlanRequest, n: int) -> Plan:
    steps = [make("a", 3), make("x", 3), make("b", 2, after=["a", "x"]), pay("b")]
    return plan_of(*(steps if n % 2 else [steps[1], steps[0], *steps[2:]]))


def _there_and_back(_: PlanRequest, n: int) -> Plan:
    """A-B-A-B, each time one step further than before, so that only the comparison with all of them sees it."""
    one = [make("a", 3), make("b", 2, after=["a"]), pay("b")]
    two = [make("a", 3), make("c", 3, after=["a"]), make("b", 1, after=["c"]), pay("b")]
    return plan_of(*(one if n % 2 else two))


def _always_new(_: PlanRequest, n: int) -> Plan:
    return plan_of(make("a", 3), make(f"b{n}", 2, after=["a"]), pay(f"b{n}"))


def _always_further(_: PlanRequest, n: int) -> Plan:
    """Every plan does one thing more than the last and fails all the same."""
    done = [make(f"a{i}", 3) for i in range(n)]
    return plan_of(*done, make("b", 2, after=[s["id"] for s in done]), pay("b"))


@pytest.mark.parametrize(
    ("endless", "code", "asked"),
    [
        pytest.param(_same, "REPLAN_UNCHANGED", 2, id="the same"),
        pytest.param(_in_other_words, "REPLAN_UNCHANGED", 2, id="other words"),
        pytest.param(_under_other_names, "REPLAN_UNCHANGED", 2, id="other names"),
        pytest.param(_in_another_order, "REPLAN_UNCHANGED", 2, id="another order"),
        pytest.param(_there_and_back, "REPLAN_UNCHANGED", 3, id="A-B-A-B"),
        pytest.param(_always_new, "REPLAN_UNCHANGED", 2, id="new, and no further"),
        pytest.param(_always_further, "REPLAN_EXHAUSTED", 3, id="further each time"),
    ],
)
def test_a_planner_without_an_end_comes_to_one(place: Place, endless, code: str, asked: int) -> None:
    """Within the cap, with the code that started it as the cause, and nothing that cannot be undone has run."""
    planner = ScriptedPlanner(endless)
    report = place.settle(planner)

    assert (report.status, report.code, report.cause) == ("stopped", code, "ROWCOUNT_MISMATCH")
    assert len(planner.asked) == asked
    assert "pay" not in place.calls
    assert len(place.kinds("run-ended")) == 1


@pytest.mark.parametrize("endless", [_same, _there_and_back, _always_new, _always_further])
def test_running_again_does_not_begin_counting_anew(place: Place, endless) -> None:
    """Ten more runs of the same inputs ask the planner at most as often as the cap of the one attempt allows."""
    planner = ScriptedPlanner(endless)
    reports = [place.settle(planner) for _ in range(10)]

    assert len(planner.asked) <= 1 + TASK.limits.max_replans
    assert {report.status for report in reports} == {"stopped"}
    assert {report.code for report in reports} <= {"REPLAN_UNCHANGED", "REPLAN_EXHAUSTED"}
    assert "pay" not in place.calls


def test_no_replan_where_the_task_allows_none(place: Place) -> None:
    """A cap of nought is a cap."""
    planner = ScriptedPlanner(first_bad)
    report = place.settle(planner, limits=replace(TASK.limits, max_replans=0))

    assert (report.code, report.cause, len(planner.asked)) == ("REPLAN_EXHAUSTED", "ROWCOUNT_MISMATCH", 1)


# ---------------------------------------------------------------- what a revision may not do


def test_a_revision_that_may_not_run_takes_no_others_place(place: Place) -> None:
    """It is refused whole, with the cause; later runs go on from the plan that was good, up to the cap."""
    planner = ScriptedPlanner(lambda _, n: first_bad(_, n) if n == 1 else plan_of(make("a", 3), pay("a")))
    report = place.settle(planner)

    assert (report.status, report.code, report.cause) == ("stopped", "PLAN_REJECTED", "ROWCOUNT_MISMATCH")
    assert "revision-gains-tool" in {finding["code"] for finding in report.findings}
    assert place.calls == ["a", "b"]
    assert len(planner.asked) == 3  # the plan, the revision, its repair

    assert [place.settle(planner).code for _ in range(3)] == ["PLAN_REJECTED", "REPLAN_EXHAUSTED", "REPLAN_EXHAUSTED"]
    assert (len(planner.asked), place.calls) == (5, ["a", "b", "b", "b", "b"])
    attempt = place.work.journal.newest_attempt("toy", "2026-03")
    assert attempt is not None
    assert attempt.revision == 1


def test_a_planner_that_fails_leaves_the_cause(place: Place) -> None:
    """What it failed with is the code; the run that stopped is what is shown."""
    planner = ScriptedPlanner(lambda _, n: first_bad(_, n) if n == 1 else None)
    report = place.settle(planner)

    assert (report.status, report.code, report.cause) == ("stopped", "UNAVAILABLE", "ROWCOUNT_MISMATCH")
    assert [(s.id, s.outcome) for s in report.steps] == [("a", "done"), ("b", "failed"), ("c", "not-run")]


# ---------------------------------------------------------------- one repair


def test_a_refused_plan_is_repaired_once(place: Place) -> None:
    """The planner gets its plan back with all findings; nothing has run meanwhile."""
    bad = plan_of({"id": "a", "tool": "mak", "args": {"target": "staging.a_202603"}, "depends_on": []})
    planner = ScriptedPlanner(lambda _, n: bad if n == 1 else GOOD)
    report = place.settle(planner)

    assert (report.status, report.revision) == ("succeeded", 1)
    repair = planner.asked[1].repair
    assert repair is not None
    assert repair.plan == bad
    assert "unknown-tool" in {finding["code"] for finding in repair.findings}
    assert [event.payload["for"] for event in place.kinds("proposed")] == ["a plan", "a repair"]


def test_a_plan_that_is_refused_twice_is_refused(place: Place) -> None:
    """There is one repair turn and no second."""
    planner = ScriptedPlanner(lambda _, n: plan_of(make("a b", n)))
    report = place.settle(planner)

    assert (report.status, report.code, len(planner.asked), place.calls) == ("rejected", "PLAN_REJECTED", 2, [])


def test_a_repair_that_does_not_come_leaves_the_findings(place: Place) -> None:
    """Who cannot repair leaves the plan refused, with what is wrong with it."""
    planner = ScriptedPlanner(
        lambda _, n: plan_of(make("a b", 3)) if n == 1
        else Proposal(None, "scripted", "t", model_called=True, code="TIMEOUT", message="too late")
    )  # fmt: skip
    report = place.settle(planner)

    assert (report.status, report.code) == ("rejected", "PLAN_REJECTED")
    assert "bad-id" in {finding["code"] for finding in report.findings}


# ---------------------------------------------------------------- what code does before a model is asked


def test_what_code_can_correct_costs_no_repair_turn(place: Place) -> None:
    """A dependency that a reference says already is written down; the plan card and the journal say that it was."""
    step = {"id": "b", "tool": "copy", "args": {"target": "staging.b_202603", "source": {"ref": "a.table"}}}
    planner = ScriptedPlanner(lambda _, __: plan_of(make("a", 3), {**step, "depends_on": []}))
    report = place.settle(planner)

    assert (report.status, len(planner.asked)) == ("succeeded", 1)
    assert report.plan is not None
    assert report.plan.step("b").depends_on == ("a",)
    [edited] = place.kinds("edited")
    assert "depends_on" in edited.payload["edits"][0]
    assert report.provenance["edited"] == edited.payload["edits"]


class Costly(ScriptedPlanner):
    """A planner whose every answer costs calls and tokens."""

    calls_model = True

    def propose(self, request: PlanRequest) -> Proposal:
        """The scripted answer, with what it cost."""
        usage = Usage("m", 2, 1_000, 500, "0.01", 3)
        return replace(super().propose(request), model_called=True, usage=usage)


def test_the_model_calls_of_an_attempt_end(place: Place) -> None:
    """The budget counts over all runs of the attempt; when it is spent no model is called, and the run says so."""
    planner = Costly(lambda _, n: plan_of(make("a b", n)))
    limits = replace(TASK.limits, max_model_calls=5)
    reports = [place.settle(planner, limits=limits) for _ in range(4)]

    assert len(planner.asked) == 3  # two calls each: the plan, its repair, and one more
    assert [(r.status, r.code) for r in reports][-1] == ("error", "BUDGET_EXHAUSTED")
    assert "6 of 5 model calls" in reports[-1].text


def test_tokens_of_an_attempt_end_too(place: Place) -> None:
    """A call is made while there is a token left, and none after."""
    planner = Costly(lambda _, n: plan_of(make("a b", n)))
    report = place.settle(planner, limits=replace(TASK.limits, max_tokens=1_500))

    assert (len(planner.asked), report.status, report.code) == (1, "rejected", "PLAN_REJECTED")
    assert place.settle(planner, limits=replace(TASK.limits, max_tokens=1_500)).code == "BUDGET_EXHAUSTED"


def test_what_a_plan_cost_is_kept_with_it(place: Place) -> None:
    """In the journal's event and beside the plan."""
    report = place.settle(Costly(lambda _, __: GOOD))

    assert report.provenance["usage"]["cost"] == "0.01"
    assert [event.payload["usage"]["tokens_in"] for event in place.kinds("proposed")] == [1_000]


def test_the_planner_is_told_how_the_task_failed_before_and_what_helped(place: Place) -> None:
    """What went wrong in an earlier attempt, and that another plan settled it."""
    place.settle(ScriptedPlanner(first_bad))
    planner = ScriptedPlanner(lambda _, __: GOOD)
    place.settle(planner, replan=True)

    [pattern] = planner.asked[0].patterns
    assert (pattern.tool, pattern.code, pattern.check, pattern.count, pattern.resolved_by) == (
        "make", "ROWCOUNT_MISMATCH", "has_three_rows", 1, "revision 2",
    )  # fmt: skip


def test_a_plan_and_its_repair_are_paid_for_together(place: Place) -> None:
    """Both askings are in what the plan cost."""
    planner = Costly(lambda _, n: plan_of(make("a b", 3)) if n == 1 else GOOD)
    usage = place.settle(planner).provenance["usage"]

    assert (usage["calls"], usage["tokens_in"], usage["tokens_out"], usage["cost"]) == (4, 2_000, 1_000, "0.02")


def test_the_report_says_what_the_next_plan_changed(place: Place) -> None:
    """With why it was asked for, in the words of the failure."""
    [first] = place.settle(ScriptedPlanner(first_bad)).as_json()["revisions"]

    assert first["text"].startswith("ROWCOUNT_MISMATCH: has_three_rows failed at b")
    assert first["changes"] == ["~ b: rows 2 -> 3"]
