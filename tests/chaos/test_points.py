"""A month whose process is killed ends like one that nobody killed, at a sample of the points of `make chaos`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import RunReport
from tests.support.flagship import CREDENTIALS, SMALL, TASK
from tests.support.killed import Point, Watch, complaints, look, one_home, start_and_kill, struck
from tests.support.months import World

SAMPLE = [
    ("sqlite", Point(5, name="checked")),
    ("sqlite", Point(29, name="step-ended fetch_export")),
    ("sqlite", Point(33, 0.03, "inside load_staging")),
    ("postgres", Point(44, name="decided reconcile")),
    ("sqlite", Point(57, 0.04, "inside issue_credit")),
    ("postgres", Point(58, name="called issue_credit")),
]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What a worker's environment holds."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PLANEXEC_DEMO_FAULT", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("backend", "point"), SAMPLE, ids=lambda value: getattr(value, "name", value), indirect=["backend"]
)
def test_a_killed_month_ends_like_any_other(
    place: None, environment: pytest.MonkeyPatch, seeded: Path, endpoint: str, tmp_path: Path, point: Point
) -> None:
    """It succeeds, calls nothing twice that was done, asks no planner twice, and issues every credit once."""
    with one_home(seeded, tmp_path / "world", endpoint, SMALL) as world:
        assert struck(world, TASK, point) == []


def test_a_process_that_is_killed_is_really_killed(
    backend: str, place: None, environment: pytest.MonkeyPatch, seeded: Path, endpoint: str, tmp_path: Path
) -> None:
    """The event of its point is the last one in the journal; a point that never comes kills nobody."""
    with one_home(seeded, tmp_path / "world", endpoint, SMALL) as world:
        assert start_and_kill(world, Point(7))
        journal = Journal()
        attempt = journal.newest_attempt(TASK, SMALL)
        assert attempt is not None
        assert len(journal.events(attempt.id)) == 7
        assert attempt.status == "open"
        journal.close()
        assert not start_and_kill(world, Point(10_000))


@pytest.fixture
def world(environment: pytest.MonkeyPatch, seeded: Path, endpoint: str, tmp_path: Path) -> Iterator[World]:
    """The flagship, with a journal in SQLite."""
    environment.setenv("PLANEXEC_HOME", str(tmp_path / "journal"))
    with one_home(seeded, tmp_path / "world", endpoint, SMALL) as made:
        yield made


@pytest.mark.parametrize(
    ("change", "calls", "asked", "words"),
    [
        ({"status": "stopped", "code": "OBJECT_GONE"}, [], 0, "ended stopped OBJECT_GONE"),
        ({}, ["fetch_export"], 0, "fetch_export was done and is called again"),
        ({}, ["reconcile", "reconcile"], 0, "reconcile is called twice"),
        ({}, [], 1, "the planner was asked 1 times"),
        ({"credits": True}, [], 0, "credits are issued"),
    ],
)
def test_what_would_be_wrong_is_complained_about(
    world: World, change: dict[str, object], calls: list[str], asked: int, words: str
) -> None:
    """A judge that finds nothing must be able to find something."""
    report = world.settle()
    before = look(world, TASK)
    assert complaints(world, before, report, [], 0) == []
    if change.pop("credits", False):
        _lose_a_credit(world)
    watched = Watch({"fetch_export": "s3.get"}, before.asked, before.credits)

    found = complaints(world, watched, _changed(report, change), calls, asked)

    assert len(found) == 1
    assert words in found[0]


def _changed(report: RunReport, change: dict[str, object]) -> RunReport:
    return replace(report, **change)  # type: ignore[arg-type]


def _lose_a_credit(world: World) -> None:
    work = world.work()
    with work.ports.warehouse.session() as session:
        session.execute("delete from credits.issued where line_key = (select min(line_key) from credits.issued)")
    work.journal.close()
