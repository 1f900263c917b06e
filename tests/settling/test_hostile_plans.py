"""A hostile planner against the flagship's own task and world: every plan is refused whole, and nothing is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period
from tests.support.plan_edits import edited_plan
from tests.support.settled import PERIOD, ScriptedPlanner, StepLauncher
from tests.support.worlds import world

__all__ = ["world"]

SECRET = "AKIAVERYSECRETVALUE0"

HOSTILE: dict[str, tuple[list[dict[str, Any]], set[str]]] = {
    "a tool nobody gave it": ([{"set": "steps/fetch_export/tool", "to": "shell.exec"}], {"unknown-tool"}),
    "another bucket": ([{"set": "steps/fetch_export/args/bucket", "to": "payroll"}], {"out-of-scope"}),
    "a key with dots": (
        [{"set": "steps/fetch_export/args/key", "to": "vendor/exports/../../secrets/2026-03-invoice.csv"}],
        {"out-of-scope"},
    ),
    "a file outside the SQL root": ([{"set": "steps/reconcile/args/file", "to": "../../etc/passwd"}], {"out-of-scope"}),
    "a report outside its root": ([{"set": "steps/write_report/args/name", "to": "/etc/cron.d/2026-03"}],
                                  {"out-of-scope"}),
    "a second statement in a name": (
        [{"set": "steps/reconcile/args/target", "to": "recon.lines_202603; drop table ledger.charges; --"}],
        {"vague-step"},
    ),
    "a second statement in the SQL": (
        [{"set": "steps/reconcile/args/file", "to": "two.sql"}], {"nondeterministic-query"},
    ),
    "credits before the comparison": (
        [{"set": "steps/issue_credit/args/source", "to": "recon.lines_202603"},
         {"set": "steps/issue_credit/depends_on", "to": []}, {"move": "issue_credit", "before": "reconcile"}],
        {"result-not-judged", "irreversible-not-last", "irreversible-without-gate"},
    ),
    "a higher cap": ([{"set": "steps/issue_credit/args/cap", "to": "999999999.00"}], {"cap-above-policy"}),
    "a check made easier": (
        [{"set": "steps/load_staging/claims", "to": [{"claim": "extract_has_rows", "args": {"min_rows": 0}}]}],
        {"claim-weakens-contract"},
    ),
    "five hundred steps": (
        [{"copies": 500, "of": {"id": "s#", "tool": "s3.get", "depends_on": [],
                                "args": {"bucket": "vendor-drops", "key": "vendor/exports/2026-03-invoice.csv"}}}],
        {"too-many-steps", "delivery-unread"},
    ),
    "a circle": ([{"set": "steps/scope_ledger/depends_on", "to": ["issue_credit"]}], {"cycle", "forward-ref"}),
    "a step that refers to itself": (
        [{"set": "steps/reconcile/args/inputs/vendor", "to": {"ref": "reconcile.table"}}], {"self-ref", "cycle"},
    ),
    "a secret by reference": (
        [{"set": "steps/write_report/args/name", "to": {"ref": "env.A_SECRET"}}], {"dangling-ref"},
    ),
    "a secret by template": (
        [{"set": "steps/write_report/args/name", "to": "${A_SECRET}-2026-03"}], {"vague-step"},
    ),
    "code in a template": (
        [{"set": "steps/write_report/args/name", "to": "{{ cycler.__init__.__globals__.os.environ }}"}], {"vague-step"},
    ),
}  # fmt: skip

TWO = "select 1 as one from ledger; drop table ledger.charges"


@pytest.fixture
def flagship(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    """The flagship's work in a seeded world, where the SQL root also holds a file with two statements."""
    monkeypatch.setenv("A_SECRET", SECRET)
    (world.roots.sql / "two.sql").write_text(TWO, encoding="utf-8")
    work = work_of(VENDOR_RECONCILIATION.binding)
    yield work
    work.journal.close()


def events(work: Work, *kinds: str) -> list[Any]:
    attempt = work.journal.newest_attempt(work.task.name, "2026-03")
    assert attempt is not None
    return list(work.journal.events(attempt.id, kinds=kinds))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_plan_is_refused_whole(flagship: Work, name: str) -> None:
    """Every finding is named, again after the one repair, and no tool is called."""
    edits, codes = HOSTILE[name]
    planner = ScriptedPlanner(lambda _, __: edited_plan(edits))
    report = settle(Settling(flagship, planner, StepLauncher(flagship)), PERIOD)

    assert (report.status, report.exit_code) == ("rejected", 5)
    assert codes <= {finding["code"] for finding in report.findings if finding["severity"] == "error"}
    assert len(planner.asked) == 2
    assert SECRET not in json.dumps(report.as_json())
    assert (events(flagship, "calling", "step-started", "admitted"), report.plan_run_id) == ([], None)


@pytest.mark.parametrize("name", ["a tool nobody gave it", "credits before the comparison", "a higher cap"])
def test_a_hostile_revision_is_refused_whole(flagship: Work, world: DemoWorld, name: str) -> None:
    """What a first plan may not do, a second may not; what was done before it stands, and nothing is added to it."""
    edits, codes = HOSTILE[name]

    class PartArrives(StepLauncher):
        def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
            world.put(world.key("-part2.csv"), world.read(world.export_key))  # under the checked plan
            return super().launch(attempt=attempt, plan_digest=plan_digest, period=period, lease_token=lease_token)

    planner = ScriptedPlanner(lambda _, n: edited_plan([] if n == 1 else edits))
    report = settle(Settling(flagship, planner, PartArrives(flagship)), PERIOD)

    assert (report.status, report.cause) == ("stopped", "DROP_INCOMPLETE")
    assert report.code in {"PLAN_REJECTED", "DROP_INCOMPLETE", "EXPECTATION_FAILED"}
    assert codes <= {finding["code"] for finding in report.findings if finding["severity"] == "error"}
    assert [request.revising is not None for request in planner.asked] == [False, True, True]
    assert [e.payload["tool"] for e in events(flagship, "calling")] == ["warehouse.snapshot", "warehouse.create_table"]


def test_a_plan_of_another_task_or_period_is_refused(flagship: Work) -> None:
    """A plan that was good elsewhere is not good here."""
    for edits in ([{"set": "period", "to": "2026-02"}], [{"set": "task", "to": "council_spend"}]):
        planner = ScriptedPlanner(lambda _, __, edits=edits: edited_plan(edits))
        report = settle(Settling(flagship, planner, StepLauncher(flagship)), PERIOD, replan=True)
        assert report.status == "rejected"
        assert {f["code"] for f in report.findings if f["severity"] == "error"} >= {"out-of-scope"}
    assert events(flagship, "calling") == []
