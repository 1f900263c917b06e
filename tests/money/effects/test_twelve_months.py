"""The first backfill of twelve past months: nothing before `effects_from`, and the rest waits for a person."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.contract.task import Deliverable, Task
from dagster_planexec.contract.tool import Admission, ToolRegistry
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import effects_listed
from dagster_planexec.journal.run_report import read_steps
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.settle import _end
from dagster_planexec.tools.issue_credit import IssueCredit
from dagster_planexec.world.local.absent_ports import NoObjectStore
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports, Roots
from tests.support.effects_killed import PLAN, TASK, seed, seen_sides

PERIODS = [f"2025-{month:02d}" for month in range(1, 13)]


def from_july(made: Deliverable) -> Deliverable:
    return made if made.repeatable else replace(made, effects_from="2025-07")


@pytest.fixture
def year(tmp_path, monkeypatch):
    """Runs the step of one period; the same result stands for each of them."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    seed(tmp_path, PERIODS)
    task: Task = replace(TASK, deliverables=tuple(from_july(made) for made in TASK.deliverables))
    warehouse, clock = DuckDbWarehouse(tmp_path / "w.duckdb"), SystemClock()
    ports = Ports(NoObjectStore(), warehouse, DuckDbCredits(warehouse, clock), clock, Roots(*[tmp_path] * 3))
    journal = Journal()
    work = Work(task, ToolRegistry([IssueCredit()]), ports, journal, BINDERS)

    def issue(text: str, *, run_id: str, backfill: str | None = None):
        period = Period.parse(text, "month")
        attempt, _ = journal.open_attempt(task=task.name, version="1", period=text, inputs_digest="x", admission={})
        admission = Admission((), seen_sides(task, period, ports), {}, clock.now())
        run = Run(work, attempt.id, PLAN, full_digest(PLAN), period, admission, f"{run_id} {text}", backfill)
        report = run_step(run, "issue_credit")
        return report, read_steps(journal, attempt.id, run.run_id, PLAN)

    yield issue, work
    journal.close()


def test_the_first_backfill_issues_nothing(year):
    """Six months are before the first one with effects, and settle; six hold what they would issue."""
    issue, work = year
    done = {text: issue(text, run_id="bf", backfill="bf1") for text in PERIODS}

    assert Counter((report.state, report.code) for report, _ in done.values()) == {
        ("not-run", "EFFECTS_NOT_DUE"): 6, ("held", "APPROVAL_REQUIRED"): 6,
    }  # fmt: skip
    assert all(report.state == "not-run" for text, (report, _) in done.items() if text < "2025-07")
    assert effects_listed(work.journal) == ()
    assert {text: work.ports.credits.issued("vendor-invoice-credits", text) for text in PERIODS if text} == {
        key: {} for key in PERIODS
    }
    report, steps = done["2025-01"]
    assert "is before 2025-07, from which the task's effects count" in report.reason
    assert _end(steps, cancelled=False) == ("succeeded", None, "")


def test_a_month_that_is_paid_holds_nothing_in_a_backfill(year):
    """Nothing is left to issue, so nobody is asked."""
    issue, work = year
    report, _ = issue("2025-08", run_id="alone")
    assert report.state == "done", report.reason
    again, _ = issue("2025-08", run_id="bf", backfill="bf1")

    assert again.state in {"done", "reused"}, again.reason
    assert Counter(effect.state for effect in effects_listed(work.journal)) == {"issued": 8}
