"""A process killed while another plan is asked for, checked, repaired, adopted or begun: the next one goes on."""

from __future__ import annotations

import itertools
import os
import signal
from dataclasses import replace

import pytest

from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Settling
from tests.support import settled
from tests.support.settled import PERIOD, Place, ScriptedPlanner, StepLauncher, make, pay, plan_of

POINTS = [
    *(("proposed", n) for n in (1, 2, 3)), *(("checked", n) for n in (1, 2, 3)), *(("plan-adopted", n) for n in (1, 2)),
    *(("admitted", n) for n in (1, 2)), ("replanned", 1), ("stopped", 1), *(("step-done", n) for n in (1, 2, 3)),
    ("run-ended", 1),
]  # fmt: skip


def answer(request: PlanRequest, _: int) -> Plan:
    """A plan that fails; for what is left one that breaks a rule; and that one repaired."""
    if request.revising is None:
        return plan_of(make("a", 3), make("b", 2, after=["a"]), pay("b"))
    if request.repair is None:
        return plan_of(make("a", 3), make("c", 3, after=["nobody"]), pay("c"))
    return plan_of(make("a", 3), make("c", 3, after=["a"]), pay("c"))


def settled_until(place: Place, kind: str, nth: int) -> int:
    """How a process of its own ended, that is killed right after its nth event of the kind was written."""
    return ended(begun(place, kind, nth))


def ended(child: int) -> int:
    """The exit code of a process, or minus the number of its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def begun(place: Place, kind: str, nth: int) -> int:
    """A process of its own that settles the month."""
    child = os.fork()
    if child:
        return child
    met: list[str] = []

    def tell(told: str, _: str | None) -> None:
        met.extend([told] if told == kind else [])
        if len(met) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        settled._runs = itertools.count(1_000 * os.getpid())  # ids of runs are never used twice
        work = replace(place.work, journal=Journal(listeners=[tell]))
        report = settle(Settling(work, ScriptedPlanner(answer), StepLauncher(work)), PERIOD)
        os._exit(report.exit_code)
    finally:
        os._exit(99)


@pytest.mark.parametrize(("kind", "nth"), POINTS)
def test_a_killed_replan_goes_on(place: Place, kind: str, nth: int) -> None:
    """It ends succeeded; what is intact is not made again, money moves once, and the cap is not stretched."""
    assert settled_until(place, kind, nth) == -signal.SIGKILL
    planner = ScriptedPlanner(answer)
    reports = [place.settle(planner) for _ in range(2)]

    assert [report.status for report in reports] == ["succeeded", "succeeded"]
    assert place.sql("select count(*) from staging.paid_202603") == [(3,)]
    (attempt,) = place.work.journal.newest_attempts("toy")
    done = [e.step for e in place.kinds("called") if e.payload["outcome"] == "done"]
    assert done.count("pay") == 1
    assert done.count("a") == 1
    assert (attempt.revision, attempt.status) == (2, "settled")
    assert len(place.kinds("replanned")) <= 2


def test_processes_that_settle_a_month_at_once_all_end(place: Place) -> None:
    """One of them re-plans, the others stand back for it; then one more settles it, and makes nothing again."""
    children = [begun(place, "none", 1) for _ in range(4)]
    codes = [ended(child) for child in children]
    report = place.settle(ScriptedPlanner(answer))

    assert set(codes) <= {0, 7}
    assert 0 in codes
    assert report.status == "succeeded"
    assert {step.outcome for step in report.steps} == {"reused"}
