"""What follows a failure, carried out: each strategy on real tables, with its traces in the journal."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.tool import Model, TableName
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.step.facing import jitter_of
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.journal.attempts.budget import left_of, spent
from dagster_planexec.journal.attempts.waits import waiting
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.run_report import close_steps, read_steps
from dagster_planexec.plan.model import Plan
from dagster_planexec.recovery.decide import weigh
from dagster_planexec.recovery.decision import Hold, Proceed, Replan, Retry, RetryAfter, Skip, Stop, situation_from
from dagster_planexec.world.ports import ObjectFacts, ObjectStore
from tests.support.bench import BenchMaker, CopyArgs, TableResult, TableTool
from tests.support.meddler import Meddler
from tests.support.scripted import Scripted, decided, with_tools


def plan_of(*steps: dict[str, Any]) -> Plan:
    """A plan with these steps."""
    return Plan.model_validate({"task": "toy", "period": "2026-03", "steps": steps}, strict=False)


def step(step_id: str, tool: str, *needs: str, **args: Any) -> dict[str, Any]:
    """A step that makes a table of three rows, unless it says otherwise."""
    table = {"target": f"staging.{step_id}", "rows": 3}
    return {"id": step_id, "tool": tool, "args": table | args, "depends_on": list(needs)}


BUSY = Failed("UNAVAILABLE", "503")


# -- retry -----------------------------------------------------------------------------------------------------------


def test_a_pause_is_made_of_run_step_and_try_and_of_nothing_else(bench: BenchMaker) -> None:
    """Replayed, the same decision waits the same time; another run waits another."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY, BUSY]))
    first, second = (b.go(plan_of(step("a", "make")), "run-1")[0].decision for _ in range(2))

    assert isinstance(first, Retry)
    assert isinstance(second, Retry)
    assert first.after_s == 0.5 * (1 - jitter_of("run-1", "a", 1) / 2)
    assert second.after_s == 1.0 * (1 - jitter_of("run-1", "a", 2) / 2)
    assert len({jitter_of(run, "a", 1) for run in ("run-1", "run-2", "run-3")}) == 3


def test_a_decision_is_journalled_with_all_that_went_into_it(bench: BenchMaker) -> None:
    """The menu, what was taken off it and by which rule, and the situation, from which it can be made again."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY]))
    (report,) = b.go(plan_of(step("a", "make")))
    (event,) = decided(b)

    assert event.payload["decision"] == event.payload["strategy"] == "retry"
    assert event.payload["rule"] == "retry_what_is_transient"
    assert event.payload["viable"] == ["retry", "stop"]
    assert event.payload["removed"] == {
        "retry-after": "waiting_needs_a_stated_time",
        "use-fallback": "a_fallback_is_used_once",
        "skip": "only_what_nothing_needs_is_skipped",
    }
    assert (event.payload["tool"], event.payload["claim"]) == ("make", None)
    assert weigh(situation_from(dict(event.payload["situation"]))).decision == report.decision


def test_all_runs_of_an_attempt_share_one_number_of_retries(bench: BenchMaker) -> None:
    """Another run, as of Dagster's own retries, begins where the last one ended."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY] * 50, max_tries=3),
                   task=replace(b.work.task, limits=replace(b.work.task.limits, max_retries=3)))  # fmt: skip
    plan = plan_of(step("a", "make"))
    kinds = [type(b.go(plan, run)[0].decision).__name__ for run in ("r1", "r1", "r1", "r2", "r2", "r3")]

    assert kinds == ["Retry", "Retry", "Stop", "Retry", "Stop", "Stop"]
    assert spent(b.work.journal, b.attempt).retries == 3
    assert left_of(b.work.journal, b.attempt, b.work.task.limits).retries == 0
    assert decided(b)[-1].payload["removed"]["retry"] == "the_retries_of_an_attempt_end"


# -- retry-after -----------------------------------------------------------------------------------------------------


