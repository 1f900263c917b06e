"""One run at a time settles a month: others stand back and say for whom; who slept through its lease does nothing."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.execute.step.call import GRACE_S
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.money.lease.leases import Lease, held_now, standing, take
from dagster_planexec.journal.run_report import RunReport, load_report, newest_report
from dagster_planexec.settle import prepare, settle
from dagster_planexec.settling.holding import lasts_s
from dagster_planexec.settling.parts import Asking, Settling
from tests.support import settled
from tests.support.bench import TableTool
from tests.support.leases import awaited, someone
from tests.support.scripted import Scripted
from tests.support.settled import PERIOD, Place, ScriptedPlanner, StepLauncher, copy, make, pay, plan_of

GOOD = plan_of(make("a", 3), copy("b", "a"), pay("b"))
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be stopped there")


def planner() -> ScriptedPlanner:
    """Writes the good plan."""
    return ScriptedPlanner(lambda request, n: GOOD)


def settling(place: Place, run_id: str, *, by: str = "a person", lasts: int | None = None) -> Settling:
    """A run of the month with a journal of its own."""
    work = replace(place.work, journal=Journal())
    return Settling(work, planner(), StepLauncher(work), run_id, asking=Asking(by, lasts_s=lasts))


def test_a_run_that_comes_while_the_month_is_held_does_nothing(place: Place) -> None:
    """It asks no planner, looks at nothing, and says who holds the month, since when, and what to do."""
    others: list[tuple[RunReport, int]] = []

    def meanwhile(args: Any, call: Any) -> None:
        second = settling(place, "run-2", by="the sensor s")
        others.append((settle(second, PERIOD), len(second.planner.asked)))  # type: ignore[attr-defined]
        second.work.journal.close()

    first = Scripted("make", place.calls, [meanwhile])
    place.work = replace(place.work, tools=ToolRegistry([first, *(place.work.tools[name] for name in ("copy", "pay"))]))
    asking = Asking("the schedule m")
    report = settle(Settling(place.work, planner(), StepLauncher(place.work), "run-1", asking=asking), PERIOD)
    (other, asked) = others[0]

    assert report.status == "succeeded"
    assert (other.status, other.code, other.exit_code, asked) == ("stood-back", "LEASE_BUSY", 7, 0)
    assert other.text.startswith("run run-1 (started by the schedule m; host ")
    assert "has held 2026-03 since" in other.text
    assert "`planexec status toy`" in (other.hint or "")
    assert (other.attempt, other.steps, other.plan) == (None, (), None)
    assert len(place.work.journal.newest_attempts("toy")) == 1
    assert [len(place.kinds(kind)) for kind in ("proposed", "run-ended", "run-begun")] == [1, 1, 1]


def test_what_stood_back_is_kept_under_its_run_and_is_no_news_of_the_month(place: Place) -> None:
    """`show` of the run has it; the month is what the other run makes of it."""
    place.settle(planner())
    held = settled_while_held(place, lambda: settle(settling(place, "run-2"), PERIOD))
    kept = load_report(place.work.journal, "run-2")

    assert held.status == "stood-back"
    assert kept is not None
    assert (kept["status"], kept["code"]) == ("stood-back", "LEASE_BUSY")
    assert newest_report(place.work.journal, "toy", "2026-03") is None  # `place` has no task runs
    assert place.work.journal.newest_attempt("toy", "2026-03").status == "settled"  # type: ignore[union-attr]


def settled_while_held(place: Place, act: Callable[[], Any]) -> Any:
    """What comes of an act while another process of another machine holds the month."""
    lease = take(place.work.journal, task="toy", period="2026-03", holder=someone(), lasts_s=600)
    assert isinstance(lease, Lease)
    try:
        return act()
    finally:
        lease.release()


def test_a_plan_that_is_only_looked_at_holds_the_month_for_its_moment(place: Place) -> None:
    """It opens an attempt, as a run does; while one is on it stands back, and afterwards nothing is held."""
    held: list[dict[str, Any]] = []

    def looking(request: Any, n: int) -> Any:
        held.append(dict(held_now(place.work.journal, "toy")))
        return GOOD

    asking = Asking("the command planexec plan")
    looks = Settling(place.work, ScriptedPlanner(looking), StepLauncher(place.work), asking=asking)
    prepared = prepare(looks, PERIOD)
    back = settled_while_held(place, lambda: prepare(looks, PERIOD))

    assert prepared.may_run
    assert held[0]["2026-03"].words.startswith("a process (started by the command planexec plan; host ")
    assert (back.may_run, back.report.status, back.report.code) == (False, "stood-back", "LEASE_BUSY")
    assert held_now(place.work.journal, "toy") == {}


@pytest.mark.parametrize("end", ["succeeded", "planner raises", "launcher raises", "interrupted"])
def test_the_month_is_given_back_however_a_run_ends(place: Place, end: str) -> None:
    """And the journal is nobody's afterwards."""

    class Ends(StepLauncher):
        def launch(self, **given: Any) -> str:
            if end == "launcher raises":
                raise RuntimeError("boom")
            if end == "interrupted":
                raise KeyboardInterrupt
            return super().launch(**given)

    def answer(request: Any, n: int) -> Any:
        if end == "planner raises":
            raise RuntimeError("boom")
        return GOOD

    try:
        settle(Settling(place.work, ScriptedPlanner(answer), Ends(place.work)), PERIOD)
    except (RuntimeError, KeyboardInterrupt):
        assert end in {"launcher raises", "interrupted"}
    found = standing(place.work.journal, "toy", "2026-03")

    assert found is not None
    assert not found.is_held
    assert place.work.journal.fence is None


