"""A month whose plan was not enough, in Dagster: two plan runs, one task run, and nothing red."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster import DagsterEventType

from assets.demo.faults import LATE_LINES
from tests.support.flagship import SMALL, TASK

PARTITION = f"{SMALL}-01"


@pytest.fixture(scope="module")
def revised(month):
    """A part of the delivery arrives under the checked plan."""
    with month(fault="second-file-in-drop") as done:
        yield done


def plan_runs(done):
    """Both plan runs, the older first."""
    runs = done.instance.get_runs(dg.RunsFilter(job_name=f"{TASK}__plan_run"))
    return sorted(runs, key=lambda run: done.instance.get_run_record_by_id(run.run_id).create_timestamp)


def test_both_plan_runs_and_the_task_run_end_green(revised):
    """A plan that was not enough is no failure; only the second plan's run has made everything."""
    first, second = plan_runs(revised)

    assert {run.status for run in (first, second, revised.task_run)} == {dg.DagsterRunStatus.SUCCESS}
    assert revised.materialised(first) == revised.materialised(second) == {}
    assert set(revised.materialised(revised.task_run)) == {"vendor_invoice", "recon_lines", "recon_report", "credits"}
    assert first.tags["planexec/plan"] != second.tags["planexec/plan"]
    assert revised.instance.get_run_by_id(revised.task_run.run_id).tags["planexec/plan_run"] == second.run_id


def test_the_step_that_was_not_enough_is_a_warning_and_nothing_after_it_ran(revised):
    """The check is not passed, and no error; no later step is judged or called, on any branch."""
    first, _ = plan_runs(revised)
    checks = revised.checks(first)
    shut = {name: data for name, data in checks.items() if not data.passed}

    assert {check for _, check in shut} == {"pre__drop_is_complete"}
    assert {data.severity for data in shut.values()} == {dg.AssetCheckSeverity.WARN}
    assert {step for step, _ in checks} == {"scope_ledger", "stage_table", "fetch_export"}
    assert not revised.events(first, DagsterEventType.STEP_FAILURE)


def test_gates_of_the_deliverables_are_those_of_the_plan_that_made_them(revised):
    """The task run shows each gate once, and all are open."""
    gates = revised.checks(revised.task_run)

    assert {data.passed for data in gates.values()} == {True}
    assert ("vendor_invoice", "drop_is_complete") in gates


def test_each_plan_is_shown_before_its_run(revised):
    """Two observations; the second says what it changes of the first."""
    cards = [
        event.asset_observation_data.asset_observation
        for event in revised.events(revised.task_run, DagsterEventType.ASSET_OBSERVATION)
    ]
    said = [card.description for card in cards if "plan_digest" in card.metadata]
    cards = [card.metadata for card in cards if "plan_digest" in card.metadata]

    assert said == ["The plan, before it runs", "Another plan, revision 2, before it runs"]
    assert [card["revision"].value for card in cards] == [1, 2]
    assert "revises" not in cards[0]
    assert "fetch\\_part2" in cards[1]["revises"].value.replace("fetch_part2", "fetch\\_part2")


def test_both_files_are_loaded_where_the_first_plan_would_have_missed_one(revised):
    """The lines of the late part are compared, and the charges it bills are not credited."""
    rows = revised.materialised(revised.task_run)["vendor_invoice"].metadata["dagster/row_count"].value
    credited = revised.materialised(revised.task_run)["credits"].metadata["dagster/row_count"].value
    truth = revised.world.pair.truth

    assert rows == truth.vendor_rows + LATE_LINES
    assert credited == len(truth.credits) - LATE_LINES
