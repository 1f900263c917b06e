"""The same through Dagster: its process is killed, and the partition is materialised again on the same instance."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from dagster_planexec.journal.journal import Journal
from tests.support.flagship import SMALL, TASK, materialise, world_of
from tests.support.killed import complaints, look
from tests.support.months import World

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("event", [4, 21, 33, 50, 58])
def test_a_killed_task_run_is_done_again(
    seeded: Path, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: int
) -> None:
    """It succeeds, nothing done is called twice, every credit is there once, and no run is left as started."""
    home = tmp_path / "home"
    with world_of(seeded, home, endpoint) as world:
        monkeypatch.setenv("DAGSTER_HOME", str(world.dagster_home))
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.dagster_killed", str(event), SMALL]
        killed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2_000:]
        mine = World(home, endpoint, SMALL)
        before = look(mine, TASK)

        with dg.DagsterInstance.get() as instance:
            for run in instance.get_runs(dg.RunsFilter(job_name=f"{TASK}__task_run")):
                instance.report_run_failed(run, "as Dagster's run monitoring does with a worker that is gone")
            again = materialise(instance, world)
            assert again.task_run.status is dg.DagsterRunStatus.SUCCESS
            plan_runs = instance.get_runs(dg.RunsFilter(job_name=f"{TASK}__plan_run"))
            assert [run.run_id for run in plan_runs if not run.is_finished] == []
            plan_run = again.plan_run
        assert plan_run is not None

        journal = Journal(looking=True)
        attempt = journal.newest_attempt(TASK, SMALL)
        assert attempt is not None
        calls = [str(e.step) for e in journal.events(attempt.id, run_id=plan_run.run_id, kinds=["calling"])]
        proposed = len(journal.events(attempt.id, kinds=["proposed"]))
        journal.close()
        report = mine.settle()  # looks again at everything, and reuses all of it
        assert {step.outcome for step in report.steps} == {"reused"}
        assert complaints(mine, before, report, calls, 0 if before.asked else 1) == []
        assert proposed <= 2
