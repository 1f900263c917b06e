"""What can be wrong with a journal's database: a code, words, the next thing to do, and never its password."""

from __future__ import annotations

import logging
import pickle
import sqlite3
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.store import engine as engines
from dagster_planexec.journal.store.place import place_of
from tests.support.postgres import PASSWORD, Postgres

VARIABLE = "PLANEXEC_JOURNAL_BILLING"


def _refused(url: str, monkeypatch: pytest.MonkeyPatch, *, looking: bool = False) -> PlanexecError:
    monkeypatch.setenv(VARIABLE, url)
    with pytest.raises(PlanexecError) as refused:
        Journal("billing", looking=looking)
    said = [*map(str, (refused.value, refused.value.hint, pickle.loads(pickle.dumps(refused.value))))]  # noqa: S301
    said += traceback.format_exception(refused.value)
    assert PASSWORD not in "\n".join(said)
    assert "p%40ss" not in "\n".join(said)
    return refused.value


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("postgresql+psycopg://u:{password}@127.0.0.1:1/journal", "UNAVAILABLE", "does not answer"),
        ("postgresql+psycopg://u:{password}@/journal?host=/nowhere", "UNAVAILABLE", "does not answer"),
        ("mysql://u:{password}@127.0.0.1/journal", "HOME_UNWRITABLE", "SQLite or in Postgres"),
        ("postgres://u:{password}@127.0.0.1/journal", "HOME_UNWRITABLE", "SQLite or in Postgres"),
        ("postgresql+nothing://u:{password}@127.0.0.1/journal", "HOME_UNWRITABLE", "driver"),
        ("{password}", "HOME_UNWRITABLE", "no database URL"),
        ("postgresql+psycopg://u:{password}@127.0.0.1:port/journal", "HOME_UNWRITABLE", "no database URL"),
        ("sqlite:////nowhere/at/all/{password}", "HOME_UNWRITABLE", "cannot be used"),
    ],
)
def test_an_address_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch, url: str, code: str, words: str) -> None:
    """Each with its own code."""
    secret = "x" if url.startswith("sqlite") else PASSWORD
    error = _refused(url.format(password=secret), monkeypatch)

    assert error.code == code
    assert words in error.message
    assert error.hint


def test_a_wrong_password(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is named, the password is not: neither the wrong one nor its form in a URL."""
    error = _refused(postgres.url(postgres.database(), user="locked", password="p%40ss-word-99"), monkeypatch)

    assert error.code == "AUTH_FAILED"
    assert "locked" in error.message
    assert VARIABLE in error.hint


def test_an_unknown_user_and_an_unknown_database(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is not let in, the other leads to nothing."""
    unknown = _refused(postgres.url("nothing_there"), monkeypatch)
    stranger = _refused(postgres.url(postgres.database(), user="stranger"), monkeypatch)

    assert (unknown.code, "is not there" in unknown.message) == ("HOME_UNWRITABLE", True)
    assert stranger.code == "AUTH_FAILED"


def test_a_user_who_may_only_read(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening for writing says what is missing."""
    error = _refused(postgres.url(postgres.database(), user="reader"), monkeypatch)

    assert (error.code, "may not be written" in error.message) == ("HOME_UNWRITABLE", True)


def test_a_database_that_goes_away_and_comes_back(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in hand when its connections ended is UNAVAILABLE; what comes next finds a new connection."""
    database = postgres.database()
    monkeypatch.setenv(VARIABLE, postgres.url(database))
    journal = Journal("billing")
    attempt, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})

    with pytest.raises(PlanexecError) as cut, journal.engine.begin() as db:  # noqa: PT012 - whichever of them meets it
        postgres.end_connections(database)
        db.execute(sa.text("select 1"))
    journal.append(attempt.id, None, [NewEvent("x")])

    assert cut.value.code == "UNAVAILABLE"
    assert [e.kind for e in journal.events(attempt.id)] == ["attempt-opened", "x"]
    journal.close()


