"""How a month ends whose steps were left out, made by a fallback, or have to wait."""

from __future__ import annotations

from dataclasses import replace

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.task import Deliverable
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.journal.attempts.waits import waiting
from tests.support.bench import TableTool
from tests.support.scripted import Scripted
from tests.support.settled import Place, ScriptedPlanner, make, place, plan_of

__all__ = ["place"]
BUSY = Failed("UNAVAILABLE", "503")
MADE = (Deliverable("tables", ("make",)),)


def with_extra(place: Place, *acts: Failed, **given: object) -> None:
    """A tool of the task's that makes no deliverable, and fails as it is told."""
    tools = [
        TableTool("make", place.calls),
        Scripted("extra", place.calls, acts, **{"max_tries": 2, "effect": "read", **given}),
    ]
    work = replace(place.work, tools=ToolRegistry(tools))
    place.work = replace(work, task=replace(work.task, tools=("make", "extra")))


def steps(*more: dict) -> object:
    """A planner of a plan with these steps."""
    return ScriptedPlanner(lambda *_: plan_of(*more))


def extra(step_id: str) -> dict:
    return {**make(step_id, 3), "tool": "extra"}


def test_a_month_whose_spare_step_was_left_out_succeeds_and_says_so(place):
    """What is delivered is whole; the step stands there as not run, with its code."""
    with_extra(place, BUSY, max_tries=1)
    report = place.settle(steps(make("a", 3), extra("aside")), deliverables=MADE)

    assert (report.status, report.code) == ("succeeded", None)
    assert [(s.id, s.outcome, s.code) for s in report.steps] == [
        ("a", "done", None),
        ("aside", "not-run", "UNAVAILABLE"),
    ]


def test_a_month_that_waits_is_neither_failed_nor_done(place):
    """Status and code are its own; the exit code tells it from a hold."""
    with_extra(place, Failed("UNAVAILABLE", "down", retry_after_s=3600))
    planner = steps(make("a", 3), extra("aside"))
    report = place.settle(planner, deliverables=MADE)
    (wait,) = waiting(place.work.journal, "toy")
    again = place.settle(planner, deliverables=MADE)

    assert (report.status, report.code, report.exit_code) == ("waiting", "UNAVAILABLE", 6)
    assert "it waits until" in report.text
    assert wait.attempt == report.attempt
    assert (again.status, [s.outcome for s in again.steps]) == ("succeeded", ["reused", "done"])
    assert again.attempt == report.attempt
    assert waiting(place.work.journal, "toy") == ()


def test_a_failure_outweighs_a_wait(place):
    """What has failed is told at once."""
    with_extra(place, Failed("UNAVAILABLE", "down", retry_after_s=3600), Failed("INTERNAL", "broke"))
    report = place.settle(steps(make("a", 3), extra("first"), extra("second")), deliverables=MADE)

    assert (report.status, report.code) == ("stopped", "INTERNAL")
    assert waiting(place.work.journal, "toy") == ()


def test_new_inputs_end_the_wait_of_the_old(place):
    """Another attempt supersedes it; nobody waits for what is not wanted any more."""
    with_extra(place, Failed("UNAVAILABLE", "down", retry_after_s=3600))
    planner = steps(make("a", 3), extra("aside"))
    place.settle(planner, deliverables=MADE)
    place.put("p/2026-03-b.csv")
    report = place.settle(planner, deliverables=MADE)

    assert report.status == "succeeded"
    assert waiting(place.work.journal, "toy") == ()
