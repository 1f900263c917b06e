"""Planners that break their promise, and worlds that move while a plan is written: each ends as a report."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.attempts.budget import spent
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.model import Plan, Step, as_json
from dagster_planexec.planner.planner import Planner, Proposal, Usage
from dagster_planexec.planner.recorded_planner import RecordedPlanner
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Asking, Settling
from tests.support.bench import CopyArgs, RealClock, TableTool
from tests.support.scripted import Scripted
from tests.support.settled import PERIOD, TASK, Place, ScriptedPlanner, StepLauncher, copy, make, pay, plan_of


class Raw(Planner):
    """Returns or raises whatever it was given, promise or not."""

    name = "raw"
    revises = True

    def __init__(self, *answers: Any, calls_model: bool = True) -> None:
        self._answers = list(answers)
        self.calls_model = calls_model
        self.asked = 0

    def propose(self, request: PlanRequest) -> Proposal:
        """The next answer, the last one for ever."""
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if callable(answer):
            answer = answer(request, self.asked)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def proposal(plan: Any, **more: Any) -> Proposal:
    """A proposal with that."""
    return Proposal(plan, "raw", "a test", **{"model_called": False, **more})


GOOD = plan_of(make("a", 3), copy("b", "a"))
BAD = plan_of(make("a", 3), make("b", 2, after=["a"]))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(RuntimeError("boom " + "x" * 10_000), "RuntimeError: boom", id="raises"),
        pytest.param(RecursionError("deep"), "RecursionError", id="recursion"),
        pytest.param(MemoryError(), "MemoryError", id="memory"),
        pytest.param(PlanexecError("THROTTLED", "busy"), "busy", id="raises one of ours"),
        pytest.param(None, "no proposal", id="none"),
        pytest.param(GOOD, "no proposal", id="a plan alone"),
        pytest.param({"plan": GOOD}, "no proposal", id="a dict"),
        pytest.param(proposal({"steps": []}), "not a plan", id="a plan that is a dict"),
        pytest.param(proposal("x"), "not a plan", id="a plan that is a text"),
        pytest.param(
            proposal(Plan.model_construct(task="toy", period="2026-03", intent=5, expects=(), steps=("a",))),
            "not a plan", id="unvalidated",
        ),
        pytest.param(
            proposal(GOOD.model_copy(update={"steps": (Step.model_construct(id="a", tool="make", args=float("nan"),
                     depends_on=(), claims=(), rationale="", checkpoint=False),)})),
            "not a plan", id="unvalidated step",
        ),
        pytest.param(
            proposal(plan_of(*[make(f"s{n}", 3, rationale="r" * 2_000) for n in range(600)])), "bytes", id="1 MB",
        ),
        pytest.param(proposal(GOOD, code="UNAVAILABLE", message="half"), "half", id="a plan and a code"),
        pytest.param(proposal(None), "PLAN_REJECTED", id="neither"),
        pytest.param(proposal(None, code="NO_SUCH_CODE", message="m"), "NO_SUCH_CODE", id="a code of its own"),
        pytest.param(proposal(None, code=7, message=None), "", id="a code that is none"),
        pytest.param(proposal(GOOD, usage={"calls": 1}), "", id="usage that is none"),
        pytest.param(proposal(GOOD, usage=Usage("m", float("nan"), -5, 10**400, None)), "", id="odd usage"),
        pytest.param(proposal(GOOD, more={"x": object(), "planner": 5}), "", id="odd provenance"),
        pytest.param(proposal(GOOD, more={"x": "y" * 2_000_000}), "", id="long provenance"),
        pytest.param(proposal(GOOD, message="\ud800" * 10), "", id="half characters"),
        pytest.param(Proposal(GOOD, "\ud800" * 3, "\udfff", model_called=False), "", id="half characters in a name"),
        pytest.param(Proposal(GOOD, None, object(), model_called="yes"), "", id="names that are none"),
    ],
)  # fmt: skip
def test_whatever_a_planner_does_is_a_report(place: Place, answer: Any, said: str) -> None:
    """Nothing of a broken answer runs, and the next run asks again."""
    report = place.settle(Raw(answer, calls_model=False))

    assert report.status in {"error", "rejected", "succeeded"}
    assert said in f"{report.code} {report.text}"
    if said:
        assert report.status != "succeeded"
        assert place.calls == []
    assert len(report.text) < 2_000
    after = place.settle(Raw(proposal(GOOD)))
    assert after.status == "succeeded"


def test_a_planner_that_hangs_is_given_up(place: Place) -> None:
    """As a time-out of the planner, which costs the attempt a call."""
    gate = threading.Event()

    class Hangs(Raw):
        deadline_s = 0.3

    planner = Hangs(lambda *_: gate.wait(30))
    began = time.monotonic()
    report = place.settle(planner)
    gate.set()

    assert time.monotonic() - began < 5
    assert (report.status, report.code) == ("error", "TIMEOUT")
    attempt = place.work.journal.newest_attempt("toy", "2026-03")
    assert spent(place.work.journal, attempt.id).model_calls == 1


def test_a_code_beside_a_plan_does_not_keep_a_replan_from_counting(place: Place) -> None:
    """One that says that nobody answered, and hands over a plan that comes further each time, comes to an end."""

    def further(_: PlanRequest, n: int) -> Proposal:
        done = [make(f"a{i}", 3) for i in range(n)]
        plan = plan_of(*done, make("b", 2, after=[s["id"] for s in done]))
        return proposal(plan, code="UNAVAILABLE" if n > 1 else None)

    planner = Raw(further, calls_model=False)
    report = place.settle(planner)
    for _ in range(5):
        report = place.settle(planner)

    assert report.status in {"stopped", "error"}
    assert planner.asked < 15


def test_calls_that_a_planner_does_not_own_up_to_are_counted(place: Place) -> None:
    """Each time that a model may have been asked is a call at least; the budget ends them."""
    planner = Raw(RuntimeError("boom"))
    for _ in range(20):
        report = place.settle(planner)

    assert planner.asked == TASK.limits.max_model_calls
    assert report.code == "BUDGET_EXHAUSTED"


def test_five_thousand_steps_are_refused_quickly(place: Place) -> None:
    """Each finding named, nothing called."""
    plan = plan_of(*[make(f"s{n}", 3, after=[f"s{n - 1}"] if n else []) for n in range(5_000)])
    began = time.monotonic()
    report = place.settle(Raw(proposal(plan)))

    assert report.status == "rejected"
    assert "too-many-steps" in {f["code"] for f in report.findings}
    assert place.calls == []
    assert time.monotonic() - began < 30


TRICKY = [
    "a\u202eb",
    "\u0430",
    "a\u200b",
    "A",
    "a.b",
    "a/b",
    "..",
    "",
    "con",
    "a\x00",
    "é",
    "e\u0301",
    "a" * 200,
    "\ufeffa",
]


@pytest.mark.parametrize("name", TRICKY)
def test_a_tricky_id_runs_nothing_or_means_itself(place: Place, name: str) -> None:
    """Refused, or a step like any other."""
    plan = plan_of({**make("x", 3), "id": name}, {**copy("b", "x"), "depends_on": [name],
                   "args": {"target": "staging.b_202603", "source": {"ref": f"{name}.table"}}})  # fmt: skip
    report = place.settle(Raw(proposal(plan)))

    assert report.status in {"rejected", "succeeded"}
    assert place.calls == ([] if report.status == "rejected" else [name, "b"])


def test_money_is_not_moved_twice_by_a_revision(place: Place) -> None:
    """A surprise about what cannot be undone asks nobody for another plan, in this run and in the next."""
    paying = TableTool("pay", place.calls, args=CopyArgs, effect="irreversible", measures={"rows": "its rows"})
    place.work = replace(place.work, tools=ToolRegistry([*_without_pay(place), paying]))
    expects = [{"about": "step:pay", "measure": "rows", "op": "==", "value": 99}]

    def again(_: PlanRequest, n: int) -> Plan:
        args = {"target": f"staging.paid{n}_202603", "source": {"ref": "a.table"}}
        return plan_of(make("a", 3), pay("a", args=args), expects=expects)

    planner = ScriptedPlanner(again)
    reports = [place.settle(planner) for _ in range(3)]

    assert place.calls.count("pay") == 1
    assert len(planner.asked) == 1
    assert {(report.status, report.code) for report in reports} == {("stopped", "EXPECTATION_FAILED")}


def _without_pay(place: Place) -> list[Any]:
    return [place.work.tools[name] for name in place.work.tools if name != "pay"]


def test_a_file_that_comes_at_every_look_comes_to_an_end(place: Place) -> None:
    """The plan is always one behind; within the caps that is said."""

    def behind(request: PlanRequest, n: int) -> Plan:
        place.put(f"p/2026-03-{n}.csv")
        return plan_of(
            make("a", 3),
            make(f"b{n}", 3),
            make("c", 2, after=["a"]),
            expects=[{"about": "drop", "measure": "objects", "op": "==", "value": n}],
        )

    planner = ScriptedPlanner(behind)
    report = place.settle(planner)

    assert report.status in {"rejected", "stopped"}
    assert len(planner.asked) <= 2 * (1 + TASK.limits.max_replans)


def test_an_object_replaced_and_replaced_back_is_the_same_input(place: Place) -> None:
    """A - B - A between two admissions of one attempt is nothing new; between runs it is another attempt."""
    first = place.settle(Raw(proposal(GOOD)))
    place.put("p/2026-03.csv", b"other")
    second = place.settle(Raw(proposal(GOOD)))
    place.put("p/2026-03.csv")
    third = place.settle(Raw(proposal(GOOD)))

    assert [r.status for r in (first, second, third)] == ["succeeded"] * 3


@pytest.mark.parametrize("cap", [0, -1, -(10**9)])
def test_budgets_of_nought_and_less(place: Place, cap: int) -> None:
    """Nothing may be called, nothing be asked for twice; nothing raises."""
    limits = {"max_replans": cap, "max_model_calls": cap, "max_tokens": cap, "max_retries": cap}
    planner = Raw(proposal(BAD), calls_model=True)
    try:
        changed = replace(TASK.limits, **limits)
    except (PlanexecError, ValueError):
        return
    report = place.settle(planner, limits=changed)

    assert (report.code, planner.asked) == ("BUDGET_EXHAUSTED", 0)


def test_another_plan_is_not_asked_for_while_a_run_is_on(place: Place) -> None:
    """`--replan` stands back for the run that holds the month, which goes on as if nobody had come."""
    others: list[RunReport] = []

    def meanwhile(request: PlanRequest, n: int) -> Plan:
        if n == 2:
            others.append(place.settle(Raw(proposal(GOOD)), replan=True))
            return plan_of(make("a", 3), make("c", 3, after=["a"]))
        return BAD

    report = place.settle(ScriptedPlanner(meanwhile))

    assert [(other.status, other.code) for other in others] == [("stood-back", "LEASE_BUSY")]
    assert report.status == "succeeded"
    assert [attempt.id for attempt in place.work.journal.newest_attempts("toy")] == [report.attempt]


def test_a_replan_in_a_month_that_was_taken_over_ends(place: Place) -> None:
    """The older run asks for no more plans, and does not take the month back."""

    def meanwhile(request: PlanRequest, n: int) -> Plan:
        if n == 2:
            assert taken_over(place, Raw(proposal(GOOD))).status == "succeeded"
            return plan_of(make("a", 3), make("c", 3, after=["a"]))
        return BAD

    report = place.settle(ScriptedPlanner(meanwhile))

    assert (report.status, report.code) == ("stopped", "LEASE_LOST")
    assert "c" not in place.calls
    newest = place.work.journal.newest_attempt("toy", "2026-03")
    assert newest is not None
    assert newest.status == "settled"
    assert place.work.journal.fence is None


def taken_over(place: Place, planner: Planner) -> RunReport:
    """Another run that opens the month anew, because it is known that the first one's has ended."""
    work = replace(place.work, journal=Journal())
    try:
        asking = Asking(has_ended=lambda _: True)
        return settle(Settling(work, planner, StepLauncher(work), asking=asking), PERIOD, replan=True)
    finally:
        work.journal.close()


