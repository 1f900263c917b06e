"""Whatever the plan and in whatever order its steps come up: nothing before what it needs, nothing after a stop."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.journal.run_report import read_steps
from dagster_planexec.plan.model import Plan
from tests.support.bench import BenchMaker, CopyArgs

TOOLS: dict[str, dict[str, Any]] = {
    "make": {"post": ("has_three_rows",)},
    "copy": {"args": CopyArgs, "post": ("has_three_rows",)},
    "fails": {"fails": Failed("INTERNAL", "it broke")},
    "unjudged": {"post": ("raises",)},
}
SOUND = {"make", "copy"}
_run = itertools.count()


@dataclass(frozen=True)
class Drawn:
    """A plan, and the order in which its steps come up. Dagster's own order is one of many that a harness may meet."""

    plan: Plan
    order: tuple[str, ...]


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Up to six steps; each needs some of those before it; some fail, and some cannot be judged."""
    steps: list[dict[str, Any]] = []
    for n in range(draw(st.integers(1, 6))):
        before = [step["id"] for step in steps]
        needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
        tool = draw(st.sampled_from(["make", "make", "copy", "make", "fails", "unjudged", "wrong"]))
        args: dict[str, Any] = {"target": f"staging.t{n}", "rows": 3}
        if tool == "copy" and needs:
            args = {"source": {"ref": f"{needs[0]}.table"}, "target": f"staging.t{n}"}
        elif tool == "copy":
            tool = "make"
        elif tool == "wrong":
            tool, args = "make", {**args, "rows": 5}
        steps.append({"id": f"s{n}", "tool": tool, "args": args, "depends_on": needs})
    plan = Plan.model_validate({"task": "toy", "period": "2026-03", "steps": steps}, strict=False)
    return Drawn(plan, tuple(draw(st.permutations([step["id"] for step in steps]))))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn())
def test_no_call_before_what_it_needs_and_none_after_a_stop(bench: BenchMaker, case: Drawn) -> None:
    """Every step is called at most once, behind everything it needs, before anything failed; all have an end."""
    b = bench(**TOOLS)
    run = b.run(case.plan, f"run-{next(_run)}")
    done: set[str] = set()
    stopped = False
    for step_id in case.order:
        step, called = case.plan.step(step_id), len(b.calls)

        report = run_step(run, step_id)

        if len(b.calls) > called:
            assert b.calls[called:] == [step_id]
            assert not stopped
            assert set(step.depends_on) <= done
        assert (report.state == "not-run") == (stopped or not set(step.depends_on) <= done)
        if report.state == "done":
            assert step.tool in SOUND
            done.add(step_id)
        stopped = stopped or report.state == "failed"
    ends = read_steps(b.work.journal, b.attempt, run.run_id, case.plan)
    assert {end.id for end in ends if end.outcome == "done"} == done
    assert {end.outcome for end in ends} <= {"done", "failed", "not-run"}