def test_a_short_stated_delay_is_waited_for_in_the_run(bench: BenchMaker) -> None:
    """As a retry with that pause, whatever backoff would have said."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [PortError("THROTTLED", "slow down", retry_after_s=7)]))
    (report,) = b.go(plan_of(step("a", "make")))

    assert isinstance(report.decision, Retry)
    assert report.decision.after_s == 7
    assert decided(b)[0].payload["strategy"] == "retry-after"


def test_a_long_stated_delay_ends_the_run_and_says_until_when(bench: BenchMaker) -> None:
    """Nothing has failed, what does not need the step goes on, and the next run does the rest."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [Failed("UNAVAILABLE", "down", retry_after_s=7200)]),
                   TableTool("copy", b.calls, args=CopyArgs))  # fmt: skip
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    plan = plan_of(step("a", "make"), copy, step("aside", "make"))
    before = datetime.now(UTC)
    waits, needs, aside = b.go(plan, "r1")
    close_steps(b.work.journal, b.attempt, "r1", plan)
    b.work.journal.close_run(b.attempt, "r1", "waiting", "UNAVAILABLE")
    (wait,) = waiting(b.work.journal, "toy")

    assert isinstance(waits.decision, RetryAfter)
    assert (waits.state, needs.state, aside.state) == ("waiting", "not-run", "done")
    assert "it waits until 20" in waits.reason
    assert timedelta(seconds=7199) < wait.until - before < timedelta(seconds=7260)
    assert (wait.period, wait.step, wait.code) == ("2026-03", "a", "UNAVAILABLE")
    assert [r.state for r in b.go(plan, "r2")] == ["done", "done", "reused"]
    assert spent(b.work.journal, b.attempt).retries == 1


def test_waiting_is_bounded_by_the_attempts_retries(bench: BenchMaker) -> None:
    """A service that asks for an hour for ever is given as many hours as there are retries."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [Failed("UNAVAILABLE", "down", retry_after_s=3600)] * 9),
                   task=replace(b.work.task, limits=replace(b.work.task.limits, max_retries=2)))  # fmt: skip
    states = [b.go(plan_of(step("a", "make")), f"r{n}")[0].state for n in range(3)]

    assert states == ["waiting", "waiting", "failed"]


def test_a_look_that_is_asked_for_time_waits_too(bench: BenchMaker) -> None:
    """The delay comes through the probe and its verdict, also where no call was made."""
    b = bench()
    slow = ScriptedStore([PortError("THROTTLED", "slow down", retry_after_s=90)])
    tool = Scripted("get", b.calls, pre=("asks_the_store",))
    b = with_tools(b, tool, ports=replace(b.work.ports, objects=slow),
                   checks={**b.work.checks, "asks_the_store": asks_the_store})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "get")))

    assert isinstance(report.decision, RetryAfter)
    assert report.decision.after_s == 90
    assert b.calls == []


# -- refresh-credentials ---------------------------------------------------------------------------------------------


class ScriptedStore(ObjectStore):
    """A store whose HEAD answers as it is told, and that counts how often its credentials were read anew."""

    def __init__(self, answers: list[Exception | None], *, refreshes: bool = True, broken: bool = False) -> None:
        self._answers = answers
        self._refreshes = refreshes
        self._broken = broken
        self.refreshed = 0

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """The next answer."""
        answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, Exception):
            raise answer
        return ObjectFacts(bucket, key, 1, "e", datetime.now(UTC))

    def list(self, bucket: str, prefix: str) -> Any:
        """Nothing."""
        return iter(())

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> Any:
        """Not asked here."""
        raise AssertionError

    @property
    def can_refresh(self) -> bool:
        """As it was made."""
        return self._refreshes

    def refresh_credentials(self) -> None:
        """Counted."""
        self.refreshed += 1
        if self._broken:
            raise PlanexecError("BAD_CONTRACT", "the variable is not set")


def asks_the_store(scope, phase):
    """A check that needs the store."""
    from dagster_planexec.checks.check import Check, Stated, equal
    from dagster_planexec.world.probes.delivery.objects import HeadObject

    return (Check("asks_the_store", phase, HeadObject("b", "k"), Stated(1, scope.stated_by_contract("one")),
                  lambda seen, _: equal("OBJECT_CHANGED", 1, seen["size"], what="bytes")),)  # fmt: skip


REFUSED = PortError("AUTH_FAILED", "the token has expired")


@pytest.mark.parametrize(
    ("answers", "states", "refreshed", "calls"),
    [([REFUSED, None], "done", 1, ["a by get"]), ([REFUSED, REFUSED], "failed", 1, [])],
    ids=["helps", "does not help"],
)
def test_refused_credentials_are_read_anew_once(bench: BenchMaker, answers, states, refreshed, calls) -> None:
    """Then the same try again, in the same go; a second refusal stops."""
    b = bench()
    store = ScriptedStore(answers)
    b = with_tools(b, Scripted("get", b.calls, pre=("asks_the_store",)), ports=replace(b.work.ports, objects=store),
                   checks={**b.work.checks, "asks_the_store": asks_the_store})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "get")))

    assert (report.state, store.refreshed, b.calls) == (states, refreshed, calls)
    assert decided(b)[0].payload["decision"] == "refresh-credentials"
    assert b.work.journal.events(b.attempt, kinds=["credentials-refreshed"])[0].payload["ok"] is True


def test_credentials_that_cannot_be_read_anew_stop_with_the_old_code(bench: BenchMaker) -> None:
    """Why it could not be done is journalled; the step's code is still what it met."""
    b = bench()
    store = ScriptedStore([REFUSED, REFUSED], broken=True)
    b = with_tools(b, Scripted("get", b.calls, pre=("asks_the_store",)), ports=replace(b.work.ports, objects=store),
                   checks={**b.work.checks, "asks_the_store": asks_the_store})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "get")))
    (said,) = b.work.journal.events(b.attempt, kinds=["credentials-refreshed"])

    assert (report.state, report.code) == ("failed", "AUTH_FAILED")
    assert said.payload == {"ok": False, "message": "BAD_CONTRACT: the variable is not set"}


