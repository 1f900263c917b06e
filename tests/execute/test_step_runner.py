"""The step runner: nothing is called before its claims were judged, and only a pass hands anything on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.execute import judging
from dagster_planexec.execute.observer import observe
from dagster_planexec.execute.resolve import Resolved, resolve_step, scope_of
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.run_report import close_steps, read_steps
from dagster_planexec.journal.store.tables import results
from dagster_planexec.plan.model import Plan
from dagster_planexec.recovery.decision import Retry, Stop
from tests.support.bench import Bench, BenchMaker, CopyArgs


def plan_of(*steps: dict[str, Any]) -> Plan:
    """A plan with these steps."""
    return Plan.model_validate({"task": "toy", "period": "2026-03", "steps": steps}, strict=False)


MAKE = {"id": "make", "tool": "make", "args": {"target": "staging.a", "rows": 3}}
COPY = {
    "id": "copy",
    "tool": "copy",
    "args": {"source": {"ref": "make.table"}, "target": "staging.b"},
    "depends_on": ["make"],
}
ASIDE = {"id": "aside", "tool": "make", "args": {"target": "staging.c", "rows": 3}}


def test_a_healthy_plan_calls_each_tool_once_in_order(bench: BenchMaker) -> None:
    """Two steps, two calls, both done, the second handed the first one's table."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})

    reports = b.go(plan_of(MAKE, COPY))

    assert [r.state for r in reports] == ["done", "done"]
    assert b.calls == ["make", "copy"]
    assert b.sql("select count(*) from staging.b") == [(3,)]


@pytest.mark.parametrize("phase", ["pre", "post"])
@pytest.mark.parametrize(
    ("check", "status", "code"),
    [("raises", "errored", "INTERNAL"), ("nothing", "errored", "INTERNAL"), ("judge", "errored", "INTERNAL")],
)
def test_a_check_that_cannot_answer_shuts_the_gate(
    bench: BenchMaker, check: str, status: str, code: str, phase: str
) -> None:
    """A probe that raises or returns nothing, and a judge that raises: the next step does not start."""
    b = bench(make={phase: (check,)}, copy={"args": CopyArgs})

    made, copied = b.go(plan_of(MAKE, COPY))

    assert (made.state, made.code) == ("failed", code)
    assert made.verdicts[-1].status == status
    assert copied.state == "not-run"
    assert b.calls == ([] if phase == "pre" else ["make"])


def test_a_probe_that_passes_its_deadline_is_timed_out(bench: BenchMaker) -> None:
    """Late is no answer: errored with TIMEOUT, after the deadline and not after the probe's own thirty seconds."""
    b = bench(make={"pre": ("hangs",)})
    run = b.run(plan_of(MAKE), "r")
    bound = judging.bind(run, ["hangs"], _scope(run), "pre")

    seen = observe(bound[0].probes, b.work.ports, deadline_s=0.2)  # type: ignore[union-attr]
    verdict = bound[0].verdict(seen)  # type: ignore[call-arg]

    assert (verdict.status, verdict.code, verdict.opens) == ("errored", "TIMEOUT", False)


def _scope(run: Run) -> StepScope:
    step = run.plan.steps[0]
    resolved = resolve_step(run, step, {})
    assert isinstance(resolved, Resolved)
    return scope_of(run, step, resolved)


def test_a_stop_reaches_independent_branches(bench: BenchMaker) -> None:
    """A branch that does not depend on the failed step does not run either, and says which stop ended it."""
    b = bench(make={"post": ("has_three_rows",)})
    wrong = {**MAKE, "args": {"target": "staging.a", "rows": 2}}

    stopped, aside = b.go(plan_of(wrong, ASIDE))

    assert (stopped.state, stopped.code) == ("failed", "ROWCOUNT_MISMATCH")
    assert (aside.state, aside.reason) == ("not-run", "the run stopped at make: ROWCOUNT_MISMATCH")
    assert b.calls == ["make"]


def test_the_same_plan_in_two_worlds_makes_two_call_sequences(bench: BenchMaker) -> None:
    """A literal executor's calls could be printed beforehand; here the world decides."""
    tools: dict[str, Any] = {"make": {"post": ("has_three_rows",)}, "copy": {"args": CopyArgs}}
    plan = plan_of(MAKE, COPY)
    healthy, wrecked = bench(**tools), bench(**tools)
    healthy.go(plan)
    run = wrecked.run(plan, "run")
    run_step(run, "make")
    wrecked.sql("drop table staging.a")

    copied = run_step(run, "copy")

    assert healthy.calls == ["make", "copy"]
    assert wrecked.calls == ["make"]
    assert (copied.state, copied.code) == ("failed", "TABLE_GONE")


