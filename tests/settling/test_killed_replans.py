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
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    met: list[str] = []

    def tell(told: str, _: str | None) -> None:
        met.extend([told] if told == kind else [])
        if len(met) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        settled._runs = itertools.count(1_000)  # ids of runs are never used twice
        work = replace(place.work, journal=Journal(listeners=[tell]))
        settle(Settling(work, ScriptedPlanner(answer), StepLauncher(work)), PERIOD)
    finally:
        os._exit(0)


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