def test_a_store_that_cannot_refresh_is_not_asked_to(bench: BenchMaker) -> None:
    """It stops at once."""
    b = bench()
    store = ScriptedStore([REFUSED], refreshes=False)
    b = with_tools(b, Scripted("get", b.calls, pre=("asks_the_store",)), ports=replace(b.work.ports, objects=store),
                   checks={**b.work.checks, "asks_the_store": asks_the_store})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "get")))

    assert (report.state, report.tries, store.refreshed) == ("failed", 1, 0)


# -- retry-corrected -------------------------------------------------------------------------------------------------


class LooseResult(Model):
    """A table, written with blanks around it."""

    table: TableName


class Loose(Scripted):
    """Reports its table with blanks around the name, as a service may."""

    def call(self, args: Any, call: Any) -> Any:
        """Make the table; say its name loosely."""
        outcome = super().call(args, call)
        return Done(LooseResult(table=f" {args.target}\n")) if isinstance(outcome, Done) else outcome

    def seal(self, args: Any, result: Any, call: Any) -> Any:
        """By its real name."""
        return super().seal(args, TableResult(table=args.target), call)


class StrictArgs(CopyArgs):
    """Takes no null."""

    label: str = "none"


def refuse_blanks(args: Any, call: Any) -> Any:
    """As a warehouse refuses a name with blanks."""
    return Failed("VALIDATION_ERROR", f"{args.source!r} is no table") if args.source != args.source.strip() else None


@pytest.mark.parametrize("more", [{}, {"label": None}], ids=["blanks", "blanks and null"])
def test_an_argument_that_only_needs_respelling_is_corrected_once(bench: BenchMaker, more) -> None:
    """What came in by a reference with blanks around it is a table's name without them; the plan is not touched."""
    b = bench()
    b = with_tools(b, Loose("make", b.calls), Scripted("copy", b.calls, [refuse_blanks] * 5, args=StrictArgs))
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b", **more}}
    made, copied = b.go(plan_of(step("a", "make"), copy))

    assert (made.state, copied.state, copied.code) == ("done", "done", None)
    assert [e.payload["decision"] for e in decided(b, "b")] == ["retry-corrected", "proceed"]
    assert b.work.journal.events(b.attempt, kinds=["calling"], step="b")[-1].payload["args"]["source"] == "staging.a"
    assert b.sql("select count(*) from staging.b") == [(3,)]


