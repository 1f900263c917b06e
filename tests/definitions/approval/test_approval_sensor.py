"""The approval sensor: what it starts, what it waits for, what expires under it, and whom it tells."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from dagster_planexec.definitions.approval.approval_sensor import approval_sensor, look_at_holds
from dagster_planexec.definitions.approval.continue_job import continue_job
from dagster_planexec.definitions.approval.notices import HoldNews
from dagster_planexec.definitions.planned_task import finish_name
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.journal.money.approvals.decisions import record
from dagster_planexec.journal.money.approvals.holds import HoldRecord, hold
from dagster_planexec.journal.money.approvals.keys import keys_for
from tests.definitions.approval.conftest import NOW, Desk, MakeDesk


def look(desk: Desk) -> Any:
    """One tick, without telling anybody."""
    return look_at_holds(desk.journal, desk.task, desk.clock.now(), TaskRuns(desk.instance, desk.task))


def tick(desk: Desk, told: list[HoldNews], *, breaks: bool = False) -> dg.SensorResult:
    """One tick of the real sensor."""

    def on_hold(news: HoldNews) -> None:
        told.append(news)
        if breaks:
            raise OSError("the mail server is away")

    sensor = approval_sensor(desk.planned.binding, on_hold=on_hold)
    result = sensor(dg.build_sensor_context(instance=desk.instance))
    assert isinstance(result, dg.SensorResult)
    return result


def approve(desk: Desk, held: HoldRecord, by: str = "ada") -> None:
    """With a signature."""
    record(desk.journal, desk.task, desk.signed(held, by), keys_for(("ada", "grace")), desk.clock.now())


def ran(desk: Desk, request: dg.RunRequest, status: dg.DagsterRunStatus, said: str | None = None) -> None:
    """A run that a sensor asked for, as the daemon leaves it."""
    tags = {"dagster/run_key": str(request.run_key), "dagster/partition": str(request.partition_key)}
    desk.instance.create_run_for_job(
        continue_job(desk.planned),
        run_config={"ops": {finish_name(desk.task): {"config": {"hold": "hold_0"}}}},
        tags={**tags, **({"planexec/status": said} if said else {})},
        status=status,
    )


def test_nothing_is_started_while_nobody_has_decided(desk: MakeDesk) -> None:
    """A hold asks for nothing."""
    d = desk()
    d.opened()
    assert look(d).requests == []


def test_an_approval_is_continued_once(desk: MakeDesk) -> None:
    """The same request until its run is there, and none afterwards, however that run ended."""
    d = desk()
    held = d.opened()
    approve(d, held)
    (first,), (second,) = look(d).requests, look(d).requests
    ran(d, first, dg.DagsterRunStatus.FAILURE, "error")
    after = look(d)

    assert first.run_key == second.run_key
    assert first.run_config == {"ops": {f"{d.task.name}__finish": {"config": {"hold": held.id}}}}
    assert first.partition_key == "2026-03-01"
    assert after.requests == []
    assert "2026-03 was continued already" in after.said


def test_a_continuation_that_stood_back_is_started_again(desk: MakeDesk) -> None:
    """Another run held the month: it changed nothing, so it is asked for under another key."""
    d = desk()
    approve(d, d.opened())
    (first,) = look(d).requests
    ran(d, first, dg.DagsterRunStatus.SUCCESS, "stood-back")
    (second,) = look(d).requests
    ran(d, second, dg.DagsterRunStatus.SUCCESS, "stood-back")
    (third,) = look(d).requests

    assert len({first.run_key, second.run_key, third.run_key}) == 3


def test_a_continuation_that_died_without_a_word_is_started_again(desk: MakeDesk) -> None:
    """Its process was killed: what is issued is not issued twice. After the third death a person looks."""
    d = desk()
    approve(d, d.opened())
    keys = []
    for _ in range(4):
        (request,) = look(d).requests
        keys.append(request.run_key)
        ran(d, request, dg.DagsterRunStatus.FAILURE)
    assert len(set(keys)) == 4
    assert look(d).requests == []


def test_a_continuation_that_said_why_it_failed_is_not_started_again(desk: MakeDesk) -> None:
    """That is for a person to see first."""
    d = desk()
    approve(d, d.opened())
    (request,) = look(d).requests
    ran(d, request, dg.DagsterRunStatus.FAILURE, "stopped")
    assert look(d).requests == []


def test_a_period_that_is_being_run_waits(desk: MakeDesk) -> None:
    """The run that is there may be the one that continues it."""
    d = desk()
    approve(d, d.opened())
    (request,) = look(d).requests
    ran(d, dg.RunRequest(run_key="by hand", partition_key="2026-03-01"), dg.DagsterRunStatus.STARTED)
    waits = look(d)

    assert waits.requests == []
    assert "waits for a run to end" in waits.said
    assert request.partition_key == "2026-03-01"


def test_four_eyes_start_nothing_with_two(desk: MakeDesk) -> None:
    """One approval of two is none."""
    d = desk(four_eyes=True)
    held = d.opened()
    approve(d, held)
    before = look(d)
    approve(d, held, "grace")

    assert (len(before.requests), len(look(d).requests)) == (0, 1)


def test_what_nobody_decided_expires(desk: MakeDesk) -> None:
    """At its time, under the sensor's eyes; it can be continued no more."""
    d = desk(expires_after_s=3600, ages_after_s=600)
    held, other = d.opened("2026-02"), d.opened("2026-03")
    approve(d, other)
    d.clock.at = NOW + timedelta(seconds=3600)
    result = look(d)
    states = [found.state for found in (hold(d.journal, one.id) for one in (held, other)) if found]

    assert result.requests == []
    assert states == ["expired", "expired"]


