"""What is left out, held, or left to another plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagster_planexec.contract.outcome import Failed, Held
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.run_report import close_steps, read_steps
from dagster_planexec.plan.model import Plan
from dagster_planexec.recovery.decision import Hold, Replan, Skip, Stop
from tests.support.bench import BenchMaker, CopyArgs, MakeArgs, TableTool
from tests.support.paying import paying
from tests.support.scripted import BUSY, Scripted, decided, plan_of, step, with_tools

# -- skip ------------------------------------------------------------------------------------------------------------


def test_a_step_that_nothing_needs_is_left_out_and_the_run_goes_on(bench: BenchMaker) -> None:
    """It is not run, with its code and why; everything else is done."""
    b = bench()
    task = with_tools(b, Scripted("make", b.calls)).work.task
    b = with_tools(b, Scripted("make", b.calls), Scripted("extra", b.calls, [BUSY] * 9, max_tries=1, effect="read"),
                   task=task)  # fmt: skip
    plan = plan_of(step("aside", "extra", "first"), step("first", "make"), step("last", "make"))
    run = b.run(plan, "r")
    reports = {name: run_step(run, name) for name in ("first", "aside", "last")}
    close_steps(b.work.journal, b.attempt, "r", plan)
    ends = {s.id: s for s in read_steps(b.work.journal, b.attempt, "r", plan)}

    assert isinstance(reports["aside"].decision, Skip)
    assert (ends["aside"].outcome, ends["aside"].code) == ("not-run", "UNAVAILABLE")
    assert "nothing needs this step" in ends["aside"].reason
    assert (ends["first"].outcome, ends["last"].outcome) == ("done", "done")


@pytest.mark.parametrize("why", ["a deliverable", "another step", "a deliverable, through another step"])
def test_a_step_that_is_needed_is_never_left_out(bench: BenchMaker, why) -> None:
    """By what the task makes of it, or by whatever comes after it."""
    b = bench()
    failing = Scripted("extra", b.calls, [BUSY] * 9, max_tries=1)
    copy = TableTool("copy", b.calls, args=CopyArgs)
    after = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    if why == "a deliverable":
        b, plan = with_tools(b, failing), plan_of(step("a", "extra"))
    elif why == "another step":
        b, plan = with_tools(b, failing, copy, task=b.work.task), plan_of(step("a", "extra"), after)
    else:
        task = with_tools(b, copy).work.task
        b, plan = with_tools(b, failing, copy, task=task), plan_of(step("a", "extra"), after)
    report = b.go(plan)[0]

    assert (report.state, report.code) == ("failed", "UNAVAILABLE")


@pytest.mark.parametrize(
    "change",
    [
        {"deliverables": ()}, {"expects": [{"about": "step:a", "measure": "rows", "op": ">", "value": 0}]},
        {"checkpoint": True}, {"also": step("b", "make", label="staging.a")}, {},
    ],
    ids=["no deliverables", "an expectation", "a checkpoint", "a step by name", "nothing"],
)  # fmt: skip
def test_a_step_that_something_else_counts_on_is_never_left_out(bench: BenchMaker, change) -> None:
    """A task without deliverables may mean any step; what is read by name is needed too."""

    class Labelled(MakeArgs):
        label: str = ""

    b = bench()
    task = replace(with_tools(b, Scripted("make", b.calls)).work.task)
    task = replace(task, deliverables=change.get("deliverables", task.deliverables))
    b = with_tools(b, Scripted("make", b.calls, args=Labelled),
                   Scripted("extra", b.calls, [BUSY], max_tries=1, effect="read"), task=task)  # fmt: skip
    first = {**step("a", "extra"), "checkpoint": change.get("checkpoint", False)}
    plan = Plan.model_validate(
        {"task": "toy", "period": "2026-03", "expects": change.get("expects", []),
         "steps": [first, *([change["also"]] if "also" in change else [])]}, strict=False,
    )  # fmt: skip
    report = b.go(plan)[0]

    assert isinstance(report.decision, Skip) == (not change)


def test_a_write_that_timed_out_is_not_left_out(bench: BenchMaker) -> None:
    """Its table may be there, unjudged."""
    b = bench()
    task = with_tools(b, Scripted("make", b.calls)).work.task
    b = with_tools(b, Scripted("make", b.calls), Scripted("extra", b.calls, [Failed("TIMEOUT", "late")], max_tries=1),
                   task=task)  # fmt: skip
    (report,) = b.go(plan_of(step("a", "extra")))

    assert (report.state, report.code) == ("failed", "TIMEOUT")


# -- ask, replan -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "args", "state"),
    [("CAP_EXCEEDED", {}, "held"), ("VALIDATION_ERROR", {"rows": "many"}, "held"), ("TABLE_GONE", {}, "failed")],
)
def test_an_irreversible_step_asks_a_person_before_its_call_where_the_table_says_so(
    bench: BenchMaker, code, args, state
) -> None:
    """A cap, or arguments that it does not take; not a table that is not there."""
    b = bench()
    said = Held(code, "no", {"amount": 5})

    class Asks(paying(Scripted)):
        def held(self, *_: object) -> Held:
            return said

    b = with_tools(b, Asks("pay", b.calls, effect="irreversible"))
    (report,) = b.go(plan_of(step("a", "pay", **args)))

    assert (report.state, report.code, isinstance(report.decision, Hold)) == (state, code, state == "held")


def test_a_code_that_the_task_lists_asks_for_another_plan(bench: BenchMaker) -> None:
    """And leaves it to whoever asks for plans how often."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [Failed("BAD_DATE", "32nd")] * 2),
                   task=replace(b.work.task, replannable=frozenset({"BAD_DATE"})))  # fmt: skip
    reports = [b.go(plan_of(step("a", "make")), run)[0] for run in ("r1", "r2")]

    assert [type(r.decision) for r in reports] == [Replan, Replan]
    assert [e.payload["rule"] for e in decided(b)] == ["replan_when_the_task_allows_it"] * 2


def test_a_failure_that_comes_back_after_a_new_plan_stops_where_no_other_may_be_asked_for(bench: BenchMaker) -> None:
    """The same tool, code and claim: retries would only put it off."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY]))
    earlier = {"decision": "replan", "tool": "make", "code": "UNAVAILABLE", "claim": None}
    b.work.journal.append(b.attempt, "r0", [NewEvent("decided", "was-called-otherwise", earlier)])
    (report,) = b.go(plan_of(step("a", "make")), "r1")

    assert isinstance(report.decision, Stop)
    assert decided(b)[-1].payload["rule"] == "stop_when_the_same_failure_comes_back"