def test_a_lease_lasts_longer_than_any_call_may_take(place: Place) -> None:
    """Whatever the tools' deadlines are: their own, the time until one is given up, and more."""
    for deadline in (1.0, 300.0, 86_400.5):
        slow = TableTool("make", [], deadline_s=deadline)
        tools = ToolRegistry([slow, *(place.work.tools[name] for name in ("copy", "pay"))])
        longest = max(tools[name].contract.deadline_s for name in tools)
        assert lasts_s(replace(place.work, tools=tools)) > longest + GRACE_S


def _in_a_process(place: Place, tell: Callable[[str, str | None], None], out: Path, lasts: int) -> int:
    """A process of its own that settles the month and writes down how that ended and what it called."""
    child = os.fork()
    if child:
        return child
    try:
        settled._runs = itertools.count(1_000 * os.getpid())  # ids of runs are never used twice
        work = replace(place.work, journal=Journal(listeners=[tell]))
        asked = Settling(work, planner(), StepLauncher(work), "run-old", asking=Asking("a person", lasts_s=lasts))
        report = settle(asked, PERIOD)
        steps = [(step.id, step.outcome, step.code) for step in report.steps]
        said = {"status": report.status, "code": report.code, "text": report.text, "hint": report.hint}
        out.write_text(json.dumps({**said, "steps": steps, "calls": place.calls}))
        os._exit(0)
    finally:
        os._exit(99)


@POSIX
@pytest.mark.parametrize(
    ("stops_at", "calls"),
    [
        pytest.param(("proposed", None), [], id="before anything is run"),
        pytest.param(("judged", "a"), [], id="before a call"),
        pytest.param(("judged", "pay"), ["a", "b"], id="before the call that cannot be undone"),
        pytest.param(("calling", "b"), ["a", "b"], id="in a call"),
        pytest.param(("step-done", "b"), ["a", "b"], id="between two steps"),
    ],
)
def test_a_run_that_slept_through_its_lease_does_nothing_more(
    place: Place, tmp_path: Path, stops_at: tuple[str, str | None], calls: list[str]
) -> None:
    """Stopped, taken over, and let go on: what it writes is refused, it calls nothing, and it says why."""
    out = tmp_path / "said.json"
    met: list[str] = []

    def tell(kind: str, step: str | None) -> None:
        if (kind, step) == stops_at and not met:
            met.append(kind)
            os.kill(os.getpid(), signal.SIGSTOP)

    child = _in_a_process(place, tell, out, lasts=1)
    try:
        _, status = os.waitpid(child, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        awaited(lambda: standing(place.work.journal, "toy", "2026-03").is_stale)  # type: ignore[union-attr]
        report = settle(settling(place, "run-new", by="the schedule m"), PERIOD)
        journal = place.work.journal
        attempt: Attempt = journal.newest_attempt("toy", "2026-03")  # type: ignore[assignment]
        before = [(e.seq, e.kind) for e in journal.events(attempt.id)]
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
    finally:
        if not out.exists():
            os.kill(child, signal.SIGKILL)
    said = json.loads(out.read_text())

    assert os.waitstatus_to_exitcode(status) == 0
    assert report.status == "succeeded"
    assert (said["status"], said["code"]) == ("stopped", "LEASE_LOST")
    for words in ("2026-03", "run run-new", "the schedule m", "took it over at"):
        assert words in said["text"]
    assert said["calls"] == calls
    assert [(e.seq, e.kind) for e in journal.events(attempt.id)] == before
    assert journal.attempt(attempt.id).status == "settled"
    assert [e.step for e in place.kinds("called") if e.payload["outcome"] == "done"].count("pay") == 1
    assert place.sql("select count(*) from staging.paid_202603") == [(3,)]
    assert load_report(journal, "run-old")["code"] == "LEASE_LOST"  # type: ignore[index]
    assert newest_report(journal, "toy", "2026-03")["task_run_id"] == "run-new"  # type: ignore[index]


@POSIX
def test_what_a_killed_run_left_open_gets_an_end(place: Place, tmp_path: Path) -> None:
    """The next run holds the month at once, and first of all says how far the other had come."""

    def tell(kind: str, step: str | None) -> None:
        if (kind, step) == ("calling", "b"):
            os.kill(os.getpid(), signal.SIGKILL)

    child = _in_a_process(place, tell, tmp_path / "said.json", lasts=600)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    begun = place.kinds("step-started")[0].run_id
    report = place.settle(planner())
    ends = {e.step: e.payload for e in place.kinds("step-ended") if e.run_id == begun}

    assert report.status == "succeeded"
    assert {step: (said["state"], said["code"]) for step, said in ends.items()} == {
        "a": ("done", None), "b": ("failed", "INTERNAL"), "pay": ("not-run", None),
    }  # fmt: skip
    assert "its call was begun" in ends["b"]["reason"]
