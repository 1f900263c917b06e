"""Schedule, sensor, person and backfill start the same month at once: one reconciliation, the rest say why not."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from assets.demo.saturday import month
from dagster_planexec.journal.journal import Journal
from tests.support.at_once import STARTERS, TAGS, settled_at_once
from tests.support.flagship import CREDENTIALS, SMALL, TASK, world_of
from tests.support.killed import one_home
from tests.support.months import World, calls_by_run

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 8


def test_eight_processes_settle_a_month_once(
    backend: str, place: None, monkeypatch: pytest.MonkeyPatch, seeded: Path, endpoint: str, tmp_path: Path
) -> None:
    """One planner is asked once, each tool is called once, every credit is there once; seven name the eighth."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PLANEXEC_DEMO_FAULT", raising=False)
    with one_home(seeded, tmp_path / "world", endpoint, SMALL) as world:
        ends = settled_at_once(world, PROCESSES)
        journal = Journal()
        attempt = journal.newest_attempt(TASK, SMALL)
        assert attempt is not None
        (calls,) = calls_by_run(journal, attempt.id).values()
        kinds = Counter(event.kind for event in journal.events(attempt.id))
        journal.close()
        issued = list(world.credits())

    (holder,) = [end for end in ends if end.status == "succeeded"]
    back = [end for end in ends if end.status == "stood-back"]
    assert len(back) == PROCESSES - 1
    assert {end.code for end in back} == {"LEASE_BUSY"}
    words = f"run task-run-{holder.n} (started by {STARTERS[holder.n % len(STARTERS)]}; host "
    assert all(end.text.startswith(words) and f"has held {SMALL} since" in end.text for end in back)
    assert (holder.asked, [end.asked for end in back]) == (1, [0] * (PROCESSES - 1))
    assert sorted(Counter(calls).values()) == [1] * 7
    assert (kinds["attempt-opened"], kinds["proposed"], kinds["run-ended"]) == (1, 1, 1)
    assert issued == sorted((key, str(amount)) for key, amount in month(SMALL).truth.credits.items())


@pytest.mark.slow
def test_four_task_runs_materialise_a_month_once(
    seeded: Path, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All end green; one has made the assets, and what they show is what it found."""
    home = tmp_path / "home"
    with world_of(seeded, home, endpoint) as world:
        monkeypatch.setenv("DAGSTER_HOME", str(world.dagster_home))
        mine, partition = World(home, endpoint, SMALL), world.period.key
        with dg.DagsterInstance.get() as instance:
            command = [sys.executable, "-W", "ignore", "-m", "tests.support.at_once"]
            processes = [
                subprocess.Popen(
                    [*command, str(n), str(len(TAGS)), partition], cwd=ROOT, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )
                for n in range(len(TAGS))
            ]  # fmt: skip
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in processes:
                process.communicate(timeout=240)
            runs = instance.get_runs(dg.RunsFilter(job_name=f"{TASK}__task_run"))
            plan_runs = instance.get_runs(dg.RunsFilter(job_name=f"{TASK}__plan_run"))
            (holder,) = [run for run in runs if run.tags["planexec/status"] != "stood-back"]
            # Whoever comes first holds the month; if that is the backfill, its credits wait for a person.
            waits = "dagster/backfill" in holder.tags
            made = instance.get_latest_materialization_events(
                [dg.AssetKey(name) for name in ("vendor_invoice", "recon_lines", "recon_report")]
            )
            keys = _gates()
            latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
            history = {key: instance.event_log_storage.get_asset_check_execution_history(key, limit=20) for key in keys}
        issued = list(mine.credits())

    assert [run.status for run in runs] == [dg.DagsterRunStatus.SUCCESS] * len(TAGS)
    ends = Counter(run.tags["planexec/status"] for run in runs)
    assert ends == {"held" if waits else "succeeded": 1, "stood-back": len(TAGS) - 1}
    assert {run.tags["planexec/code"] for run in runs if run is not holder} == {"LEASE_BUSY"}
    assert [run.status for run in plan_runs] == [dg.DagsterRunStatus.SUCCESS]
    assert {event.run_id for event in made.values() if event is not None} == {holder.run_id}
    assert {record.status for record in latest.values()} == {AssetCheckExecutionRecordStatus.SUCCEEDED}
    assert len(latest) == len(keys)
    planned = AssetCheckExecutionRecordStatus.PLANNED
    assert not [r for records in history.values() for r in records if r.status is planned]
    said = [
        record.event.dagster_event.asset_check_evaluation_data.description
        for records in history.values()
        for record in records
        if record.run_id not in {holder.run_id, ""} and record.status is AssetCheckExecutionRecordStatus.FAILED
    ]
    assert len(said) == len(keys) * (len(TAGS) - 1)
    assert all(text.startswith(f"not reached: run {holder.run_id} (started by ") for text in said)
    due = sorted((key, str(amount)) for key, amount in month(SMALL).truth.credits.items())
    assert issued == ([] if waits else due)


def _gates() -> list[dg.AssetCheckKey]:
    import definitions

    graph = definitions.defs.resolve_asset_graph()
    names = {"vendor_invoice", "recon_lines", "recon_report"}
    return [key for key in graph.asset_check_keys if key.asset_key.path[-1] in names]
