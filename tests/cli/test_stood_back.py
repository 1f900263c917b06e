"""A month that another process holds: what the command line says, and what a program can read of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dagster_planexec.cli.document import EXIT
from dagster_planexec.journal.run_report import EXIT_CODES
from tests.cli.test_status import shell
from tests.support.flagship import SMALL, TASK, endpoint, seeded, world_of
from tests.support.leases import held_by, someone
from tests.support.planexec import planexec

__all__ = ["endpoint", "seeded"]


@pytest.fixture
def home(tmp_path: Path, seeded: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A seeded home; nothing has run."""
    home = tmp_path / "home"
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with world_of(seeded, home, endpoint):
        yield home


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_a_verb_that_would_work_on_a_held_month_stands_back(home: Path, verb: str) -> None:
    """Exit code 7; who holds it since when, and what to do; the document has every part."""
    with held_by(someone(1, started_by="the schedule m"), task=TASK, period=SMALL):
        answer = planexec(verb, TASK, "--partition", SMALL, "--home", home)
        shown = shell(verb, TASK, "--partition", SMALL, "--home", home)
    document = answer.document

    assert (answer.exit_code, document["status"], document["code"]) == (7, "stood-back", "LEASE_BUSY")
    assert document["text"].startswith(
        f"run run-1 (started by the schedule m; host host-1, process 101) has held {SMALL}"
    )
    assert f"`planexec status {TASK}" in document["hint"]
    assert (document["steps"], document["plan"]["digest"], document["credits"]["issued_count"]) == ([], None, 0)
    assert "STOOD-BACK LEASE_BUSY run run-1 (started by the schedule m" in shown
    assert "hint: wait until it has ended" in shown


def test_status_says_who_works_on_a_month_and_how_it_stands_as_before(home: Path) -> None:
    """A run that stood back has changed nothing of the table; when nobody holds the month nothing is said."""
    before = planexec("status", TASK, "--home", home).document
    with held_by(someone(1), task=TASK, period=SMALL):
        planexec("run", TASK, "--partition", SMALL, "--home", home)
        document = planexec("status", TASK, "--home", home).document
        shown = shell("status", TASK, "--home", home)
    after = planexec("status", TASK, "--home", home).document
    running = {p["period"]: p["running"] for p in document["periods"] if p["running"]}

    assert list(running) == [SMALL]
    assert {name: running[SMALL][name] for name in ("run_id", "started_by", "host", "pid", "lasts_s")} == {
        "run_id": "run-1", "started_by": "a person", "host": "host-1", "pid": 101, "lasts_s": 600,
    }  # fmt: skip
    assert f"run run-1 (started by a person; host host-1, process 101) has held {SMALL} since" in shown
    assert document["counts"] == before["counts"] == after["counts"]
    assert after == before


def test_the_two_tables_of_exit_codes_are_one() -> None:
    """One is read without SQLAlchemy, the other is part of a report."""
    assert EXIT == EXIT_CODES
    assert len(set(EXIT.values())) == len(EXIT)
