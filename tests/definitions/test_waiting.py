"""A month whose service asks for two hours: the run ends green, and a sensor runs it again when they have passed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.definitions.triggers.waits_sensor import look_at_waits, waits_sensor
from dagster_planexec.journal.attempts.budget import spent
from dagster_planexec.journal.attempts.waits import Wait, waiting, waits
from dagster_planexec.journal.journal import Journal
from tests.support.busy_s3 import busy_s3
from tests.support.drops import SetClock
from tests.support.flagship import TASK, Month, materialise, world_of
from tests.support.leases import held_by, someone, taken

BINDING = VENDOR_RECONCILIATION.binding
HOURS = 7200
pytestmark = pytest.mark.xdist_group("flagship-months")


@dataclass
class Story:
    """What became of the month, in order."""

    first: Month
    wait: Wait
    tags: dict[str, str]
    before: Any
    running: Any
    due: Any
    again: Any
    second: Month
    retries: int
    after: Any


@pytest.fixture(scope="module")
def story(tmp_path_factory, seeded, endpoint) -> Story:
    """Admission reads the object once; the fetch's own read is asked for time; the second run reads both times."""
    home = tmp_path_factory.mktemp("home")
    overrides = {"telemetry": {"enabled": False}}
    with (
        busy_s3(endpoint) as busy,
        world_of(seeded, home, endpoint) as world,
        pytest.MonkeyPatch.context() as patch,
        dg.DagsterInstance.local_temp(str(home / "dagster"), overrides=overrides) as instance,
    ):
        patch.setenv("AWS_ENDPOINT_URL", busy.endpoint)
        busy.busy_reads = {2: {"Retry-After": str(HOURS)}}
        first = materialise(instance, world)
        journal = Journal()
        runs = TaskRuns(instance, BINDING.task)
        (wait,) = waiting(journal, TASK)
        before = look_at_waits(journal, BINDING.task, wait.until - timedelta(seconds=1), runs)
        due = _tick(instance, ahead_s=HOURS + 60)
        again = _tick(instance, ahead_s=HOURS + 60)
        import definitions

        job = definitions.defs.resolve_job_def(f"{TASK}__task_run")
        other = instance.create_run_for_job(
            job, tags={"dagster/partition": world.period.key, "planexec/task": TASK}, status=dg.DagsterRunStatus.STARTED
        )
        running = look_at_waits(journal, BINDING.task, wait.until, runs)
        instance.report_run_canceled(other)
        second = materialise(instance, world)
        retries = spent(journal, wait.attempt).retries
        after = look_at_waits(journal, BINDING.task, wait.until, runs)
        journal.close()
        tags = dict(instance.get_run_by_id(first.task_run.run_id).tags)
        yield Story(first, wait, tags, before, running, due, again, second, retries, after)


def _tick(instance: dg.DagsterInstance, *, ahead_s: float) -> Any:
    """What the sensor answers when its clock is ahead."""
    binding = replace(BINDING, resources=replace(BINDING.resources, clock=SetClock(ahead_s=ahead_s)))
    return waits_sensor(binding)(dg.build_sensor_context(instance=instance))


def test_both_runs_end_without_failing_and_say_that_they_wait(story):
    """No slot is held; the status is one that runs can be filtered by."""
    assert story.first.task_run.status is dg.DagsterRunStatus.SUCCESS
    assert story.first.plan_run.status is dg.DagsterRunStatus.SUCCESS
    assert (story.tags["planexec/status"], story.tags["planexec/code"]) == ("waiting", "THROTTLED")
    assert "dagster/max_retries" not in story.tags


def test_nothing_is_made_of_what_was_not_reached(story):
    """No deliverable, and each declared gate says so as a warning."""
    assert story.first.materialised(story.first.task_run) == {}
    evaluated = story.first.checks(story.first.task_run)
    assert evaluated
    assert {data.severity for data in evaluated.values() if not data.passed} == {dg.AssetCheckSeverity.WARN}


