"""The Saturday run: the export is deleted under a checked plan. Here it stops at the 404; the control goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tests.support.planexec import planexec, step

FAULT = "delete-export-after-admission"
LATER = ("load_staging", "reconcile", "write_report", "issue_credit")


@pytest.fixture(scope="module")
def saturday(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The run under the harness."""
    home = tmp_path_factory.mktemp("saturday") / "home"
    return home, planexec("demo", "--fault", FAULT, "--home", home).document


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same plan and world under the literal executor."""
    home = tmp_path_factory.mktemp("control") / "home"
    return planexec("demo", "--fault", FAULT, "--executor", "literal", "--home", home)


def test_the_run_stops_at_the_step_that_met_the_404(saturday: tuple[Path, Any]) -> None:
    """OBJECT_GONE at fetch_export, and every later step is not run."""
    _, document = saturday

    assert (document["status"], document["code"]) == ("stopped", "OBJECT_GONE")
    assert step(document, "fetch_export")["outcome"] == "failed"
    assert {step(document, name)["outcome"] for name in LATER} == {"not-run"}
    assert {step(document, name)["reason"] for name in LATER} == {"the run stopped at fetch_export: OBJECT_GONE"}


def test_no_report_was_written_and_nothing_was_issued(saturday: tuple[Path, Any]) -> None:
    """Not in the document, and not in the world."""
    home, document = saturday

    assert document["report"] == {"md": None, "html": None, "json": None}
    assert list((home / "reports").iterdir()) == []
    assert document["credits"] == {
        "issued_count": 0, "issued_amount": "0.00", "held_count": 0, "held_amount": "0.00", "hold_id": None,
        "currency": "USD",
    }  # fmt: skip


def test_task_run_and_plan_run_failed_in_dagster(saturday: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both runs are on the instance, both red, and the plan run is linked to its task run."""
    home, document = saturday
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))

    with dg.DagsterInstance.get() as instance:
        task_run = instance.get_run_by_id(document["task_run_id"])
        plan_run = instance.get_run_by_id(document["plan_run_id"])

    assert task_run is not None
    assert plan_run is not None
    assert (task_run.status, plan_run.status) == (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.FAILURE)
    assert plan_run.tags["planexec/task_run"] == task_run.run_id
    assert plan_run.tags["dagster/partition"] == "2026-03-01"


def test_the_gates_row_failed_for_the_month_with_both_sides(
    saturday: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The asset check of the deliverable says what was expected, what was seen, and where each came from."""
    home, document = saturday
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    key = dg.AssetCheckKey(dg.AssetKey("vendor_invoice"), "object_exists")

    with dg.DagsterInstance.get() as instance:
        (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert record.event is not None
    assert record.event.dagster_event is not None
    evaluation = record.event.dagster_event.asset_check_evaluation_data
    metadata = {name: str(value.value) for name, value in evaluation.metadata.items()}

    assert (record.run_id, record.status.value) == (document["task_run_id"], "FAILED")
    assert evaluation.partition == "2026-03-01"
    assert "admission:vendor-drops/vendor/exports/2026-03-invoice.csv" in str(metadata)
    assert "s3:vendor-drops/vendor/exports/2026-03-invoice.csv read by HEAD" in str(metadata)


def test_the_control_goes_on_to_the_end(control: Any) -> None:
    """The for loop logs the 404 and walks on: a report on 61,400 discrepancies, held by a threshold that was low."""
    document = control.document

    assert control.exit_code == 3
    assert document["status"] == "held"
    assert document["credits"]["held_count"] == 61_400
    assert document["reconciliation"]["ledger_only"] == 61_400
    assert Path(document["report"]["md"]).read_text(encoding="utf-8").count("## Page") == 5
    assert [s["outcome"] for s in document["steps"]].count("not-run") == 0


def test_the_control_ran_the_very_same_plan(saturday: tuple[Path, Any], control: Any) -> None:
    """One digest: what differs is who carried it out."""
    assert saturday[1]["plan"]["digest"] == control.document["plan"]["digest"]


def test_a_rejected_month_shows_the_worlds_answer_at_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object was gone before anything ran: its gate says so, and the gates nobody came to say that."""
    home = tmp_path / "home"
    document = planexec("demo", "--fault", "delete-export-before-plan", "--home", home).document
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))

    def shown(gate: str) -> tuple[str, str]:
        key = dg.AssetCheckKey(dg.AssetKey("vendor_invoice"), gate)
        with dg.DagsterInstance.get() as instance:
            (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
        assert record.event is not None
        assert record.event.dagster_event is not None
        return record.status.value, str(record.event.dagster_event.asset_check_evaluation_data.description)

    assert document["code"] == "OBJECT_GONE"
    assert shown("object_exists")[0] == "FAILED"
    assert "saw no object" in shown("object_exists")[1]
    assert shown("row_counts_agree") == ("FAILED", "not reached")