def test_an_input_that_changed_is_judged_again_by_its_own_checks(bench: BenchMaker) -> None:
    """Rows deleted between two steps: the consumer stops with the producer's code, uncalled."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})
    run = b.run(plan_of(MAKE, COPY), "r")
    run_step(run, "make")
    b.sql("delete from staging.a")

    copied = run_step(run, "copy")

    assert (copied.state, copied.code) == ("failed", "ROWCOUNT_MISMATCH")
    assert copied.verdicts[0].check == "input_still_holds"
    assert b.calls == ["make"]


def test_an_input_that_changed_and_still_holds_passes_and_says_so(bench: BenchMaker) -> None:
    """Other rows, but as many as the contract asks for."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})
    run = b.run(plan_of(MAKE, COPY), "r")
    run_step(run, "make")
    b.sql("update staging.a set i = i + 10")

    copied = run_step(run, "copy")

    assert copied.state == "done"
    assert "judged again" in copied.verdicts[0].text


def test_an_input_without_checks_that_changed_stops(bench: BenchMaker) -> None:
    """Nothing can vouch for the changed table, so nothing uses it."""
    b = bench(make={}, copy={"args": CopyArgs})
    run = b.run(plan_of(MAKE, COPY), "r")
    run_step(run, "make")
    b.sql("delete from staging.a")

    copied = run_step(run, "copy")

    assert (copied.state, copied.code) == ("failed", "EXPECTATION_FAILED")


def test_a_second_run_reuses_what_holds(bench: BenchMaker) -> None:
    """Same attempt, same inputs, unchanged results: nothing is called."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})
    b.go(plan_of(MAKE, COPY), "first")
    b.calls.clear()

    again = b.go(plan_of(MAKE, COPY), "second")

    assert [r.state for r in again] == ["reused", "reused"]
    assert b.calls == []


def test_ids_do_not_matter_for_reuse(bench: BenchMaker) -> None:
    """A done step is what it did to what, not its name in a plan."""
    b = bench(make={"post": ("has_three_rows",)})
    b.go(plan_of(MAKE), "first")

    (again,) = b.go(plan_of({**MAKE, "id": "renamed"}), "second")

    assert again.state == "reused"


def test_a_step_that_was_judged_less_strictly_is_not_reused(bench: BenchMaker) -> None:
    """A claim that was not made then is judged now: the step is done again, and stops."""
    b = bench(make={})
    two = {**MAKE, "args": {"target": "staging.a", "rows": 2}}
    b.go(plan_of(two), "first")

    (again,) = b.go(plan_of({**two, "claims": [{"claim": "has_three_rows"}]}), "second")

    assert (again.state, again.code) == ("failed", "ROWCOUNT_MISMATCH")


def test_a_result_that_changed_between_runs_is_made_again(bench: BenchMaker) -> None:
    """Reuse looks at the world, not at the journal."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})
    b.go(plan_of(MAKE, COPY), "first")
    b.sql("delete from staging.a")
    b.calls.clear()

    again = b.go(plan_of(MAKE, COPY), "second")

    assert [r.state for r in again] == ["done", "reused"]
    assert b.calls == ["make"]


def test_transient_failures_are_tried_again_and_then_stop(bench: BenchMaker) -> None:
    """Each try is counted in the journal; the last one stops and says how often."""
    b = bench(make={"fails": Failed("UNAVAILABLE", "503"), "max_tries": 3})
    plan = plan_of(MAKE)

    reports = [b.go(plan)[0] for _ in range(3)]

    assert [type(r.decision) for r in reports] == [Retry, Retry, Stop]
    assert [r.tries for r in reports] == [1, 2, 3]
    assert (reports[2].state, reports[2].code) == ("failed", "UNAVAILABLE")


def test_an_irreversible_call_is_never_tried_again(bench: BenchMaker) -> None:
    """Transient or not."""
    b = bench(make={"effect": "irreversible", "fails": Failed("UNAVAILABLE", "503")})

    (report,) = b.go(plan_of(MAKE))

    assert isinstance(report.decision, Stop)
    assert b.calls == ["make"]