def test_two_processes_settle_a_month_while_one_replans(place: Place) -> None:
    """Both end; steps with an intact result are not made again by the second."""
    barrier = threading.Barrier(2, timeout=20)
    found: list[Any] = []

    def answer(request: PlanRequest, n: int) -> Plan:
        if n == 1:
            return BAD
        return plan_of(make("a", 3), make("c", 3, after=["a"]))

    def go() -> None:
        planner = ScriptedPlanner(answer)
        barrier.wait()
        try:
            found.append(settle(Settling(place.work, planner, StepLauncher(place.work)), PERIOD))
        except Exception as error:  # noqa: BLE001
            found.append(error)

    threads = [threading.Thread(target=go) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)

    assert len(found) == 2
    assert not [one for one in found if isinstance(one, Exception)], found
    assert place.settle(ScriptedPlanner(answer)).status == "succeeded"


def test_a_recording_that_cannot_be_read_is_a_report(place: Place) -> None:
    """A file that is there and refuses to be read."""
    report = place.settle(RecordedPlanner(Path("/proc/self/mem")))

    assert (report.status, report.code) == ("rejected", "PLAN_REJECTED")


def test_a_recorded_revision_that_matches_always_comes_to_an_end(place: Place, tmp_path: Path) -> None:
    """The second time it does what it did."""
    plan = as_json(BAD)
    other = as_json(plan_of(make("a", 3), make("c", 2, after=["a"])))
    file = tmp_path / "toy.json"
    file.write_text(json.dumps({"task": "toy", "contract_version": "", "author": "x", "answer": plan,
                                "revisions": [{"after": {}, "answer": other}]}))  # fmt: skip
    report = place.settle(RecordedPlanner(file))

    assert (report.status, report.code, report.cause) == ("stopped", "REPLAN_UNCHANGED", "ROWCOUNT_MISMATCH")


