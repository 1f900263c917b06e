"""A held month, released by two ways: it is continued by the sensor's run, once, and every credit is issued once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pytest

import definitions
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.definitions.approval.approval_sensor import Tick, look_at_holds
from dagster_planexec.definitions.approval.notices import news_of
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.holds import HoldRecord, hold, holds_of
from dagster_planexec.journal.money.approvals.keys import keys_for
from dagster_planexec.journal.money.approvals.notices import Notice
from dagster_planexec.journal.money.approvals.signing import sign
from tests.support.approving import with_keys
from tests.support.flagship import TASK, Month, materialise, world_of
from tests.support.months import World

BINDING = VENDOR_RECONCILIATION.binding
POLICY = BINDING.task.approval
pytestmark = pytest.mark.xdist_group("flagship-months")


@dataclass
class Story:
    """What became of the month, in order."""

    held: Month
    hold: HoldRecord
    before: Tick
    form: dg.DagsterRun
    approved: Tick
    continued: Month
    after: Tick
    closed: HoldRecord
    credits: Any
    again: dg.DagsterRun
    credits_after: Any
    facts: dict[str, Any] = field(default_factory=dict)


def look(instance: dg.DagsterInstance) -> Tick:
    """One tick of the approval sensor."""
    journal = Journal()
    try:
        return look_at_holds(journal, BINDING.task, BINDING.resources.clock.now(), TaskRuns(instance, BINDING.task))
    finally:
        journal.close()


def run(instance: dg.DagsterInstance, name: str, config: dict[str, Any], **given: Any) -> dg.DagsterRun:
    """Run a job as Dagster would."""
    job = definitions.defs.resolve_job_def(name)
    result = job.execute_in_process(instance=instance, run_config=config, raise_on_error=False, **given)
    found = instance.get_run_by_id(result.run_id)
    assert found is not None
    return found


def start(instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.DagsterRun:
    """Run what a sensor has asked for."""
    tags = {**request.tags, "dagster/run_key": str(request.run_key)}
    return run(instance, f"{TASK}__continue", request.run_config, partition_key=request.partition_key, tags=tags)


def fill_in(held: HoldRecord, by: str, *, decision: str = "approve", **other: str) -> dict[str, Any]:
    """The form, filled in with what somebody signed where their key is."""
    keys = keys_for(POLICY.approvers)
    signed = sign(
        held, decision=decision, by=by, reason="seen with the vendor", key=keys.key(by),  # type: ignore[arg-type]
        now=BINDING.resources.clock.now(),
    )  # fmt: skip
    said = {"hold": held.id, "decision": decision, "by": by, "reason": "seen with the vendor", "signed": signed.text()}
    return {"ops": {f"{TASK}__take_decision": {"config": {**said, **other}}}}


@pytest.fixture(scope="module")
def story(tmp_path_factory, seeded, endpoint) -> Iterator[Story]:
    """Credits over the cap wait; a person signs, fills in the form, and the sensor goes on."""
    home = tmp_path_factory.mktemp("home")
    overrides = {"telemetry": {"enabled": False}}
    with (
        world_of(seeded, home, endpoint, fault="inflate-credits") as world,
        with_keys(*POLICY.approvers),
        dg.DagsterInstance.local_temp(str(home / "dagster"), overrides=overrides) as instance,
    ):
        held = materialise(instance, world)
        journal = Journal()
        (opened,) = holds_of(journal, TASK)
        before = look(instance)
        form = run(instance, f"{TASK}__decide", fill_in(opened, POLICY.approvers[0]))
        approved = look(instance)
        (request,) = approved.requests
        continued = Month(instance, world, start(instance, request))
        after = look(instance)
        closed = hold(journal, opened.id)
        mine = World(home, endpoint, world.period.text)
        issued = mine.credits()
        again = run(instance, f"{TASK}__continue", request.run_config, partition_key=request.partition_key)
        journal.close()
        assert closed is not None
        yield Story(held, opened, before, form, approved, continued, after, closed, issued, again, mine.credits())


def test_a_hold_keeps_no_run_and_starts_none(story: Story) -> None:
    """The month's run is over and green; as long as nobody has decided nothing is asked for."""
    assert story.held.task_run.status is dg.DagsterRunStatus.SUCCESS
    assert story.held.task_run.tags["planexec/status"] == "held"
    assert story.before.requests == []


def test_the_form_takes_the_signed_decision(story: Story) -> None:
    """The run of the form says how the hold stands now."""
    assert story.form.status is dg.DagsterRunStatus.SUCCESS
    assert story.form.tags["planexec/status"] == "approved"
    assert story.form.tags["planexec/hold"] == story.hold.id


def test_the_sensor_continues_the_month_once(story: Story) -> None:
    """Under a key made of the approval; then there is nothing more to ask for."""
    (request,) = story.approved.requests
    assert request.partition_key == story.held.world.period.key
    assert request.tags == {"planexec/hold": story.hold.id}
    assert str(request.run_key).startswith("approval-")
    assert story.after.requests == []


def test_the_continuation_does_what_was_left_and_nothing_else(story: Story) -> None:
    """One step is called; the others are reused; the plan is the one that was shown, and no planner was asked."""
    journal = Journal()
    plan_run = story.continued.plan_run
    assert plan_run is not None
    calls = [e.step for e in journal.events(story.hold.attempt, run_id=plan_run.run_id, kinds=["calling"])]
    asked = journal.events(story.hold.attempt, kinds=["proposed"])
    journal.close()

    assert story.continued.task_run.status is dg.DagsterRunStatus.SUCCESS
    assert story.continued.task_run.tags["planexec/status"] == "succeeded"
    assert calls == ["issue_credit"]
    assert len(asked) == 1
    assert plan_run.tags["planexec/plan"] == story.hold.plan_digest[:12]


def test_every_credit_is_issued_once_and_recorded(story: Story) -> None:
    """As many as were shown, for as much; the external asset has the month."""
    made = story.continued.materialised(story.continued.task_run)["credits"]

    assert len(story.credits) == story.hold.facts["count"] > 0
    assert made.partition == story.held.world.period.key
    assert made.metadata["dagster/row_count"].value == len(story.credits)
    assert made.metadata["hold"].value == story.hold.id
    assert made.metadata["approved"].value == f"{POLICY.approvers[0]}: seen with the vendor"
    assert story.closed.state == "used"


def test_to_continue_it_again_issues_nothing(story: Story) -> None:
    """Whoever starts the job by hand with a hold that is used finds it done."""
    assert story.credits_after == story.credits
    assert story.again.tags["planexec/status"] in {"succeeded", "stopped", "error"}


def test_no_check_is_left_planned(story: Story) -> None:
    """The continuation is a job of its own and plans no checks of the assets."""
    planned = story.continued.events(story.continued.task_run, dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    assert planned == []


def test_people_are_told_what_waits_and_how_to_decide(story: Story) -> None:
    """One thing a line, with the command that can be typed."""
    news = news_of(BINDING.task, Notice(story.hold, "opened"))
    lines = dict(line.split(": ", 1) for line in news.text.splitlines())

    assert lines["code"].startswith("CAP_EXCEEDED")
    assert lines["waits"].endswith("USD")
    assert lines["approve"] == f"planexec approve {story.hold.id} --by NAME --reason TEXT"
    assert f"{TASK}__decide" in lines["or in Dagster"]
