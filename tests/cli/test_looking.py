"""The verbs that run nothing: plan, check, show, status, doctor."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of
from tests.support.planexec import PROJECT, planexec

TASK = "vendor_reconciliation"
PLANS = PROJECT / "assets" / TASK / "plans"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWorld]:
    """A seeded world in which nothing has run."""
    with LocalS3() as s3:
        made = DemoWorld(tmp_path_factory.mktemp("looking") / "home", s3.endpoint)
        made.seed()
        with environment(settings_of(made, None)):
            yield made


@pytest.fixture
def plan() -> Any:
    """The recorded plan for March, as plain data."""
    text = (PLANS / "recorded_export_csv.json").read_text(encoding="utf-8")
    answer = json.loads(text)["answer"]
    return json.loads(json.dumps(answer).replace("{period}", "2026-03").replace("{compact}", "202603"))


def check(path: Path, plan: Any) -> Any:
    """Check a plan file."""
    path.write_text(json.dumps(plan) if not isinstance(plan, str) else plan, encoding="utf-8")
    return planexec("check", path, "--task", TASK)


def test_plan_shows_and_runs_nothing(world: DemoWorld) -> None:
    """A checked plan, seven steps not run, no run in Dagster; a second call proposes the same one."""
    answer = planexec("plan", TASK, "--partition", "2026-03", "--home", world.home)
    again = planexec("plan", TASK, "--partition", "2026-03", "--home", world.home)

    assert (answer.exit_code, answer.document["status"]) == (0, "succeeded")
    assert {s["outcome"] for s in answer.document["steps"]} == {"not-run"}
    assert answer.document["task_run_id"] is None
    assert again.document["plan"] == answer.document["plan"]


def test_show_finds_the_plan_by_its_digest(world: DemoWorld) -> None:
    """Eight digits are enough."""
    digest = planexec("plan", TASK, "--partition", "2026-03", "--home", world.home).document["plan"]["digest"]

    shown = planexec("show", digest[:8], "--home", world.home).document

    assert shown["digest"] == digest
    assert [s["id"] for s in shown["plan"]["steps"]][-1] == "issue_credit"


@pytest.mark.parametrize("reference", ["ffffffffffff", "hold_000000000000", "att_000000000000", "nonsense; drop"])
def test_show_says_when_it_knows_nothing(world: DemoWorld, reference: str) -> None:
    """A code and what may be named."""
    answer = planexec("show", reference, "--home", world.home)

    assert answer.exit_code == 1
    assert answer.document["hint"]


def test_a_good_plan_file_passes(tmp_path: Path, plan: Any) -> None:
    """Exit 0, and only warnings."""
    answer = check(tmp_path / "plan.json", plan)

    assert (answer.exit_code, answer.document["status"]) == (0, "succeeded")
    assert {f["severity"] for f in answer.document["findings"]} <= {"warning"}


def test_every_fault_of_a_plan_file_is_found_in_one_pass(tmp_path: Path, plan: Any) -> None:
    """Four things wrong, four findings, each with step, field, both values and a hint."""
    plan["steps"][2]["tool"] = "s3.gett"
    plan["steps"][3]["depends_on"] = ["nowhere"]
    plan["steps"][6]["args"]["cap"] = "10000.00"
    plan["steps"][5]["claims"] = [{"claim": "looks_nice"}]

    answer = check(tmp_path / "plan.json", plan)
    found = {f["code"] for f in answer.document["findings"] if f["severity"] == "error"}

    assert (answer.exit_code, answer.document["code"]) == (5, "PLAN_REJECTED")
    assert {"unknown-tool", "dangling-ref", "cap-above-policy", "claim-unknown"} <= found
    assert all(f["hint"] and f["seen"] for f in answer.document["findings"])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"task": "t"}', '{"task": 1}', "null", '{"a": NaN}', "\ufeff{}", '{"steps": 1.5}'],
)  # fmt: skip
def test_a_file_that_is_no_plan_is_rejected(tmp_path: Path, text: str) -> None:
    """Malformed: PLAN_REJECTED with where and what, exit 5."""
    answer = check(tmp_path / "plan.json", text)

    assert (answer.exit_code, answer.document["status"], answer.document["code"]) == (5, "rejected", "PLAN_REJECTED")
    assert answer.document["text"].startswith("not a plan")


def test_a_plan_file_that_is_not_there(tmp_path: Path) -> None:
    """It could not be tried, which is no rejection: exit 1, the file's name, and what was expected."""
    answer = planexec("check", tmp_path / "none.json", "--task", TASK)

    assert (answer.exit_code, answer.document["status"], answer.document["code"]) == (1, "error", "VALIDATION_ERROR")
    assert "none.json cannot be read: No such file" in answer.document["text"]
    assert "a plan as JSON" in answer.document["hint"]


def test_a_packed_plan_file_is_said_to_be_packed(tmp_path: Path, plan: Any) -> None:
    """Not that its bytes are no UTF-8."""
    (tmp_path / "plan.json.gz").write_bytes(gzip.compress(json.dumps(plan).encode()))
    answer = planexec("check", tmp_path / "plan.json.gz", "--task", TASK)

    assert (answer.exit_code, answer.document["code"]) == (1, "VALIDATION_ERROR")
    assert "it is packed with gzip" in answer.document["text"]
    assert "unpack it first" in answer.document["hint"]


def test_status_has_a_line_for_every_closed_month(world: DemoWorld) -> None:
    """From the first partition to the month just closed, in order."""
    document = planexec("status", TASK, "--home", world.home).document
    periods = [line["period"] for line in document["periods"]]

    assert periods[:3] == ["2026-01", "2026-02", "2026-03"]
    assert periods == sorted(periods)


def test_doctor_finds_what_is_well(world: DemoWorld) -> None:
    """The flagship's drop, warehouse and planner answer."""
    answer = planexec("doctor", "--home", world.home)
    well = {e["what"]: e["well"] for e in answer.document["examined"]}

    assert well[f"{TASK}: drop"]
    assert well[f"{TASK}: warehouse"]
    assert well["journal"]


def test_doctor_finds_what_is_not(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer: which, and what to do; exit 1."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    answer = planexec("doctor", "--home", world.home)
    drop = next(e for e in answer.document["examined"] if e["what"] == f"{TASK}: drop")

    assert answer.exit_code == 1
    assert not drop["well"]
    assert drop["hint"]
