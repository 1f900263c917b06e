"""Recordings: what a planner answered is written down, and replayed in the situation it was written for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
from dagster_planexec.planner.planner import Planner, Proposal, Usage
from dagster_planexec.planner.recorded_planner import RecordedPlanner
from dagster_planexec.planner.recording import contract_version
from dagster_planexec.planner.recording_planner import RecordingPlanner
from dagster_planexec.planner.request import PlanRequest, Repair, Revising, StepOutcome
from dagster_planexec.planner.strict.plan_form import plan_form
from dagster_planexec.world.period import Period
from tests.support.chat_server import answers, chat_server
from tests.support.toolbox import REGISTRY, TASK, flagship, flagship_json

MARCH = PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY)
APRIL = PlanRequest(TASK, Period.parse("2026-04", "month"), REGISTRY)
FETCH = flagship().step("fetch_export")
SEEN = {"objects": 2, "amount": Decimal("12.50"), "key": "2026-03-a.csv", "full": True,
        "at": datetime(2026, 3, 7, 9, tzinfo=UTC), "lockfiles": ("a", "b")}  # fmt: skip


def answer(step: str) -> dict[str, Any]:
    """A plan of one step, with placeholders."""
    args = {"bucket": "b", "key": "exports/{period}.csv"}
    return {"task": TASK.name, "period": "{period}", "steps": [{"id": step, "tool": "s3.get", "args": args}]}


def record(folder: Path, *revisions: dict[str, Any]) -> RecordedPlanner:
    """A planner that replays `first`, and these revisions."""
    wrapped = {"task": TASK.name, "contract_version": contract_version(MARCH), "author": "by hand",
               "answer": answer("first"), "revisions": list(revisions)}  # fmt: skip
    path = folder / "recorded.json"
    path.write_text(json.dumps(wrapped), encoding="utf-8")
    return RecordedPlanner(path)


def after(step: str, /, **situation: Any) -> dict[str, Any]:
    """A revision: the plan of this one step, for this situation."""
    return {"after": situation, "answer": answer(step)}


def stopped(**changes: Any) -> PlanRequest:
    """March, stopped by a surprise at the fetch."""
    outcome = StepOutcome(FETCH, "done", None, SEEN)
    revising = Revising(2, "surprise", FETCH.id, "DROP_INCOMPLETE", (), (outcome,), (FETCH,), (outcome,),
                        (flagship(),), 1)  # fmt: skip
    return replace(MARCH, revising=replace(revising, **changes))


def step_of(proposal: Proposal) -> str | None:
    """The one step's id."""
    return proposal.plan.steps[0].id if proposal.plan else proposal.code


@pytest.mark.parametrize(
    ("situation", "matches"),
    [
        ({}, True),
        ({"trigger": "surprise"}, True),
        ({"trigger": "checkpoint"}, False),
        ({"code": "DROP_INCOMPLETE"}, True),
        ({"code": "OBJECT_GONE"}, False),
        ({"code": None}, False),
        ({"step": "fetch_export"}, True),
        ({"step": "reconcile"}, False),
        ({"facts": {"objects": 2}}, True),
        ({"facts": {"objects": 3}}, False),
        ({"facts": {"objects": "2"}}, False),
        ({"facts": {"full": 1}}, False),
        ({"facts": {"full": True, "objects": 2}}, True),
        ({"facts": {"full": True, "objects": 1}}, False),
        ({"facts": {"nobody_saw": None}}, False),
        ({"facts": {"amount": "12.50"}}, True),
        ({"facts": {"at": "2026-03-07T09:00:00Z"}}, True),
        ({"facts": {"lockfiles": ["a", "b"]}}, True),
        ({"facts": {"lockfiles": ["b", "a"]}}, False),
        ({"facts": {"key": "{period}-a.csv"}}, True),
        ({"trigger": "surprise", "code": "DROP_INCOMPLETE", "step": "fetch_export", "facts": {"objects": 2}}, True),
        ({"trigger": "surprise", "code": "DROP_INCOMPLETE", "step": "reconcile", "facts": {"objects": 2}}, False),
    ],
    ids=str,
)
def test_a_revision_is_replayed_where_all_that_it_says_was_seen(
    tmp_path: Path, situation: dict[str, Any], matches: bool
) -> None:
    """What is left out matches everything, what is said matches its own value and type only."""
    planner = record(tmp_path, after("second", **situation))

    assert step_of(planner.propose(stopped())) == ("second" if matches else "PLAN_REJECTED")