def test_people_are_told_once_of_each_piece_of_news(desk: MakeDesk) -> None:
    """It opens, it ages, it expires; and what took its place opens."""
    d = desk(expires_after_s=7200, ages_after_s=3600)
    told: list[HoldNews] = []
    d.opened("2026-02")
    for seconds in (0, 0, 3600, 3601, 7200, 7201):
        d.clock.at = NOW + timedelta(seconds=seconds)
        tick(d, told)

    assert [news.kind for news in told] == ["opened", "ageing", "expired"]
    assert {news.period for news in told} == {"2026-02"}
    assert all(news.approvers == ("ada", "grace") for news in told)


def test_a_later_attempt_is_said_to_take_its_place(desk: MakeDesk) -> None:
    """Of the earlier hold, that nobody need decide any more."""
    d = desk()
    told: list[HoldNews] = []
    first = d.opened()
    tick(d, told)
    d.clock.at = NOW + timedelta(seconds=60)
    second = d.opened(inputs="another delivery")
    tick(d, told)

    assert [(news.kind, news.hold) for news in told] == [
        ("opened", first.id), ("superseded", first.id), ("opened", second.id)
    ]  # fmt: skip


def test_news_that_could_not_be_told_is_told_again(desk: MakeDesk) -> None:
    """The hook breaks: what was approved goes on all the same, and the tick says what broke."""
    d = desk()
    told: list[HoldNews] = []
    d.opened("2026-02")
    approve(d, d.opened("2026-03"))
    broken = tick(d, told, breaks=True)
    tick(d, told)

    assert len(broken.run_requests or ()) == 1
    assert [news.kind for news in told] == ["opened", "opened"]
    assert tick(d, told).skip_reason is not None or len(told) == 2


def test_a_tick_without_a_journal_says_so(desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Nothing has run, and a sensor makes no journal."""
    d = desk()
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    result = tick(d, [])

    assert result.skip_reason is not None
    assert "nothing has run" in str(result.skip_reason)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_told_is_plain_and_bounded(desk: MakeDesk) -> None:
    """Vendor text in the facts makes no line of its own."""
    d = desk()
    told: list[HoldNews] = []
    held = d.opened()
    tick(d, told)
    lines = told[0].text.splitlines()

    assert all(len(line) < 500 for line in lines)
    assert f"look: planexec show {held.id}" in lines
    assert lines[2] == "waits: 30 credit lines of 1,234.50 USD"
