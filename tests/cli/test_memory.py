"""`planexec failures` and `planexec prune`, and verbs that look at a journal that is old, empty, damaged or newer."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.patterns import note_failures, note_resolution
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.model import Plan
from tests.support.planexec import PROJECT, planexec

TASK = "vendor_reconciliation"
OLD = (Path(__file__).parents[1] / "journal" / "old" / "before_versions.sql").read_text(encoding="utf-8")
PLAN = Plan.model_validate(
    {"task": TASK, "period": "2026-03", "steps": [{"id": "fetch", "tool": "s3.get", "args": {}}]}, strict=False
)
LOOKING = [
    ("status", TASK),
    ("trace", TASK),
    ("show", TASK),
    ("failures", TASK),
    ("prune", TASK, "--older-than", "400d", "--dry-run"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home."""
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("PLANEXEC_HOME", str(made))
    monkeypatch.setenv("DAGSTER_HOME", str(made / "dagster"))
    return made


def shell(*arguments: str | Path) -> str:
    """What people read."""
    result = CliRunner().invoke(main, ["--project", str(PROJECT), *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def four_months() -> None:
    """January to March fail alike, each settles; it was all long ago."""
    journal = Journal()
    for month in ("2026-01", "2026-02", "2026-03"):
        attempt, _ = journal.open_attempt(task=TASK, version="1", period=month, inputs_digest="i", admission={})
        journal.adopt_plan(attempt.id, journal.save_plan(PLAN), {})
        shut = [{"check": "object_exists", "status": "failed", "code": "OBJECT_GONE"}]
        said = {"tool": "s3.get", "state": "failed", "code": "OBJECT_GONE", "verdicts": shut}
        journal.append(attempt.id, f"bad-{month}", [NewEvent("step-ended", "fetch", said)])
        note_failures(journal, attempt.id, f"bad-{month}", PLAN)
        note_failures(journal, attempt.id, f"good-{month}", PLAN)
        journal.close_run(attempt.id, f"good-{month}", "settled", None)
        note_resolution(journal, attempt.id, f"good-{month}")
    old = (datetime.now(UTC) - timedelta(days=500)).isoformat()
    with journal.engine.begin() as db:
        db.exec_driver_sql("drop trigger planexec_events_never_change")
        db.execute(sa.update(t.events).values(at=old))
        db.execute(sa.update(t.attempts).values(opened_at=old))
    journal.close()


def test_failures_are_told_with_what_resolved_them_and_what_they_suggest(home: Path) -> None:
    """For programs and for people; nothing is applied."""
    four_months()

    (told,) = planexec("failures", TASK, "--home", home).document["tasks"]
    read = shell("failures", TASK, "--home", home)

    (pattern,) = told["patterns"]
    assert (pattern["code"], pattern["count"], pattern["resolved_by"]) == ("OBJECT_GONE", 3, "the same plan again")
    assert "3 of 6 runs (50 %)" in told["proposed_rules"][0]["text"]
    for words in ("OBJECT_GONE", "object_exists", "the same plan again", "proposed:", "nothing of this is applied"):
        assert words in read


def test_failures_of_every_task_are_told_without_a_name(home: Path) -> None:
    """One that never failed, too."""
    told = planexec("failures", "--home", home).document["tasks"]

    assert {one["task"] for one in told} >= {TASK, "council_spend"}
    assert "no step of it has failed yet" in shell("failures", "--home", home)


def test_prune_says_what_goes_and_what_stays_and_why(home: Path) -> None:
    """First without doing it, then doing it; months stay settled."""
    four_months()

    dry = planexec("prune", "--older-than", "400d", "--dry-run", "--home", home).document
    read = shell("prune", TASK, "--older-than", "57w", "--home", home)
    again = planexec("prune", TASK, "--older-than", "400d", "--home", home).document

    (counted,) = dry["journals"]
    tables = {line["table"]: line for line in counted["tables"]}
    assert (counted["attempts"], tables["planexec_events"]["removed"]) == (3, 6)
    assert all(line["why"] for line in counted["tables"])
    assert "3 attempts removed but for their outline" in read
    assert "effects are in the credit system" in read
    assert again["journals"][0]["attempts_that_stay"] == {"only its outline is left": 3}
    periods = planexec("status", TASK, "--home", home).document["periods"]
    assert [p["status"] for p in periods[:3]] == ["settled"] * 3
    assert "pruned" in shell("trace", TASK, "--partition", "2026-03", "--home", home)
    assert planexec("failures", TASK, "--home", home).document["tasks"][0]["patterns"][0]["count"] == 3


@pytest.mark.parametrize("age", ["400", "0d", "-1d", "1.5d", "400 days", "", "99999999d"])
def test_an_age_that_is_none_is_refused(home: Path, age: str) -> None:
    """In words, and with nothing removed."""
    answer = planexec("prune", "--older-than", age, "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "VALIDATION_ERROR")
    assert "400d" in answer.document["hint"]


@pytest.mark.parametrize("verb", [("failures",), ("prune", "--older-than", "1d")], ids=["failures", "prune"])
def test_a_task_that_is_unknown_is_refused_with_the_nearest(home: Path, verb: tuple[str, ...]) -> None:
    """Neither the project nor the journal has it."""
    answer = planexec(verb[0], "vendor_reconcilation", *verb[1:], "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "UNKNOWN_REFERENCE")
    assert f"did you mean {TASK}?" in answer.document["hint"]


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_looking_makes_nothing(home: Path, verb: tuple[str, ...]) -> None:
    """In a home without a journal."""
    planexec(*verb, "--home", home)

    assert [path.name for path in home.iterdir()] == []


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_looking_at_a_journal_without_tables_is_told_in_words(home: Path, verb: tuple[str, ...]) -> None:
    """And it has none afterwards."""
    with sqlite3.connect(home / "journal.sqlite") as db:
        db.execute("create table theirs (x)")
    db.close()

    answer = planexec(*verb, "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "HOME_UNWRITABLE")
    assert "none of its tables" in answer.document["text"]
    with sqlite3.connect(home / "journal.sqlite") as db:
        assert db.execute("select name from sqlite_master").fetchall() == [("theirs",)]
    db.close()


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_a_damaged_journal_is_told_in_words(home: Path, verb: tuple[str, ...]) -> None:
    """One document, no stack trace."""
    (home / "journal.sqlite").write_bytes(b"not a database at all, but long enough to be read as one" * 20)

    answer = planexec(*verb, "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "HOME_UNWRITABLE")
    assert "damaged" in answer.document["text"]
    assert "backup" in answer.document["hint"]
    assert answer.stderr == ""


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_a_newer_journal_is_refused(home: Path, verb: tuple[str, ...]) -> None:
    """By every verb that looks."""
    journal = Journal()
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.schema).values(version=99, applied_at="later"))
    journal.close()

    answer = planexec(*verb, "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "HOME_UNWRITABLE")
    assert "a newer program" in answer.document["text"]


@pytest.mark.parametrize("verb", LOOKING, ids=lambda verb: verb[0])
def test_an_old_journal_is_looked_at_and_stays_old(home: Path, verb: tuple[str, ...]) -> None:
    """Answers as from any other; nothing is migrated."""
    with sqlite3.connect(home / "journal.sqlite") as db:
        db.executescript(OLD.replace("'t'", f"'{TASK}'"))
    db.close()

    answer = planexec(*verb, "--home", home)

    assert answer.exit_code in {0, 3}, answer.document
    with sqlite3.connect(home / "journal.sqlite") as db:
        assert db.execute("select count(*) from sqlite_master where name = 'planexec_schema'").fetchone() == (0,)
    db.close()


@pytest.mark.parametrize("verb", ["status", "trace", "show", "failures"])
def test_what_nobody_foresaw_is_a_document_too(home: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """A program that reads the document gets one; people get the trace on standard error."""
    journal = Journal()
    journal.close()
    monkeypatch.setattr("dagster_planexec.cli.place.project.ProjectFolder.tasks", lambda _: 1 / 0)
    monkeypatch.setattr("dagster_planexec.cli.place.project.ProjectFolder.task", lambda _, __: 1 / 0)

    answer = planexec(verb, TASK, "--home", home)

    assert (answer.exit_code, answer.document["code"]) == (1, "INTERNAL")
    assert "ZeroDivisionError" in answer.document["text"]
    assert "Traceback" in answer.stderr