class Backwards(RealClock):
    """An hour earlier at every look."""

    def __init__(self) -> None:
        self._at = datetime(2026, 6, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Earlier than before."""
        self._at -= timedelta(hours=1)
        return self._at


def test_a_clock_that_runs_backwards_changes_no_order(place: Place) -> None:
    """What came later is known by its number, not by its hour."""
    place.work = replace(place.work, ports=replace(place.work.ports, clock=Backwards()))
    planner = ScriptedPlanner(lambda _, n: BAD if n == 1 else plan_of(make("a", 3), make("c", 3, after=["a"])))
    report = place.settle(planner)

    assert report.status == "succeeded"
    assert place.calls == ["a", "b", "c"]


POINTS = ["attempt-opened", "proposed", "checked", "plan-adopted", "admitted", "replanned", "run-ended", "step-started",
          "calling", "called", "step-done", "stopped"]  # fmt: skip


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("kind", POINTS)
def test_a_journal_that_cannot_be_written_any_more_is_a_report_and_the_next_run_goes_on(
    place: Place, kind: str, nth: int
) -> None:
    """Whichever event was its last; a later run goes on, and makes nothing twice that is remembered."""
    broken = threading.Event()
    met: list[str] = []

    def tell(told: str, _: str | None) -> None:
        met.extend([told] if told == kind else [])
        if len(met) >= nth:
            broken.set()

    old, place.work = place.work, replace(place.work, journal=Journal(listeners=[tell]))
    journal = place.work.journal

    @sa.event.listens_for(journal.engine, "begin")
    def _refuse(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA query_only={'ON' if broken.is_set() else 'OFF'}")

    planner = ScriptedPlanner(lambda _, n: BAD if n == 1 else plan_of(make("a", 3), make("c", 3, after=["a"])))
    report = place.settle(planner)
    was_broken = broken.is_set()
    journal.close()
    place.work = old

    assert (report.status, report.code) == (("error", "HOME_UNWRITABLE") if was_broken else ("succeeded", None))
    again = place.settle(planner)
    assert again.status == "succeeded"
    assert place.calls.count("a") <= 2
    assert place.settle(planner).status == "succeeded"
    assert len(planner.asked) <= 4


def test_checkpoints_without_an_end_come_to_one(place: Place) -> None:
    """Each plan looks once more; when no more may follow, one that does not finish is refused."""

    def looks(_: PlanRequest, n: int) -> Plan:
        return plan_of(*[make(f"a{i}", 3, **({"checkpoint": True} if i == n - 1 else {})) for i in range(n)])

    planner = ScriptedPlanner(looks)
    report = place.settle(planner, checkpoints=True)

    assert (report.status, report.code) == ("stopped", "PLAN_REJECTED")
    assert "checkpoint-misplaced" in {finding["code"] for finding in report.findings}
    assert len(planner.asked) <= 2 + TASK.limits.max_replans
    for _ in range(3):
        assert place.settle(planner).status == "stopped"
    assert len(planner.asked) <= 4 + 2 * TASK.limits.max_replans


@pytest.mark.parametrize("said", [OSError("gone"), ValueError("x" * 100_000)], ids=["OSError", "long"])
def test_a_planner_that_breaks_at_a_replan_leaves_the_cause(place: Place, said: Exception) -> None:
    """The run that stopped is shown, and why nothing followed."""
    report = place.settle(Raw(proposal(BAD), said, calls_model=False))

    assert (report.status, report.code, report.cause) == ("stopped", "INTERNAL", "ROWCOUNT_MISMATCH")
    assert len(report.text) < 2_000
    assert [step.id for step in report.steps if step.outcome == "failed"] == ["b"]


def test_a_repair_that_breaks_leaves_the_findings(place: Place) -> None:
    """Of the plan that was refused."""
    refused = plan_of(make("a", 3, after=["nobody"]))
    report = place.settle(Raw(proposal(refused), RuntimeError("boom"), calls_model=False))

    assert (report.status, report.code) == ("rejected", "PLAN_REJECTED")
    assert report.findings


def test_a_run_whose_month_was_taken_over_moves_no_money(place: Place) -> None:
    """What is left of the older run does not pay, whatever its plan says."""
    paying = TableTool("pay", place.calls, args=CopyArgs, effect="irreversible")

    def meanwhile(args: Any, call: Any) -> None:
        assert taken_over(place, Raw(proposal(plan_of(make("b", 3))))).status == "succeeded"

    first = Scripted("make", place.calls, [meanwhile])
    place.work = replace(place.work, tools=ToolRegistry([first, paying]), task=replace(TASK, tools=("make", "pay")))
    report = place.settle(Raw(proposal(plan_of(make("a", 3), pay("a")))))

    assert (report.status, report.code) == ("stopped", "LEASE_LOST")
    assert "pay" not in place.calls
    newest = place.work.journal.newest_attempt("toy", "2026-03")
    assert newest is not None
    assert newest.status == "settled"


def test_a_run_whose_month_was_taken_over_asks_for_no_more_plans(place: Place) -> None:
    """Its step cannot say that a check failed, and the planner is left in peace."""

    def meanwhile(args: Any, call: Any) -> None:
        assert taken_over(place, Raw(proposal(plan_of(make("x", 3))))).status == "succeeded"

    first = Scripted("make", place.calls, [meanwhile], post=("has_three_rows",))
    place.work = replace(place.work, tools=ToolRegistry([first]), task=replace(TASK, tools=("make",)))
    planner = Raw(proposal(BAD))
    report = place.settle(planner)

    assert (report.status, report.code) == ("stopped", "LEASE_LOST")
    assert planner.asked == 1
    assert place.kinds("run-ended")[-1].payload["status"] == "settled"
