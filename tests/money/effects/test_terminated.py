"""Terminate during a batch of 1,000 lines, through Dagster: each line once, and the rest in the next run."""

from __future__ import annotations

from collections import Counter

import dagster as dg
import pytest

from dagster_planexec.compiler.binding import work_of
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.period import Period
from tests.support import thousand
from tests.support.plan_runs import launched, task_run

PERIOD = Period.parse("2026-03", "month")


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    thousand.seed(tmp_path)
    made = work_of(thousand.BINDING)
    yield made
    made.journal.close()
    thousand.on_issue.clear()


@pytest.fixture
def instance(tmp_path):
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(
        str(tmp_path / "dagster"), overrides={"telemetry": {"enabled": False}}
    ) as instance:
        yield instance


def held(home):
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        return Counter(str(key) for (key,) in session.rows("select line_key from credits.issued"))


@pytest.mark.slow
def test_terminate_is_noticed_before_the_next_line(work, instance, tmp_path):
    """The task run is being cancelled after 400 of 1,000 lines; the 401st is not issued; a later run issues 600."""
    parent = task_run(instance)

    def terminate(number):
        if number == 400:
            instance.report_run_canceling(parent)

    thousand.on_issue.append(terminate)
    run, steps = launched(instance, work, PERIOD, thousand.PLAN, parent=parent, binding=thousand.BINDING)

    assert run.status is dg.DagsterRunStatus.FAILURE
    assert (steps["issue_credit"].outcome, steps["issue_credit"].code) == ("failed", "CANCELLED")
    assert "400 of 1000 lines were issued" in steps["issue_credit"].reason
    assert len(held(tmp_path)) == 400
    states = Counter(e.state for e in effects_of(work.journal, "vendor-invoice-credits", "2026-03"))
    assert states == {"issued": 400, "intended": 600}

    thousand.on_issue.clear()
    run, steps = launched(instance, work, PERIOD, thousand.PLAN, binding=thousand.BINDING)

    assert run.status is dg.DagsterRunStatus.SUCCESS, steps["issue_credit"].reason
    assert set(held(tmp_path).values()) == {1}
    assert len(held(tmp_path)) == thousand.LINES
    states = Counter(e.state for e in effects_of(work.journal, "vendor-invoice-credits", "2026-03"))
    assert states == {"issued": thousand.LINES}
