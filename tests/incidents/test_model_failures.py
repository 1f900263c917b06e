"""A month whose plan a model is to write: what goes wrong with the model ends it before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.store.rows import Attempt
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
from dagster_planexec.planner.recording import fill
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.plan_form import plan_form
from dagster_planexec.settle import prepare, settle
from dagster_planexec.settling.parts import Launcher, Settling
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.period import Period
from tests.support.chat_server import answers, chat_server, fails, never, says
from tests.support.planexec import PROJECT

PERIOD = TASK.period("2026-02")
FORM = plan_form(PlanRequest(TASK, PERIOD, ToolRegistry(BUILTIN_TOOLS)))


def good() -> Plan:
    """The recorded plan for the period."""
    text = (PROJECT / "assets" / TASK.name / "plans" / "recorded_export_csv.json").read_text(encoding="utf-8")
    return fill(json.loads(text)["answer"], PERIOD)


def strictly(**args_of_credit: Any) -> str:
    """A good answer, but for what is said of the credits."""
    answer = FORM.strict(good())
    answer["steps"][-1]["args"] |= args_of_credit
    return json.dumps(answer)


class NeverLauncher(Launcher):
    """Says if it is asked to run anything."""

    launched = 0

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        self.launched += 1
        return "none"


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    """The flagship in a seeded world of its own."""
    import definitions

    with LocalS3() as s3:
        world = DemoWorld(tmp_path / "home", s3.endpoint, period=PERIOD.text)
        world.seed()
        with environment(settings_of(world, None)):
            (planned,) = (one for one in definitions.TASKS if one.name == TASK.name)
            made = work_of(planned.binding)
            yield made
            made.journal.close()


@pytest.mark.parametrize(
    ("respond", "code"),
    [
        (answers(None, refusal="no"), "MODEL_REFUSED"),
        (answers(strictly()[:300], finish="length"), "ANSWER_TRUNCATED"),
        (answers("Sure! Here is"), "ANSWER_INVALID"),
        (says({"choices": []}), "ANSWER_EMPTY"),
        (answers(strictly(cap="99999.00")), "PLAN_REJECTED"),
        (fails(401), "AUTH_FAILED"),
        (fails(429, retry_after="3600"), "THROTTLED"),
        (fails(503, retry_after="3600"), "UNAVAILABLE"),
        (never, "TIMEOUT"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_nothing_runs_when_there_is_no_plan_to_run(work: Work, respond: Any, code: str) -> None:
    """It ends with its code; no step began, no tool was called, nothing was launched."""
    launcher = NeverLauncher()
    with chat_server(respond) as chat:
        planner = OpenAIPlanner("model-x", base_url=chat.url, timeout_s=2)
        report = settle(Settling(work, planner, launcher), PERIOD)
    attempt = work.journal.newest_attempt(TASK.name, PERIOD.text)

    # What came and was no plan is a rejection; what did not come is an error, and may come another time.
    came = code.startswith("ANSWER_") or code in {"MODEL_REFUSED", "PLAN_REJECTED"}
    assert (report.status, report.code) == ("rejected" if came else "error", code)
    assert chat.arrived
    assert launcher.launched == 0
    assert attempt is not None
    assert {event.kind for event in work.journal.events(attempt.id)}.isdisjoint({"step-started", "calling", "called"})
    assert not list(work.ports.roots.reports.rglob("*.md"))


def test_an_answer_that_is_no_plan_is_kept_to_be_read(work: Work) -> None:
    """Bounded, in the event that says why it was none."""
    with chat_server(answers("Sure! Here is your plan: " + "x" * 10_000)) as chat:
        settle(Settling(work, OpenAIPlanner("model-x", base_url=chat.url), NeverLauncher()), PERIOD)
    attempt = work.journal.newest_attempt(TASK.name, PERIOD.text)
    assert attempt is not None
    [said] = work.journal.events(attempt.id, kinds=["proposed"])

    assert said.payload["answered"].startswith("Sure! Here is your plan")
    assert len(said.payload["answered"]) < 2_100


def test_a_plan_that_a_model_wrote_is_checked_and_may_run(work: Work) -> None:
    """With who wrote it, and that a model was called."""
    with chat_server(answers(strictly())) as chat:
        planner = OpenAIPlanner("model-x", base_url=chat.url, timeout_s=20)
        prepared = prepare(Settling(work, planner, NeverLauncher()), PERIOD)

    assert prepared.may_run
    assert prepared.checked is not None
    assert prepared.checked.plan == good()
    assert prepared.attempt is not None
    assert prepared.attempt.provenance["model_called"] is True
    assert str(prepared.attempt.provenance["author"]).startswith("model-x, prompt ")
