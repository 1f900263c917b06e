"""Other answers of a planner: the card with its changes before anything runs, and a plan that breaks rules."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import dagster as dg
import pytest
from dagster import DagsterEventType

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import planexec_definitions
from dagster_planexec.definitions.planned_task import PlannedTask
from dagster_planexec.definitions.triggers.failure_sensor import failure_text
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import load_report
from dagster_planexec.plan.model import Plan, as_json
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from tests.support.flagship import SMALL, TASK, Month

PARTITION = f"{SMALL}-01"
pytestmark = pytest.mark.xdist_group("flagship-months")


def plain(markdown: str) -> str:
    """Markdown without its escapes."""
    return re.sub(r"\\(.)", r"\1", markdown)


def sentence_in(done: Month) -> str:
    """The sentence, from the document of the task run."""
    document = load_report(Journal(), done.task_run.run_id)
    assert document is not None
    return str(document["text"])


class Answers(Planner):
    """The recorded planner with another answer for some periods, as a model may give."""

    name = "edited"

    def __init__(self, edits) -> None:
        self._edits = edits

    def propose(self, request: PlanRequest) -> Proposal:
        """The recorded plan after the period's edit."""
        proposal = VENDOR_RECONCILIATION.planner().propose(request)
        edit = self._edits.get(request.period.text)
        if edit is None or proposal.plan is None:
            return proposal
        data = copy.deepcopy(as_json(proposal.plan))
        edit(data)
        return replace(proposal, plan=Plan.model_validate(data))


@contextmanager
def planned(month, edits, *, partitions=(PARTITION,)) -> Iterator[list[Month]]:
    """Months one after another under a planner with these edits."""
    tasks = PlannedTask(VENDOR_RECONCILIATION.binding, lambda: Answers(edits))
    job = planexec_definitions(tasks).resolve_job_def(f"{TASK}__task_run")
    overrides = {"telemetry": {"enabled": False}}
    with (
        month.world() as world,
        dg.DagsterInstance.local_temp(str(world.home / "dagster"), overrides=overrides) as instance,
    ):
        done = []
        for partition in partitions:
            result = job.execute_in_process(instance=instance, partition_key=partition, raise_on_error=False)
            run = instance.get_run_by_id(result.run_id)
            assert run is not None
            done.append(Month(instance, world, run))
        yield done


def break_rules(plan) -> None:
    """A tool that is not there, and a reference to a step that is not."""
    plan["steps"][2]["tool"] = "s3.gett"
    plan["steps"][3]["depends_on"] = ["nowhere"]


@pytest.fixture(scope="module")
def refused(month) -> Iterator[Month]:
    """A month whose plan breaks rules."""
    with planned(month, {SMALL: break_rules}) as (done,):
        yield done


def test_a_plan_that_breaks_rules_is_one_sentence_too(refused):
    """The first rule, both sides, when it was checked, and the rule's own remedy; the same text everywhere."""
    text, metadata = refused.failure(refused.task_run)
    failures = refused.events(refused.task_run, DagsterEventType.STEP_FAILURE)
    gates = refused.checks(refused.task_run).values()

    assert refused.plan_run is None
    assert re.match(r"PLAN_REJECTED: [a-z-]+ failed before the run: step \w+.*; \d+ more of such findings; ", text)
    assert re.search(r"expected .+ \(rule:[a-z-]+, static check\), saw .+ \(plan:[0-9a-f]{12}, static check, 20", text)
    assert (text, len(text) <= 600, metadata["code"]) == (sentence_in(refused), True, "PLAN_REJECTED")
    assert {gate.metadata["because"].value for gate in gates} == {text}
    assert failure_text(VENDOR_RECONCILIATION.binding.task, refused.task_run, failures).startswith(
        f"{TASK} {PARTITION}: {text}\n"
    )


def change(plan) -> None:
    """Another answer of the planner: the read comes first, the cap is lower, and the words try to be markup."""
    steps = plan["steps"]
    plan["intent"] = "**Pay** [now](https://evil.example) | <script>\n# all"
    steps.insert(0, steps.pop(2))
    steps[0]["depends_on"] = []
    next(step for step in steps if step["id"] == "load_staging")["depends_on"] = ["fetch_export", "stage_table"]
    steps[1]["rationale"] = "`x` | ![i](http://evil.example/i.png)" * 50
    steps[-1]["args"]["cap"] = "400.00"


@pytest.fixture(scope="module")
def changed(month) -> Iterator[list[Month]]:
    """January by the recorded plan, then February by another answer."""
    with planned(month, {SMALL: change}, partitions=("2026-01-01", PARTITION)) as done:
        yield done


def test_the_plan_is_compared_with_the_last_settled_month(changed):
    """Every edit is named once; that the month moved on is none."""
    january, february = changed
    card = {name: value.value for name, value in february.observed(february.task_run)["recon_report"].metadata.items()}
    lines = plain(card["changes"]).splitlines()

    assert [run.task_run.status for run in changed] == [dg.DagsterRunStatus.SUCCESS] * 2
    assert (
        january.observed(january.task_run)["recon_report"].metadata["changes"].value.startswith("There is no earlier")
    )
    assert lines[0].startswith("Compared with 2026-01: ")
    edits = [line for line in lines if line.startswith("- ")]
    assert any("issue_credit" in line and "cap" in line and "400.00" in line for line in edits)
    assert any("fetch_export" in line for line in edits)
    assert not any("write_report" in line or "2026-01-recon" in line for line in edits)
    assert lines[0] == f"Compared with 2026-01: {len(edits)} of 7 steps differ."


def test_the_card_is_a_table_in_which_words_are_only_words(changed):
    """One row per step with one cell per column; nothing of it is a link, an image, a heading or HTML."""
    _, february = changed
    shown = february.observed(february.task_run)["recon_report"].metadata["plan"].value
    rows = [line for line in shown.splitlines() if line.startswith("|")]

    assert len(rows) == 2 + 7
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert not re.search(r"(?<!\\)[<>#`]|(?<!\\)!\[|(?<!\\)\]\(|https?:", shown.replace("| # |", ""))
    assert "\\*\\*Pay\\*\\*" in shown
    assert len(shown) < 12_000


def test_the_plan_is_observed_before_anything_of_it_runs(changed):
    """Task run: begun, observation; then the plan run is made, then its first event, then its first step."""
    for done in changed:
        assert done.plan_run is not None
        logs = {run.run_id: done.instance.all_logs(run.run_id) for run in (done.task_run, done.plan_run)}
        observed = next(
            log.timestamp for log in logs[done.task_run.run_id]
            if log.is_dagster_event and log.dagster_event.event_type is DagsterEventType.ASSET_OBSERVATION
        )  # fmt: skip
        made = done.instance.get_run_record_by_id(done.plan_run.run_id).create_timestamp.timestamp()
        first = logs[done.plan_run.run_id][0].timestamp
        step = next(
            log.timestamp for log in logs[done.plan_run.run_id]
            if log.is_dagster_event and log.dagster_event.event_type is DagsterEventType.STEP_START
        )  # fmt: skip

        assert observed <= made <= first < step
