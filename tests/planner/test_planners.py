"""Recorded and pinned planners: no model, an honest author, and the door every plan comes through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.planner.pinned_planner import PinnedPlanner
from dagster_planexec.planner.recorded_planner import RecordedPlanner
from dagster_planexec.planner.recording import contract_version
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period
from tests.support.toolbox import REGISTRY, TASK

MARCH = PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY)
APRIL = PlanRequest(TASK, Period.parse("2026-04", "month"), REGISTRY)
PLAN: dict[str, Any] = {
    "task": TASK.name,
    "period": "{period}",
    "steps": [{"id": "fetch", "tool": "s3.get", "args": {"bucket": "b", "key": "exports/{period}.csv"}}],
}


def record(folder: Path, **changes: Any) -> Path:
    """A recording of PLAN, with changes to its wrapping."""
    wrapped = {"task": TASK.name, "contract_version": contract_version(MARCH), "author": "by hand", "answer": PLAN}
    path = folder / "recorded.json"
    path.write_text(json.dumps(wrapped | changes), encoding="utf-8")
    return path


def pin(folder: Path, plan: Any) -> Path:
    """A pinned plan file."""
    path = folder / "pinned.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    return path


def test_only_the_period_varies(tmp_path: Path) -> None:
    """The same answer for two months but for their names."""
    planner = RecordedPlanner(record(tmp_path))
    march, april = planner.propose(MARCH).plan, planner.propose(APRIL).plan

    assert march is not None
    assert april is not None
    assert march.steps[0].args["key"] == "exports/2026-03.csv"
    assert april.model_dump_json() == march.model_dump_json().replace("2026-03", "2026-04")


def test_a_recording_says_who_wrote_it_and_that_no_model_was_called(tmp_path: Path) -> None:
    """Provenance goes with the plan, beside its digest."""
    proposal = RecordedPlanner(record(tmp_path, author="gpt-x, prompt 3f9a")).propose(MARCH)

    assert proposal.author == "gpt-x, prompt 3f9a (recording recorded.json)"
    assert proposal.provenance(TASK)["model_called"] is False


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "another"}, "was recorded for task 'another'"),
        ({"contract_version": "vendor_invoice@0"}, "vendor_invoice@0"),
        ({"answer": {"task": "t"}}, "not a plan"),
        ({"answer": {**PLAN, "extra": 1}}, "extra"),
    ],
    ids=["another task", "another contract", "no plan", "unknown field"],
)
def test_a_recording_that_does_not_fit_is_rejected(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """A plan that was written for other contracts is not a plan for these."""
    proposal = RecordedPlanner(record(tmp_path, **changes)).propose(MARCH)

    assert (proposal.plan, proposal.code) == (None, "PLAN_REJECTED")
    assert says in proposal.message


@pytest.mark.parametrize("content", [None, "{", "[]"], ids=["missing", "no JSON", "no object"])
def test_a_file_that_is_no_recording_is_rejected(tmp_path: Path, content: str | None) -> None:
    """A code, not an exception."""
    path = tmp_path / "recorded.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")

    assert RecordedPlanner(path).propose(MARCH).code == "PLAN_REJECTED"


def test_another_content_is_another_recipe(tmp_path: Path) -> None:
    """So that an edited recording opens another attempt."""
    before = RecordedPlanner(record(tmp_path)).recipe
    after = RecordedPlanner(record(tmp_path, author="another")).recipe

    assert before != after


def test_a_pinned_plan_takes_parameters(tmp_path: Path) -> None:
    """`{"param": "period"}` as a whole value, `{compact}` inside a string."""
    plan = json.loads(json.dumps(PLAN))
    plan["period"] = {"param": "period"}
    plan["steps"][0]["args"]["key"] = "exports/{compact}.csv"

    proposal = PinnedPlanner(pin(tmp_path, plan)).propose(MARCH)

    assert proposal.plan is not None
    assert (proposal.plan.period, proposal.plan.steps[0].args["key"]) == ("2026-03", "exports/202603.csv")
    assert proposal.author == "reviewed file pinned.json"


@pytest.mark.parametrize("name", ["os.environ", "periods", "", 7])
def test_parameters_have_closed_names(tmp_path: Path, name: Any) -> None:
    """Any other name is refused and those that exist are told."""
    proposal = PinnedPlanner(pin(tmp_path, {**PLAN, "period": {"param": name}})).propose(MARCH)

    assert proposal.code == "PLAN_REJECTED"
    assert "unknown parameter" in proposal.message


@pytest.mark.parametrize(
    "content", ["7", '"text"', "[" * 100_000, '{"task": 1, "task": 2}', '{"a": 1.5}'],
    ids=["a number", "a text", "too deep", "a key twice", "a float"],
)  # fmt: skip
def test_odd_json_is_rejected_by_both_planners(tmp_path: Path, content: str) -> None:
    """The planners' files come through the door that a model's answer comes through."""
    path = tmp_path / "odd.json"
    path.write_text(content, encoding="utf-8")

    assert RecordedPlanner(path).propose(MARCH).code == "PLAN_REJECTED"
    assert PinnedPlanner(path).propose(MARCH).code == "PLAN_REJECTED"