@pytest.mark.parametrize(
    ("effect", "acts", "codes"),
    [
        ("write", [Failed("VALIDATION_ERROR", "no")] * 5, ["VALIDATION_ERROR"]),
        ("irreversible", [Failed("VALIDATION_ERROR", "no")] * 5, ["VALIDATION_ERROR"]),
    ],
    ids=["still refused", "money"],
)
def test_what_no_respelling_helps_stops(bench: BenchMaker, effect, acts, codes) -> None:
    """One correction at most, and none of what cannot be undone."""
    b = bench()
    b = with_tools(b, Loose("make", b.calls), Scripted("copy", b.calls, acts, args=StrictArgs, effect=effect))
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    _, copied = b.go(plan_of(step("a", "make"), copy))

    assert (copied.state, copied.code) == ("failed", "VALIDATION_ERROR")
    assert b.calls.count("b by copy") == (2 if effect == "write" else 1)


# -- use-fallback ----------------------------------------------------------------------------------------------------


class NarrowArgs(Model):
    """Takes no rows."""

    target: TableName


def test_the_named_fallback_makes_the_same_call_and_is_judged_as_the_step(bench: BenchMaker) -> None:
    """When the tries are used up: same arguments, the step's own postconditions, and the journal says who called."""
    b = bench()
    b = with_tools(
        b, Scripted("make", b.calls, [BUSY] * 9, max_tries=2, fallback="other", post=("has_three_rows",)),
        Scripted("other", b.calls), TableTool("copy", b.calls, args=CopyArgs),
    )  # fmt: skip
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    plan = plan_of(step("a", "make"), copy)
    first, second = b.go(plan)[0], b.go(plan)
    calling = [e.payload for e in b.work.journal.events(b.attempt, kinds=["calling"], step="a")]

    assert isinstance(first.decision, Retry)
    assert [r.state for r in second] == ["done", "done"]
    assert b.calls == ["a by make", "a by make", "a by other", "b"]
    assert calling[-1] == {"tool": "other", "instead_of": "make", "args": {"target": "staging.a", "rows": 3}}
    assert [v.check for v in second[0].verdicts] == ["has_three_rows"]
    assert second[0].tool == "make"
    assert [r.state for r in b.go(plan, "again")] == ["reused", "reused"]


@pytest.mark.parametrize(
    ("fallback", "code", "calls"),
    [
        ({"acts": [Failed("UNAVAILABLE", "too")] * 9}, "UNAVAILABLE", 2),
        ({"acts": [Failed("FORBIDDEN", "no")]}, "FORBIDDEN", 2),
        ({"args": NarrowArgs}, "VALIDATION_ERROR", 1),
        ({"pre": ("raises",)}, "INTERNAL", 1),
    ],
    ids=["fails alike", "fails otherwise", "takes other arguments", "has a precondition that is shut"],
)
def test_a_fallback_has_one_go(bench: BenchMaker, fallback, code, calls) -> None:
    """Whatever comes of it, there is no third who is asked."""
    b = bench()
    given = {"calls": b.calls, **fallback}
    b = with_tools(b, Scripted("make", b.calls, [BUSY] * 9, max_tries=1, fallback="other"),
                   Scripted("other", given.pop("calls"), **given))  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code, len(b.calls)) == ("failed", code, calls)
    assert [e.payload["decision"] for e in decided(b)] == ["use-fallback", "stop"]


def test_a_fallback_whose_result_is_wrong_is_not_believed(bench: BenchMaker) -> None:
    """The step's own checks judge it."""
    b = bench()

    def two_rows(args: Any, call: Any) -> Any:
        with call.ports.warehouse.session() as session:
            session.execute(f"create or replace table {args.target} as select 1 as i union all select 2")
        return Done(TableResult(table=args.target))

    b = with_tools(b, Scripted("make", b.calls, [BUSY], max_tries=1, fallback="other", post=("has_three_rows",)),
                   Scripted("other", b.calls, [two_rows]))  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "ROWCOUNT_MISMATCH")


