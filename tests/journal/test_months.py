"""A month of the flagship, settled without Dagster, with its memory in SQLite and in Postgres."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import FAULTS
from assets.demo.saturday import month
from assets.demo.world import DemoWorld
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.results import landed_for, tools_done
from dagster_planexec.journal.run_report import load_report
from dagster_planexec.journal.told.trace import trace_of_period
from tests.support.flagship import SMALL, TASK, endpoint, seeded  # noqa: F401 - fixtures
from tests.support.months import World, calls_by_run

STEPS = ["scope_ledger", "stage_table", "fetch_export", "load_staging", "reconcile", "write_report", "issue_credit"]


@pytest.fixture
def world(place: None, seeded: Path, endpoint: str, tmp_path: Path) -> World:  # noqa: F811 - fixtures are parameters
    """The flagship, and a journal of either kind."""
    home = tmp_path / "world"
    shutil.copytree(seeded, home)
    DemoWorld(home, endpoint, period=SMALL).seed_drop()
    return World(home, endpoint)


def with_fault(world: World, name: str) -> DemoWorld:
    """The same world, in which something goes wrong."""
    demo = DemoWorld(world.home, world.endpoint, period=SMALL)
    world.fault = FaultListener(FAULTS[name], demo)
    world.fault.before_plan()
    return demo


def test_a_month_settles_and_is_remembered(world: World) -> None:
    """Every credit that is due, once; the trace, the landing, the results and the report are in the journal."""
    report = world.settle(task_run_id="task-run")
    due = {key: str(amount) for key, amount in month(SMALL).truth.credits.items()}

    assert (report.status, report.code) == ("succeeded", None)
    assert dict(world.credits()) == due
    journal = Journal(looking=True)
    trace = trace_of_period(journal, TASK, SMALL)
    assert trace is not None
    assert trace.end == ("settled", None)
    assert [done.step for done in tools_done(journal, report.attempt or "")] == STEPS
    assert len(landed_for(journal, TASK, SMALL)) == 1
    document = load_report(journal, "task-run")
    assert document is not None
    assert document["credits"]["issued_count"] == len(due)
    journal.close()


def test_a_run_without_news_calls_no_planner_and_no_tool(world: World) -> None:
    """One attempt per admitted inputs, however often it is run; what holds is reused."""
    first = world.settle()
    again = [world.settle() for _ in range(3)]

    assert world.planner.asked == 1
    assert {report.attempt for report in again} == {first.attempt}
    assert {step.outcome for report in again for step in report.steps} == {"reused"}
    journal = Journal(looking=True)
    assert list(calls_by_run(journal, first.attempt or "").values()) == [STEPS]
    assert [a.revision for a in journal.newest_attempts(TASK)] == [1]
    journal.close()


def test_a_stopped_run_goes_on_where_it_stopped(world: World) -> None:
    """What was done before the stop is not called again, and nobody is asked for a plan."""
    with_fault(world, "load-zero-rows")
    stopped = world.settle()
    world.fault = None
    settled = world.settle()

    assert (stopped.status, stopped.code) == ("stopped", "ROWCOUNT_MISMATCH")
    assert (settled.status, settled.attempt) == ("succeeded", stopped.attempt)
    assert [step.outcome for step in settled.steps] == ["reused"] * 3 + ["done"] * 4
    assert world.planner.asked == 1


def test_what_changed_since_is_done_again_and_what_lies_behind_it(world: World) -> None:
    """Re-judged by what is there now, not by what is remembered: the staging table was emptied between two runs."""
    world.settle()
    demo = DemoWorld(world.home, world.endpoint, period=SMALL)
    FAULTS["empty-staging-before-reconcile"].apply(demo)
    before = world.credits()

    again = world.settle()

    outcomes = {step.id: step.outcome for step in again.steps}
    assert again.status == "succeeded"
    assert outcomes["fetch_export"] == "reused"
    assert outcomes["load_staging"] == "done"
    assert world.credits() == before
    assert world.planner.asked == 1


@pytest.mark.parametrize(
    "news", [pytest.param("inputs", id="new inputs"), pytest.param("replan", id="asked to think again")]
)
def test_news_asks_the_planner_again(world: World, news: str) -> None:
    """Another attempt, which supersedes the one before."""
    first = world.settle()
    if news == "inputs":
        FAULTS["replace-export-after-admission"].apply(DemoWorld(world.home, world.endpoint, period=SMALL))

    again = world.settle(replan=news == "replan")

    assert world.planner.asked == 2
    assert again.attempt != first.attempt
    journal = Journal(looking=True)
    assert journal.attempt(first.attempt or "").status == "superseded"
    journal.close()


def test_a_journal_that_moves_from_one_database_to_another_is_not_needed(
    world: World, fresh: Callable[[], None]
) -> None:
    """With an empty journal the month is done again, and no credit is issued twice: the credit system is asked."""
    first = world.settle()
    before = world.credits()
    fresh()

    again = world.settle()

    assert (first.status, again.status) == ("succeeded", "succeeded")
    assert world.credits() == before
    assert world.planner.asked == 2