def test_the_first_that_matches_is_replayed(tmp_path: Path) -> None:
    """In the order of the file."""
    planner = record(tmp_path, after("no", code="OBJECT_GONE"), after("yes", step="fetch_export"), after("late"))

    assert step_of(planner.propose(stopped())) == "yes"


def test_a_checkpoint_has_no_code(tmp_path: Path) -> None:
    """`null` says so."""
    planner = record(tmp_path, after("next", code=None))

    assert step_of(planner.propose(stopped(trigger="checkpoint", code=None))) == "next"


def test_the_facts_of_an_earlier_revisions_step_count_too(tmp_path: Path) -> None:
    """The step at which it stopped may be among what is done and not among the last outcomes."""
    other = StepOutcome(flagship().step("reconcile"), "failed", "ONE_SIDED", {"objects": 7})
    planner = record(tmp_path, after("second", facts={"objects": 2}))

    assert step_of(planner.propose(stopped(recent=(other,)))) == "second"
    assert step_of(planner.propose(stopped(recent=(other,), done=()))) == "PLAN_REJECTED"


def test_no_situation_recorded_is_said(tmp_path: Path) -> None:
    """What was seen, and what to do."""
    proposal = record(tmp_path, after("no", trigger="checkpoint")).propose(stopped())

    assert (proposal.plan, proposal.code) == (None, "PLAN_REJECTED")
    assert "nothing was recorded in recorded.json for this situation" in proposal.message
    assert "surprise with DROP_INCOMPLETE at step 'fetch_export'" in proposal.message
    assert proposal.hint


def test_only_a_recording_with_revisions_revises(tmp_path: Path) -> None:
    """Another would only be asked to say that it cannot."""
    assert not record(tmp_path).revises
    assert record(tmp_path, after("second")).revises
    assert not RecordedPlanner(tmp_path / "none.json").revises


def test_a_refused_recording_has_no_other_answer(tmp_path: Path) -> None:
    """The same plan again would be refused again."""
    repair = Repair(flagship(), ({"code": "cycle"},))
    proposal = record(tmp_path, after("second")).propose(replace(MARCH, repair=repair))

    assert (proposal.plan, proposal.code) == (None, "PLAN_REJECTED")