def test_a_fallback_that_the_task_does_not_allow_is_not_used(bench: BenchMaker) -> None:
    """A contract may name what this task has not got."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY], max_tries=1, fallback="elsewhere"))
    (report,) = b.go(plan_of(step("a", "make")))

    assert isinstance(report.decision, Stop)
    assert decided(b)[0].payload["removed"]["use-fallback"] == "a_fallback_is_used_once"


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


def test_a_write_that_timed_out_is_not_left_out(bench: BenchMaker) -> None:
    """Its table may be there, unjudged."""
    b = bench()
    task = with_tools(b, Scripted("make", b.calls)).work.task
    b = with_tools(b, Scripted("make", b.calls), Scripted("extra", b.calls, [Failed("TIMEOUT", "late")], max_tries=1),
                   task=task)  # fmt: skip
    (report,) = b.go(plan_of(step("a", "extra")))

    assert (report.state, report.code) == ("failed", "TIMEOUT")


# -- ask, replan -----------------------------------------------------------------------------------------------------


def test_an_irreversible_step_that_is_stopped_before_its_call_is_held_only_for_what_a_person_can_settle(
    bench: BenchMaker,
) -> None:
    """A cap is; a missing table is not."""
    b = bench()
    from dagster_planexec.contract.outcome import Held

    b = with_tools(b, Scripted("pay", b.calls, [lambda *_: Held("CAP_EXCEEDED", "too much", {"amount": 5})],
                               effect="irreversible"))  # fmt: skip
    (held,) = b.go(plan_of(step("a", "pay")))
    (stopped,) = b.go(plan_of(step("b", "pay", rows="many")), "r2")

    assert isinstance(held.decision, Hold)
    assert held.state == "held"
    assert (stopped.state, stopped.code) == ("held", "VALIDATION_ERROR")


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


# -- what cannot be undone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        PortError("TIMEOUT", "no answer"), PortError("UNAVAILABLE", "reset"), PortError("EFFECT_UNKNOWN", "?"),
        PortError("INTERNAL", "?"), RuntimeError("broke"), Failed("TIMEOUT", "late"), Failed("UNAVAILABLE", "reset"),
        Failed("EFFECT_UNKNOWN", "?"), lambda *_: 5,
    ],
    ids=["timeout", "reset", "unknown", "internal", "raises", "says late", "says reset", "says unknown", "no outcome"],
)  # fmt: skip
def test_an_irreversible_call_of_unknown_outcome_is_made_once_and_looked_up(bench: BenchMaker, act) -> None:
    """However often the run is tried: nothing calls it again in this run, and the reason says to look it up."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, [act], effect="irreversible", max_tries=9))
    plan = plan_of(step("a", "pay"))
    reports = [b.go(plan)[0] for _ in range(3)]

    assert b.calls == ["a by pay"]
    assert [r.state for r in reports] == ["failed", "not-run", "not-run"]
    assert "look it up" in reports[0].reason
    assert decided(b)[0].payload["rule"] == "stop_when_an_irreversible_outcome_is_unknown"


