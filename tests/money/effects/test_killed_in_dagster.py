"""kill -9 during a batch of 1,000 lines, through Dagster: of the run's worker, and of the step's process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_planexec.compiler.binding import work_of
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.period import Period
from tests.support import thousand
from tests.support.plan_runs import launched, task_run

PERIOD = Period.parse("2026-03", "month")
ROOT = Path(__file__).resolve().parents[3]
KILLED_AT = 400
pytestmark = pytest.mark.slow

WORKER = """
import dagster as dg
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.world.period import Period
from tests.support import thousand
from tests.support.plan_runs import launched

with dg.DagsterInstance.get() as instance:
    parent = instance.get_run_by_id({run_id!r})
    launched(instance, work_of(thousand.BINDING), Period.parse("2026-03", "month"), thousand.PLAN, parent=parent,
             binding=thousand.BINDING)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    """The task, its sources, and a journal."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    thousand.seed(tmp_path)
    made = work_of(thousand.BINDING)
    yield made
    made.journal.close()


@pytest.fixture
def instance(work: Work) -> Iterator[dg.DagsterInstance]:
    """One that other processes find, too."""
    with dg.DagsterInstance.get() as instance:
        yield instance


def issued(home: Path) -> Counter[str]:
    """Line key to how often it is issued."""
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        return Counter(str(key) for (key,) in session.rows("select line_key from credits.issued"))


def ledger(work: Work) -> Counter[str]:
    """How many lines are in which state."""
    return Counter(effect.state for effect in effects_of(work.journal, "vendor-invoice-credits", "2026-03"))


def assert_the_rest_follows(work: Work, instance: dg.DagsterInstance, home: Path, parent: dg.DagsterRun) -> None:
    """The next run needs nobody, and each line is there once."""
    assert len(issued(home)) == KILLED_AT
    assert sum(ledger(work).values()) == thousand.LINES
    run, steps = launched(instance, work, PERIOD, thousand.PLAN, parent=parent, binding=thousand.BINDING)

    assert run.status is dg.DagsterRunStatus.SUCCESS, steps["issue_credit"].reason
    assert set(issued(home).values()) == {1}
    assert len(issued(home)) == thousand.LINES
    assert ledger(work) == {"issued": thousand.LINES}


def test_a_killed_run_worker_and_the_retry_of_its_run(work: Work, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """The worker dies after 400 lines; Dagster ends its run and repeats it, as its run retries do."""
    parent = task_run(instance)
    code = WORKER.format(run_id=parent.run_id)
    killed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, check=False,
        env={**os.environ, thousand.DIES_AT: str(KILLED_AT)},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2_000:]
    instance.report_run_failed(parent, "as run monitoring does with a worker that is gone")

    retry = task_run(instance, repeats=parent, tags={"dagster/retry_number": "1"})
    assert_the_rest_follows(work, instance, tmp_path, retry)


def test_a_killed_step_process(
    work: Work, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step's own process dies after 400 lines; its run notices, and fails."""
    monkeypatch.setenv(thousand.DIES_AT, str(KILLED_AT))
    run, steps = launched(instance, work, PERIOD, thousand.PLAN, binding=thousand.IN_PROCESSES)
    monkeypatch.delenv(thousand.DIES_AT)

    assert run.status is dg.DagsterRunStatus.FAILURE
    assert (steps["issue_credit"].outcome, steps["issue_credit"].code) == ("failed", "EFFECT_UNKNOWN")
    assert_the_rest_follows(work, instance, tmp_path, task_run(instance))