def test_the_sensor_asks_when_the_time_has_come_and_not_before(story):
    """Under a key of attempt and time: however often it looks, Dagster starts it once."""
    assert story.before.requests == []
    assert "2026-02 until 20" in story.before.said
    (request,) = story.due.run_requests
    assert request.partition_key == "2026-02-01"
    assert request.run_key == story.wait.run_key
    assert [r.run_key for r in story.again.run_requests] == [request.run_key]
    assert request.tags["planexec/waited_for"] == "THROTTLED"


@pytest.mark.parametrize(("backfill", "tag"), [(None, None), ("bf1", "bf1")])
def test_a_request_carries_the_backfill_on(tmp_path, monkeypatch, backfill, tag):
    """Under our own tag: Dagster's would count it among the backfill's runs."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    at = datetime(2026, 3, 7, 9, 12, tzinfo=UTC)
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period="2026-02", inputs_digest="x", admission={})
    journal.append(attempt.id, "r", [waits("fetch_export", "THROTTLED", at, backfill=backfill)])
    journal.close_run(attempt.id, "r", "waiting", "THROTTLED")
    with dg.DagsterInstance.ephemeral() as instance:
        (request,) = look_at_waits(journal, BINDING.task, at, TaskRuns(instance, BINDING.task)).requests
    journal.close()

    assert request.tags.get("planexec/backfill") == tag
    assert "dagster/backfill" not in request.tags


def test_a_request_whose_run_stood_back_is_made_anew(tmp_path, monkeypatch):
    """Not while the month is held; then under another key, or Dagster would start no run for it."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    at = datetime(2026, 3, 7, 9, 12, tzinfo=UTC)
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period="2026-02", inputs_digest="x", admission={})
    journal.append(attempt.id, "r", [waits("fetch_export", "THROTTLED", at)])
    journal.close_run(attempt.id, "r", "waiting", "THROTTLED")
    month = {"task": TASK, "period": "2026-02"}
    keys = []
    with dg.DagsterInstance.ephemeral() as instance:
        for _ in range(3):
            (request,) = look_at_waits(journal, BINDING.task, at, TaskRuns(instance, BINDING.task)).requests
            keys.append(request.run_key)
            with held_by(someone(1), **month):
                taken(journal, someone(2, run_key=request.run_key), **month)
                tick = look_at_waits(journal, BINDING.task, at, TaskRuns(instance, BINDING.task))
            assert tick.requests == []
            assert "run run-1" in tick.said
    journal.close()

    assert keys == [keys[0], f"{keys[0]}-2", f"{keys[0]}-3"]


def test_a_month_that_is_being_run_is_left_alone(story):
    """A person was quicker."""
    assert story.running.requests == []
    assert "for a run to end" in story.running.said


def test_the_next_run_continues_the_attempt_and_finishes_it(story):
    """What was done is reused, and nothing waits any more."""
    assert story.second.task_run.status is dg.DagsterRunStatus.SUCCESS
    assert story.second.task_run.tags["planexec/status"] == "succeeded"
    assert set(story.second.materialised(story.second.task_run)) >= {"vendor_invoice", "recon_lines", "recon_report"}
    assert (story.after.requests, story.after.said) == ([], "nothing waits for a time")
    assert story.retries == 1


def test_the_sensor_makes_no_journal(tmp_path, monkeypatch):
    """Where nothing has run, there is nothing to wait for."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    with dg.DagsterInstance.ephemeral() as instance:
        result = waits_sensor(BINDING)(dg.build_sensor_context(instance=instance))

    assert (result.run_requests, result.skip_reason.skip_message) == ([], "nothing has run yet")
    assert list(tmp_path.iterdir()) == []


def test_every_task_has_the_sensor_and_it_runs_from_the_start():
    """Nobody has to turn it on for a promise to be kept."""
    import definitions

    sensor = next(s for s in definitions.defs.sensors if s.name == f"{TASK}__waits")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