def test_a_writer_that_does_not_let_go(journal: Journal, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for it is told so after a while, and not for ever."""
    monkeypatch.setattr(engines, "WAITING_S", 1)
    attempt, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})
    with journal.engine.begin():
        other = Journal()
        with pytest.raises(PlanexecError) as waited:
            other.append(attempt.id, None, [NewEvent("x")])
        other.close()

    assert waited.value.code == "LOCKED"
    assert "another process" in waited.value.message


@pytest.mark.parametrize("key", ["password", "sslpassword"])
def test_no_password_is_in_what_is_shown_of_a_journal(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    """Wherever in the address it stands: in reprs, in the engine's own log, in the URL."""
    monkeypatch.setenv(VARIABLE, postgres.url(postgres.database()) + f"&{key}={PASSWORD}")
    with caplog.at_level(logging.DEBUG, "sqlalchemy"):
        journal = Journal("billing")
    shown = [repr(journal), repr(journal.engine), str(journal.engine.url), repr(place_of("billing")), caplog.text]
    journal.close()

    assert PASSWORD not in " ".join(shown)
    assert "billing" in shown[0]


@pytest.mark.parametrize("content", [b"this is not a database, it is a text file of some length", b"\0" * 4096])
def test_a_file_that_is_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Damaged, and what can be done; for looking as for writing."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    (tmp_path / "journal.sqlite").write_bytes(content)

    for looking in (True, False):
        with pytest.raises(PlanexecError) as told:
            Journal(looking=looking)
        assert told.value.code == "HOME_UNWRITABLE"
        assert "damaged" in told.value.message
        assert "backup" in told.value.hint
    assert (tmp_path / "journal.sqlite").read_bytes() == content


def test_a_file_with_a_damaged_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found when it is read."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    attempt, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})
    for n in range(200):
        journal.append(attempt.id, None, [NewEvent(f"x{n}", None, {"text": "y" * 1_000})])
    journal.close()
    file = tmp_path / "journal.sqlite"
    whole = bytearray(file.read_bytes())
    whole[100_000:200_000] = b"\xff" * 100_000
    file.write_bytes(bytes(whole))

    with pytest.raises(PlanexecError) as told:  # noqa: PT012 - whichever of them meets it
        for _ in range(2):
            opened = Journal(looking=True)
            opened.events(attempt.id)

    assert told.value.code == "HOME_UNWRITABLE"
    assert "damaged" in told.value.message


def test_a_journal_that_lacks_one_table(journal: Journal, backend: str) -> None:
    """Said to lack it, by name."""
    with journal.engine.begin() as db:
        db.exec_driver_sql("drop table planexec_plans")

    with pytest.raises(PlanexecError, match="planexec_plans") as told:
        journal.load_plan("0" * 64)

    assert (told.value.code, "lacks a part" in told.value.message) == ("HOME_UNWRITABLE", True)


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite.opening"])
def test_a_folder_where_a_file_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The journal's own file, or its lock file: a code and not a bare OSError."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    (tmp_path / name).mkdir()

    with pytest.raises(PlanexecError) as told:
        Journal()

    assert told.value.code == "HOME_UNWRITABLE"
    assert name in told.value.message


def test_a_journal_on_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DISK_FULL, by SQLite's own word for it."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    attempt, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})

    @sa.event.listens_for(journal.engine, "begin")
    def _no_room(connection: sa.Connection) -> None:
        connection.exec_driver_sql("pragma max_page_count=1")

    with pytest.raises(PlanexecError) as told:  # noqa: PT012 - whichever of them meets it
        for _ in range(50):
            journal.append(attempt.id, None, [NewEvent("x", None, {"text": "y" * 100_000})])

    assert told.value.code == "DISK_FULL"
    journal.close()


def test_a_folder_that_may_not_be_written_can_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that lies on a disk for reading only: reading needs no right to write."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})
    journal.close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        assert db.execute("select count(*) from planexec_attempts").fetchone() == (1,)
    (tmp_path / "journal.sqlite").chmod(0o444)

    looking = Journal(looking=True)

    assert looking.newest_attempt("t", "2026-03") is not None
    looking.close()