@pytest.mark.parametrize(
    "revision",
    [
        {"after": {}}, {"answer": {}}, {"after": {"when": "now"}, "answer": {}}, [], {"after": [], "answer": {}},
        {"after": {"trigger": "whim"}, "answer": {}}, {"after": {"facts": []}, "answer": {}},
        {"after": {}, "answer": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_recording_with_odd_revisions_is_rejected(tmp_path: Path, revision: Any) -> None:
    """Before any of it is replayed."""
    planner = record(tmp_path, revision)

    assert planner.propose(MARCH).code == "PLAN_REJECTED"
    assert "revisions" in planner.propose(MARCH).message


class Scripted(Planner):
    """Answers with plans one after the other, as a model would."""

    name = "scripted"
    calls_model = True
    revises = True

    def __init__(self, *plans: Plan | None) -> None:
        self._plans = list(plans)

    def propose(self, request: PlanRequest) -> Proposal:
        plan = self._plans.pop(0)
        code = None if plan else "TIMEOUT"
        return Proposal(plan, self.name, "model-x, prompt 3f9a", model_called=True, code=code,
                        more={"prompt": "3f9a"}, usage=Usage("model-x", 1, 10, 20))  # fmt: skip


def plan_with(step: str, key: str = "vendor/exports/2026-03-invoice.csv") -> Plan:
    """A plan that names the month in several ways."""
    data = flagship_json()
    data["steps"] = data["steps"][:3]
    data["steps"][2] |= {"id": step, "args": {"bucket": "vendor-drops", "key": key}}
    return Plan.model_validate(data)


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    """The same plans in the same situations, without a model, and for another period but for its name."""
    path = tmp_path / "new" / "recorded.json"
    first, second = plan_with("first"), plan_with("second")
    recording = RecordingPlanner(Scripted(first, second), path)

    asked = [recording.propose(MARCH), recording.propose(stopped())]
    replaying = RecordedPlanner(path)
    again = [replaying.propose(MARCH), replaying.propose(stopped())]

    assert [p.plan for p in asked] == [p.plan for p in again] == [first, second]
    assert [p.author for p in again] == ["model-x, prompt 3f9a (recording recorded.json)"] * 2
    assert [p.model_called for p in again] == [False, False]
    assert asked[0].usage == Usage("model-x", 1, 10, 20)
    april = replaying.propose(APRIL).plan
    assert april is not None
    assert april.model_dump_json() == first.model_dump_json().replace("2026-03", "2026-04").replace("202603", "202604")
    assert json.loads(path.read_text(encoding="utf-8"))["prompt"] == "3f9a"


def test_a_recorded_situation_is_matched_by_its_facts(tmp_path: Path) -> None:
    """Another number of objects is another situation."""
    path = tmp_path / "recorded.json"
    recording = RecordingPlanner(Scripted(plan_with("first"), plan_with("second")), path)
    recording.propose(MARCH)
    recording.propose(stopped())
    elsewhere = stopped(recent=(StepOutcome(FETCH, "done", None, {**SEEN, "objects": 3}),), done=())

    assert RecordedPlanner(path).propose(elsewhere).code == "PLAN_REJECTED"


def test_a_repaired_answer_takes_the_place_of_the_refused_one(tmp_path: Path) -> None:
    """At the start, and in a revision."""
    path = tmp_path / "recorded.json"
    refused, mended, late, later = (plan_with(name) for name in ("refused", "mended", "late", "later"))
    recording = RecordingPlanner(Scripted(refused, mended, late, later), path)
    repair = Repair(refused, ({"code": "cycle"},))
    for request in (MARCH, replace(MARCH, repair=repair), stopped(), replace(stopped(), repair=repair)):
        recording.propose(request)

    replaying = RecordedPlanner(path)
    assert [replaying.propose(MARCH).plan, replaying.propose(stopped()).plan] == [mended, later]
    assert len(json.loads(path.read_text(encoding="utf-8"))["revisions"]) == 1


def test_no_answer_is_not_recorded(tmp_path: Path) -> None:
    """A failure is no answer."""
    path = tmp_path / "recorded.json"

    assert RecordingPlanner(Scripted(None), path).propose(MARCH).code == "TIMEOUT"
    assert not path.exists()


def test_what_cannot_be_recorded_is_said_and_its_cost_is_kept(tmp_path: Path) -> None:
    """A folder in the way, and a plan that holds a placeholder of its own."""
    (tmp_path / "folder").mkdir()
    for path, plan in ((tmp_path / "folder", plan_with("a")), (tmp_path / "b.json", plan_with("a", "{period}"))):
        proposal = RecordingPlanner(Scripted(plan), path).propose(MARCH)

        assert (proposal.plan, proposal.code) == (None, "PLAN_REJECTED")
        assert "could not be recorded" in proposal.message
        assert proposal.usage == Usage("model-x", 1, 10, 20)


def test_a_models_answer_is_recorded_once_and_replayed_for_ever(tmp_path: Path) -> None:
    """From a real server to a file, and from the file without one."""
    with chat_server(answers(json.dumps(plan_form(MARCH).strict(flagship())))) as chat:
        inner = OpenAIPlanner("model-x", base_url=chat.url, timeout_s=10)
        asked = RecordingPlanner(inner, tmp_path / "recorded.json").propose(MARCH)
    replayed = RecordedPlanner(tmp_path / "recorded.json").propose(MARCH)

    assert asked.plan == replayed.plan == flagship()
    assert replayed.author == f"{asked.author} (recording recorded.json)"
    assert (replayed.model_called, replayed.usage, len(chat.arrived)) == (False, None, 1)


def test_recording_passes_on_what_the_planner_is(tmp_path: Path) -> None:
    """Its name, recipe, and what it can."""
    inner = Scripted()
    recording = RecordingPlanner(inner, tmp_path / "r.json")

    assert (recording.name, recording.recipe, recording.calls_model, recording.revises) == (
        inner.name, inner.recipe, True, True,
    )  # fmt: skip
    assert recording.examine(MARCH) is None
