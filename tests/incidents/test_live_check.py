"""The live check: what the world answers before anything runs, through the verb `plan`, on real parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.demo.world import DemoWorld
from tests.support.planexec import PROJECT, Answer, planexec

TASK = "vendor_reconciliation"
RECORDING = PROJECT / "assets" / TASK / "plans" / "recorded_export_csv.json"


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], None]:
    """Lets a test change the recorded plan."""

    def change(edit: Callable[[Any], None]) -> None:
        data = json.loads(RECORDING.read_text(encoding="utf-8"))
        edit(data["answer"])
        path = tmp_path / "recording.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        monkeypatch.setenv("PLANEXEC_RECORDING", str(path))

    return change


def plan(world: DemoWorld) -> Answer:
    """Have March planned and checked."""
    return planexec("plan", TASK, "--partition", "2026-03", "--home", world.home)


def rejected(answer: Answer, code: str) -> Any:
    """The first finding of a rejection with that code."""
    assert (answer.document["status"], answer.document["code"], answer.exit_code) == ("rejected", code, 5)
    return answer.document["findings"][0]


@pytest.mark.parametrize(
    ("expects", "holds"),
    [
        ({"about": "drop", "measure": "objects", "op": "==", "value": 1}, True),
        ({"about": "drop", "measure": "objects", "op": "==", "value": 2}, False),
        ({"about": "drop", "measure": "bytes", "op": ">", "value": 1_000_000}, True),
        ({"about": "drop", "measure": "bytes", "op": "<", "value": 10}, False),
        ({"about": "input:ledger", "measure": "rows", "op": "==", "value": 61_400}, True),
        ({"about": "input:ledger", "measure": "rows", "op": ">", "value": 61_400}, False),
        ({"about": "input:ledger", "measure": "columns", "op": "==", "value": 6}, True),
        ({"about": "input:ledger", "measure": "columns", "op": "!=", "value": 6}, False),
        ({"about": "input:ledger", "measure": "rows", "op": "==", "value": "many"}, False),
    ],
    ids=lambda value: f"{value['measure']} {value['op']} {value['value']}" if isinstance(value, dict) else "",
)
def test_what_the_plan_expects_is_asked_of_the_world(
    world: DemoWorld,
    recorded: Callable[..., None],
    expects: dict[str, Any],
    holds: bool,
) -> None:
    """A typed expectation that does not hold rejects the plan, with both numbers."""
    recorded(lambda answer: answer.update(expects=[expects]))

    answer = plan(world)

    if holds:
        assert answer.document["status"] == "succeeded", answer.document["text"]
    else:
        finding = rejected(answer, "EXPECTATION_FAILED")
        assert str(expects["value"]) in finding["expected"]


def test_object_rules_come_before_expectations(world: DemoWorld, recorded: Callable[..., None]) -> None:
    """A missing object and a broken expectation: the object names the rejection, both are found."""
    recorded(lambda answer: None)
    world.remove(world.export_key)

    answer = plan(world)

    assert rejected(answer, "OBJECT_GONE")["field"] == "object_exists"
    assert "EXPECTATION_FAILED" in {f["code"] for f in answer.document["findings"]}


def test_a_live_finding_outweighs_a_static_one(world: DemoWorld, recorded: Callable[..., None]) -> None:
    """The plan has a bad claim and the object is gone: the code is the world's, the bad claim is found too."""
    recorded(lambda answer: answer["steps"][5].update(claims=[{"claim": "looks_nice"}]))
    world.remove(world.export_key)

    answer = plan(world)

    rejected(answer, "OBJECT_GONE")
    assert "claim-unknown" in {f["code"] for f in answer.document["findings"]}


def test_a_static_finding_alone_is_plan_rejected(world: DemoWorld, recorded: Callable[..., None]) -> None:
    """Nothing is wrong with the world."""
    recorded(lambda answer: answer["steps"][5].update(claims=[{"claim": "looks_nice"}]))

    assert rejected(plan(world), "PLAN_REJECTED")["code"] == "claim-unknown"


def test_an_input_table_that_is_gone(world: DemoWorld) -> None:
    """TABLE_GONE before anything runs."""
    with world.connection() as warehouse:
        warehouse.execute("drop table ledger.charges")

    assert rejected(plan(world), "TABLE_GONE")["field"] == "source_matches_contract"


@pytest.mark.parametrize(
    "statement",
    ["alter table ledger.charges drop column amount", "alter table ledger.charges alter amount type double"],
    ids=["a column is missing", "money became a float"],
)
def test_an_input_table_that_drifted(world: DemoWorld, statement: str) -> None:
    """SCHEMA_DRIFT, with the column named."""
    with world.connection() as warehouse:
        warehouse.execute(statement)

    answer = plan(world)

    # Without its amount or date the ledger cannot even be fingerprinted; either way nothing was planned on it.
    assert answer.document["code"] == "SCHEMA_DRIFT", answer.document["text"]
    assert "amount" in json.dumps(answer.document["findings"])


def test_an_object_that_was_landed_satisfies_the_plan_when_the_drop_expired(world: DemoWorld) -> None:
    """The month runs, the lifecycle rule strikes, the month is planned again: from the landing, and it says so."""
    planexec("run", TASK, "--partition", "2026-03", "--home", world.home)
    world.remove(world.export_key)

    again = planexec("run", TASK, "--partition", "2026-03", "--home", world.home).document

    assert again["status"] == "succeeded"
    assert {s["outcome"] for s in again["steps"]} == {"reused"}


def test_two_landed_versions_and_no_object_is_a_question_for_a_person(world: DemoWorld) -> None:
    """Nobody guesses which delivery was meant."""
    planexec("run", TASK, "--partition", "2026-03", "--home", world.home)
    corrected = world.read(world.export_key).replace(b"\n", b"\r\n")
    world.put(world.export_key, corrected)
    planexec("run", TASK, "--partition", "2026-03", "--home", world.home)
    world.remove(world.export_key)

    answer = plan(world)

    assert answer.document["code"] == "AMBIGUOUS_LANDING"
    assert "2 versions" in answer.document["text"]


def test_a_plan_that_broke_a_rule_is_proposed_again_and_one_that_the_world_refused_is_kept(
    world: DemoWorld, recorded: Callable[..., None]
) -> None:
    """Same inputs: the planner is asked again only where the plan itself was at fault."""
    recorded(lambda answer: answer["steps"][5].update(claims=[{"claim": "looks_nice"}]))
    rejected(plan(world), "PLAN_REJECTED")
    rejected(plan(world), "PLAN_REJECTED")
    attempt = planexec("status", TASK, "--home", world.home).document["periods"][2]["attempt"]

    events = planexec("show", attempt, "--home", world.home).document["events"]

    assert [e["for"] for e in events if e["kind"] == "proposed"] == ["a plan", "a repair"] * 2