@pytest.mark.parametrize("code", ["AUTH_FAILED", "LOCKED", "VALIDATION_ERROR"])
def test_an_irreversible_call_that_was_refused_before_it_did_anything_is_not_called_unknown(
    bench: BenchMaker, code
) -> None:
    """It stops all the same, but nobody is sent to look for what never happened."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, [Failed(code, "no")], effect="irreversible"))
    (report,) = b.go(plan_of(step("a", "pay")))

    assert (report.state, b.calls) == ("failed", ["a by pay"])
    assert "look it up" not in report.reason
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is False


def test_a_call_that_acted_and_did_not_come_back_may_have_happened(bench: BenchMaker, monkeypatch) -> None:
    """It is given up after its deadline; what it did before stands, and a second call is never made."""
    from dagster_planexec.execute.step import call as calling

    monkeypatch.setattr(calling, "GRACE_S", 0.1)
    b = bench()
    over = threading.Event()
    late: list[str] = []

    def act_then_hang(args: Any, call: Any) -> Any:
        with call.ports.warehouse.session() as session:
            session.execute("create table staging.paid as select 1 as i")
        over.wait(10)
        try:
            call.require_wanted("a second payment")
            late.append("paid")
        except PortError as error:
            late.append(error.code)
        return Done(TableResult(table="staging.paid"))

    b = with_tools(b, Scripted("pay", b.calls, [act_then_hang], effect="irreversible", deadline_s=0.3))
    (report,) = b.go(plan_of(step("a", "pay")))
    over.set()
    for thread in threading.enumerate():
        if thread.name == "planexec-call":
            thread.join(10)

    assert (report.state, report.code) == ("failed", "TIMEOUT")
    assert "may have happened" in report.reason
    assert b.sql("select count(*) from staging.paid") == [(1,)]
    assert late == ["TIMEOUT"]
    assert [e.kind for e in b.work.journal.events(b.attempt, kinds=["step-done"])] == []


@pytest.mark.parametrize("effect", ["write", "irreversible"])
def test_a_result_that_changes_while_it_is_judged_is_not_handed_on(bench: BenchMaker, effect) -> None:
    """The seal is of what was judged: taken before and after the checks, and compared."""
    b = bench()

    def meddles(scope, phase):
        from dagster_planexec.checks.check import Check, Stated
        from dagster_planexec.checks.check import equal as same

        return (Check("meddles", phase, Meddler(scope.args.target), Stated(3, scope.stated_by_contract("three")),
                      lambda seen, _: same("ROWCOUNT_MISMATCH", 3, seen["rows"], what="rows")),)  # fmt: skip

    b = with_tools(b, Scripted("make", b.calls, effect=effect, post=("meddles",)),
                   checks={**b.work.checks, "meddles": meddles})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "EXPECTATION_FAILED")
    assert ("changed while it was judged" in report.reason) is True
    assert b.work.journal.events(b.attempt, kinds=["step-done"]) == ()
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is True


def test_a_postcondition_that_is_shut_says_that_the_call_happened(bench: BenchMaker) -> None:
    """It has: an irreversible step is then looked up, not tried again."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, effect="irreversible", post=("has_three_rows",)))
    (report,) = b.go(plan_of(step("a", "pay", rows=2)))

    assert (report.state, report.code) == ("failed", "ROWCOUNT_MISMATCH")
    assert decided(b)[0].payload["rule"] == "stop_when_an_irreversible_outcome_is_unknown"


def test_a_seal_that_cannot_be_had_is_no_result(bench: BenchMaker) -> None:
    """What was judged and then dropped is not done, and the call happened."""
    b = bench()

    def drops(scope, phase):
        from dagster_planexec.checks.check import Check, Stated
        from dagster_planexec.checks.check import equal as same

        probe = Meddler(scope.args.target, "drop table")
        return (Check("drops", phase, probe, Stated(3, scope.stated_by_contract("x")),
                      lambda seen, _: same("ROWCOUNT_MISMATCH", 3, seen["rows"], what="rows")),)  # fmt: skip

    b = with_tools(b, Scripted("make", b.calls, post=("drops",)), checks={**b.work.checks, "drops": drops})
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "EXPECTATION_FAILED")
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is True
    assert b.work.journal.events(b.attempt, kinds=["step-done"]) == ()


def test_a_surprise_that_could_not_be_looked_at_is_looked_at_again_without_a_second_call(bench: BenchMaker) -> None:
    """The step is done; a look that failed says nothing about the plan."""
    b = bench()
    store = ScriptedStore([PortError("UNAVAILABLE", "503"), None])
    tool = Scripted("make", b.calls)
    tool.contract = replace(tool.contract, surprises=("asks_the_store",))
    b = with_tools(b, tool, ports=replace(b.work.ports, objects=store),
                   checks={**b.work.checks, "asks_the_store": asks_the_store})  # fmt: skip
    first, second = (b.go(plan_of(step("a", "make")))[0] for _ in range(2))

    assert (type(first.decision), type(second.decision)) == (Retry, Proceed)
    assert b.calls == ["a by make"]
    assert second.state == "reused"
