"""A task run whose month another holds, and one that loses its month: what people see of them in Dagster."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster import DagsterEventType
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus as Status

import assets.binding
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.leases import held_now
from dagster_planexec.journal.run_report import load_report, newest_report
from tests.support.flagship import TASK, materialise
from tests.support.leases import held_by, lease_of, someone

pytestmark = pytest.mark.xdist_group("flagship-months")


@pytest.fixture(scope="module")
def back(month):
    """A run that came while another process held the month, and one that came when it was free."""
    with month.world() as world:
        instance = dg.DagsterInstance.local_temp(str(world.home / "dagster"), {"telemetry": {"enabled": False}})
        with instance:
            with held_by(someone(1, started_by="the schedule m"), task=TASK, period=world.period.text):
                stood_back = materialise(instance, world)
            yield stood_back, materialise(instance, world)


def test_it_ends_green_and_says_for_whom_it_stood_back(back):
    """By tags, in the list of runs; nothing is repeated, nothing is to be repeated."""
    run = back[0].task_run

    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert (run.tags["planexec/status"], run.tags["planexec/code"]) == ("stood-back", "LEASE_BUSY")
    assert "planexec/plan_run" not in run.tags
    journal = Journal(looking=True)
    report = load_report(journal, run.run_id)
    journal.close()
    assert report is not None
    assert report["text"].startswith("run run-1 (started by the schedule m; host host-1, process 101) has held 2026-02")


def test_it_makes_nothing_and_every_gate_says_why(back):
    """No plan, no materialisation, no observation; each gate is a warning that names the holder, none is planned."""
    month, run = back[0], back[0].task_run
    planned = {
        (e.asset_check_planned_data.asset_key.path[-1], e.asset_check_planned_data.check_name)
        for e in month.events(run, DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    }
    checks = month.checks(run)

    assert month.materialised(run) == {}
    assert month.events(run, DagsterEventType.ASSET_OBSERVATION) == []
    assert set(checks) == planned
    assert {(c.passed, c.severity) for c in checks.values()} == {(False, dg.AssetCheckSeverity.WARN)}
    assert all(c.description.startswith("not reached: run run-1 (started by the schedule m") for c in checks.values())


def test_the_month_is_settled_by_the_next_run(back):
    """What stood back has left nothing that it would have to get around."""
    month, run = back[1], back[1].task_run

    assert run.tags["planexec/status"] == "succeeded"
    assert all(check.passed for check in month.checks(run).values())
    journal = Journal(looking=True)
    newest = newest_report(journal, TASK, "2026-02")
    held = held_now(journal, TASK)
    journal.close()
    assert newest is not None
    assert newest["task_run_id"] == run.run_id
    assert held == {}


@pytest.fixture(scope="module")
def lost(month):
    """A run whose month is taken over at its first call, by somebody who knows that it has ended."""
    with month.world() as world, pytest.MonkeyPatch.context() as patch:
        leases = []

        def take_over(kind, step):
            if kind == "calling" and not leases:
                journal = Journal()
                new = someone(7, started_by="the sensor s")
                period = world.period.text
                leases.append((lease_of(journal, new, task=TASK, period=period, has_ended=lambda _: True), journal))

        patch.setattr(assets.binding, "fault_listeners", lambda _task: (take_over,))
        instance = dg.DagsterInstance.local_temp(str(world.home / "dagster"), {"telemetry": {"enabled": False}})
        with instance:
            old = materialise(instance, world)
            before = _events(old)
            for lease, journal in leases:
                lease.release()
                journal.close()
            yield old, before, materialise(instance, world)


def _events(month):
    journal = Journal(looking=True)
    attempt = journal.newest_attempt(TASK, month.world.period.text)
    found = [(e.kind, e.step) for e in journal.events(attempt.id)]
    status = attempt.status
    journal.close()
    return found, status


def test_a_run_that_lost_its_month_fails_and_says_who_has_it(lost):
    """In the list of runs, and at its end; its plan run fails at the step that could not go on."""
    month = lost[0]
    sentence, metadata = month.failure(month.task_run)

    assert month.task_run.status is dg.DagsterRunStatus.FAILURE
    assert (month.task_run.tags["planexec/status"], month.task_run.tags["planexec/code"]) == ("stopped", "LEASE_LOST")
    assert month.task_run.tags["dagster/max_retries"] == "0"
    for words in ("LEASE_LOST", "2026-02", "run run-7", "the sensor s", "took it over at"):
        assert words in sentence
    assert metadata["code"] == "LEASE_LOST"
    assert month.plan_run.status is dg.DagsterRunStatus.FAILURE
    assert month.checks(month.plan_run) == {}


def test_a_run_that_lost_its_month_has_written_nothing_after(lost):
    """The last that the journal has of it is the call during which it lost it; the attempt is as open as it was."""
    events, status = lost[1]

    assert events[-1][0] == "calling"
    assert status == "open"


def test_what_the_asset_shows_is_what_the_later_run_found(lost):
    """Although the one that lost its month has results of its own for every gate."""
    month = lost[2]
    run = month.task_run
    keys = [
        dg.AssetCheckKey(e.asset_check_planned_data.asset_key, e.asset_check_planned_data.check_name)
        for e in month.events(run, DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    ]
    latest = month.instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)

    assert run.tags["planexec/status"] == "succeeded"
    assert {record.status for record in latest.values()} == {Status.SUCCEEDED}
