"""Trying again: after a pause, at a stated time, with credentials read anew; each bounded, each in the journal."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.errors import PortError
from dagster_planexec.execute.step.facing import jitter_of
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.journal.attempts.budget import left_of, spent
from dagster_planexec.journal.attempts.waits import waiting
from dagster_planexec.journal.run_report import close_steps
from dagster_planexec.recovery.decide import weigh
from dagster_planexec.recovery.decision import Proceed, Retry, RetryAfter
from dagster_planexec.recovery.situations import decode_situation
from tests.support.bench import BenchMaker, CopyArgs, TableTool
from tests.support.scripted import (
    BUSY,
    Scripted,
    ScriptedStore,
    asks_the_store,
    decided,
    plan_of,
    removed,
    step,
    with_tools,
)

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
    assert removed(event) == {
        "retry-after": "waiting_needs_a_stated_time",
        "use-fallback": "a_fallback_is_used_once",
        "skip": "only_what_nothing_needs_is_skipped",
    }
    assert (event.payload["tool"], event.payload["claim"]) == ("make", None)
    assert weigh(decode_situation(dict(event.payload["situation"]))).decision == report.decision


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
    assert removed(decided(b)[-1])["retry"] == "the_retries_of_an_attempt_end"


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


@pytest.mark.parametrize("backfill", [None, "bf1"])
def test_a_wait_remembers_the_backfill_that_its_run_was_part_of(bench: BenchMaker, backfill) -> None:
    """What a backfill may not do without a person, its continuation may not either."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [Failed("UNAVAILABLE", "down", retry_after_s=3600)]))
    run_step(replace(b.run(plan_of(step("a", "make")), "r1"), backfill=backfill), "a")
    b.work.journal.close_run(b.attempt, "r1", "waiting", "UNAVAILABLE")

    assert [wait.backfill for wait in waiting(b.work.journal, "toy")] == [backfill]


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
