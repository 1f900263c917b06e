"""Both examples where people use them: the command line, the asset in Dagster, the page of a failed period."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEventType

import definitions
from tests.support.local_tasks import LocalPlace
from tests.support.planexec import planexec, step


def test_the_demo_of_the_audit_runs_from_the_command_line(tmp_path: Path) -> None:
    """The same verbs, documents and exit codes as for every other task; no bucket, no credentials, no money."""
    answer = planexec("demo", "--data", "lockfiles", "--home", tmp_path / "home")
    document = answer.document

    assert (answer.exit_code, document["status"], document["plan"]["revision"]) == (0, "succeeded", 2)
    assert document["plan"]["model_called"] is False
    assert [step(document, name)["outcome"] for name in ("read_root", "read_billing", "write")] == [
        "reused",
        "done",
        "done",
    ]
    assert document["credits"] == {
        "issued_count": 0, "issued_amount": "0.00", "held_count": 0, "held_amount": "0.00", "hold_id": None,
        "currency": None,
    }  # fmt: skip
    assert document["reconciliation"] == {"sums": {}}
    assert Path(document["report"]["md"]).is_file()


def test_the_control_of_the_audit_reports_on_214(tmp_path: Path) -> None:
    """And leaves what the harness wrote as it is."""
    home = tmp_path / "home"
    planexec("demo", "--data", "lockfiles", "--home", home)
    answer = planexec("demo", "--data", "lockfiles", "--executor", "literal", "--home", home)

    assert (answer.exit_code, answer.document["status"]) == (0, "succeeded")
    assert "packages 214, matches 3" in answer.document["text"]
    assert "310 packages, 4 matches" in (home / "reports" / "2026-03-dependency-audit.md").read_text()


def test_a_month_is_run_looked_at_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run`, `status`, `observe`, `doctor` of a task without drop and money."""
    from assets.local_examples import LOCAL_DATA

    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    LOCAL_DATA["row_counts"].seed(home)
    LOCAL_DATA["lockfiles"].seed(home)
    run = planexec("run", "row_count_investigation", "--partition", "2026-04", "--home", home)
    assert (run.exit_code, len(run.document["revisions"])) == (0, 3)
    assert planexec("run", "dependency_audit", "--partition", "2026-03", "--home", home).exit_code == 0

    months = planexec("status", "row_count_investigation", "--home", home).document
    assert "2026-04-01" in str(months)
    seen = planexec("observe", "dependency_audit", "--partition", "2026-03", "--home", home)
    about = {line["about"] for line in seen.document["sightings"]}
    assert (seen.exit_code, about) == (0, {"watched", "result"})
    doctor = planexec("doctor", "--home", home).document
    lines = {line["what"]: line for line in doctor["examined"]} if isinstance(doctor, dict) else {}
    if lines:
        assert "dependency_audit: drop" not in lines
        assert "2 files" in lines["dependency_audit: lockfiles"]["seen"]

    (home / "files" / "advisories" / "2026-03" / "PYSEC-2026-0004.json").unlink()
    seen = planexec("observe", "dependency_audit", "--partition", "2026-03", "--home", home)
    [changed] = [line for line in seen.document["sightings"] if line["about"] == "watched" and not line["stands"]]
    assert (changed["verdict"], changed["code"]) == ("changed", "FILE_CHANGED")


@pytest.mark.parametrize(
    ("job", "asset", "partition", "gates"),
    [
        ("dependency_audit__task_run", "vulnerable_dependencies", "2026-03-01", "every_package_is_looked_up"),
        ("row_count_investigation__task_run", "row_count_finding", "2026-05-01", "cause_is_carried"),
    ],
)
def test_the_asset_is_made_with_its_gates(
    audit: LocalPlace, tmp_path: Path, job: str, asset: str, partition: str, gates: str
) -> None:
    """One task run settles the partition, however many plan runs it takes; every gate has a result."""
    from assets.local_examples import LOCAL_DATA

    LOCAL_DATA["row_counts"].seed(audit.home)
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides={"telemetry": {"enabled": False}}) as found:
        result = definitions.defs.resolve_job_def(job).execute_in_process(instance=found, partition_key=partition)

        assert result.success
        made = {
            e.asset_key.path[-1] for e in result.all_events if e.event_type == DagsterEventType.ASSET_MATERIALIZATION
        }
        assert asset in made
        checks = {e.event_specific_data.check_name: e.event_specific_data.passed
                  for e in result.all_events if e.event_type == DagsterEventType.ASSET_CHECK_EVALUATION}  # fmt: skip
        assert checks[gates]
        assert all(checks.values())
        runs = found.get_runs(dg.RunsFilter(job_name=job.replace("__task_run", "__plan_run")))
        assert len(runs) >= 2


def test_a_period_without_its_advisories_fails_in_words(audit: LocalPlace, tmp_path: Path) -> None:
    """The task run fails with the code, and no gate is left planned."""
    shutil.rmtree(audit.files / "advisories")
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides={"telemetry": {"enabled": False}}) as found:
        job = definitions.defs.resolve_job_def("dependency_audit__task_run")
        result = job.execute_in_process(instance=found, partition_key="2026-03-01", raise_on_error=False)

        assert not result.success
        [failed] = [e for e in result.all_events if e.event_type == DagsterEventType.STEP_FAILURE]
        assert "FILE_GONE" in failed.event_specific_data.error_display_string
        checks = [e for e in result.all_events if e.event_type == DagsterEventType.ASSET_CHECK_EVALUATION]
        assert False in {e.event_specific_data.passed for e in checks}


def test_only_tasks_with_a_drop_are_looked_at_for_arrivals() -> None:
    """There is nothing to arrive for the others."""
    names = {sensor.name for sensor in definitions.defs.sensors or ()}

    assert "vendor_reconciliation__arrivals" in names
    assert not {"dependency_audit__arrivals", "row_count_investigation__arrivals"} & names


@pytest.mark.parametrize(("name", "period"), [("lockfiles", "2026-03"), ("row_counts", "2026-05")])
def test_a_model_is_shown_what_is_watched_and_no_drop(tmp_path: Path, name: str, period: str) -> None:
    """The prompt of a task without delivery, sides and money says nothing of them."""
    from assets.local_examples import LOCAL_DATA

    data = LOCAL_DATA[name]
    data.seed(tmp_path)
    answer = planexec("prompt", data.planned.name, "--partition", period, "--home", tmp_path)
    text = "".join(message["content"] for message in answer.document["messages"])

    assert answer.exit_code == 0
    for watch in data.planned.binding.task.watches:
        assert f'{{"watched": "{watch.name}"' in text
        assert f'{{"about": "{watch.name}", "seen": {{' in text
    assert not any(word in text for word in ('"drop"', "credit_cap", "least_matched_share", '"not observed"'))