@pytest.mark.parametrize("code", ["CAP_EXCEEDED", "NOT_A_CODE"])
def test_a_failed_call_keeps_its_code(bench: BenchMaker, code: str) -> None:
    """Also one that nobody knows; it stops."""
    b = bench(make={"fails": Failed(code, "no")})

    (report,) = b.go(plan_of(MAKE))

    assert (report.state, report.code) == ("failed", code)


def test_arguments_that_do_not_fit_the_tool_are_never_called(bench: BenchMaker) -> None:
    """The contract's model is the door."""
    b = bench(make={})

    (report,) = b.go(plan_of({**MAKE, "args": {"target": "staging.a", "rows": "many"}}))

    assert (report.state, report.code, b.calls) == ("failed", "VALIDATION_ERROR", [])


def test_every_step_of_a_run_has_an_end_in_the_journal(bench: BenchMaker) -> None:
    """Steps that were never started, too: Dagster skips them without a word."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs})
    plan = plan_of({**MAKE, "args": {"target": "staging.a", "rows": 2}}, COPY)
    run_step(b.run(plan, "r"), "make")

    close_steps(b.work.journal, b.attempt, "r", plan)
    steps = read_steps(b.work.journal, b.attempt, "r", plan)

    assert [(s.id, s.outcome) for s in steps] == [("make", "failed"), ("copy", "not-run")]
    assert steps[1].reason == "the run stopped at make: ROWCOUNT_MISMATCH"


def test_a_claim_that_does_not_fit_its_step_stops_it_uncalled(bench: BenchMaker) -> None:
    """A plan may claim any known check; one that asks for what the step has not got is refused with a code."""
    b = bench(make={})

    (report,) = b.go(plan_of({**MAKE, "claims": [{"claim": "object_exists"}]}))

    assert (report.state, report.code, b.calls) == ("failed", "VALIDATION_ERROR", [])


def test_an_input_that_changes_during_the_call_stops_the_step(bench: BenchMaker) -> None:
    """It was judged before the call, and is not what it was after it: what the call used nobody knows."""
    b = bench(make={"post": ("has_three_rows",)}, copy={"args": CopyArgs, "during": "update staging.a set i = i + 1"})

    _, copied = b.go(plan_of(MAKE, COPY))

    assert (copied.state, copied.code) == ("failed", "EXPECTATION_FAILED")
    assert copied.verdicts[-1].check == "input_still_holds"


def test_no_other_process_gets_at_the_warehouse_between_a_call_and_its_checks(bench: BenchMaker) -> None:
    """What is judged is what the call left: an embedded file stays open from the one to the other."""
    b = bench(make={"post": ("has_three_rows",)})
    path = b.work.ports.warehouse.path
    openings = []

    def elsewhere(kind: str, _: str | None) -> None:
        if kind in {"calling", "called"}:
            code = f"import duckdb; duckdb.connect({str(path)!r})"
            tried = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
            openings.append((kind, tried.returncode == 0))

    work = replace(b.work, journal=Journal(listeners=[elsewhere]))
    try:
        (report,) = Bench(work, b.attempt, b.calls).go(plan_of(MAKE))
    finally:
        work.journal.close()

    assert report.state == "done"
    assert openings == [("calling", True), ("called", False)]


def test_an_altered_result_in_the_journal_is_not_built_on(bench: BenchMaker) -> None:
    """Its digest is verified on every read; the step is done again."""
    b = bench(make={"post": ("has_three_rows",)})
    b.go(plan_of(MAKE), "first")
    with b.work.journal.engine.begin() as db:
        body = db.execute(sa.select(results.c.body)).scalar_one()
        db.execute(sa.update(results).values(body=body.replace("staging.a", "staging.z")))
    b.calls.clear()

    (again,) = b.go(plan_of(MAKE), "second")

    assert (again.state, b.calls) == ("done", ["make"])


def test_a_call_whose_end_could_not_be_written_is_not_called_not_run(bench: BenchMaker) -> None:
    """A begun irreversible call without an end is EFFECT_UNKNOWN; another one is INTERNAL."""
    b = bench(make={})
    plan = plan_of(MAKE, ASIDE)
    b.work.journal.append(b.attempt, "r", [NewEvent("calling", "make"), NewEvent("calling", "aside")])

    close_steps(b.work.journal, b.attempt, "r", plan, irreversible=["make"])
    money = [(s.outcome, s.code) for s in read_steps(b.work.journal, b.attempt, "r", plan)]

    assert money == [("failed", "EFFECT_UNKNOWN"), ("failed", "EFFECT_UNKNOWN")]  # both steps use the tool `make`
