"""Journals of every version: brought up on opening, once, under a lock; read as they are; refused if they are newer."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.arrivals.drop import seen_for
from dagster_planexec.journal.arrivals.requests import deliveries, unstarted
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.money.approvals.holds import hold, open_hold
from dagster_planexec.journal.results import landed_for, tools_done
from dagster_planexec.journal.run_report import load_report, newest_ends
from dagster_planexec.journal.store import migrate
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.told.trace import trace_of_run

OLD = (Path(__file__).parent / "old" / "before_versions.sql").read_text(encoding="utf-8")
"""A journal from before there were versions: two attempts of one month, the second held."""
VERSIONS = [1, 2, 3, 4, 5]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That journal, in the environment."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("pragma journal_mode=wal")  # as every journal has been; a dump does not say it
        db.executescript(OLD)
    db.close()
    return path


def _rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as db:
        names = [name for (name,) in db.execute("select name from sqlite_master where type = 'table' order by name")]
        found = {name: db.execute(f"select * from {name}").fetchall() for name in names}
    db.close()
    return found


def test_a_new_journal_has_the_newest_version(journal: Journal) -> None:
    """Every version it went through is named, once."""
    with journal.reader.connect() as db:
        assert db.execute(sa.select(t.schema.c.version).order_by(t.schema.c.version)).scalars().all() == VERSIONS
    assert journal.version == migrate.NEWEST == 5


def test_what_the_migrations_make_is_what_the_program_expects(journal: Journal) -> None:
    """Tables, columns and indexes: nothing is missing and nothing is too much, by Alembic's own comparison."""
    with journal.reader.connect() as db:
        context = MigrationContext.configure(db, opts={"compare_type": False})
        assert compare_metadata(context, t.metadata) == []


def test_a_journal_from_before_versions_keeps_everything(old: Path) -> None:
    """Not a row of it changes."""
    before = _rows(old)
    Journal().close()
    after = _rows(old)

    assert len(before["planexec_events"]) > 5
    # Columns are added behind those that were there, and hold nothing yet.
    assert {name: [row[: len(before[name][0])] for row in after[name]] for name in before if before[name]} == {
        name: rows for name, rows in before.items() if rows
    }
    assert after.keys() - before.keys() == {
        "planexec_schema", "planexec_pruning", "planexec_failures", "planexec_runs_noted", "planexec_leases",
        "planexec_effects", "planexec_effect_changes", "planexec_decisions", "planexec_hold_notices",
        "planexec_stood_back",
    }  # fmt: skip


def test_a_journal_from_before_versions_works(old: Path) -> None:
    """Read by every reader, and written to: the attempt goes on, its hold is the same one, its events are protected."""
    journal = Journal()
    newest = journal.newest_attempt("t", "2026-03")
    assert newest is not None
    (held,) = journal.events(newest.id, kinds=["run-ended"])
    again, opened = journal.open_attempt(
        task="t", version="1", period="2026-03", inputs_digest="i", admission={"objects": []}
    )
    digest = newest.plan_digest or ""
    asked = {"attempt_id": again.id, "task": "t", "period": "2026-03", "step": "pay", "code": "CAP_EXCEEDED"}
    hold_again = open_hold(journal, **asked, plan_digest=digest, facts={"count": 60})
    hold_other = open_hold(journal, **asked, plan_digest=digest, facts={"count": 61})
    journal.append(again.id, "plan-run-3", [NewEvent("step-started", "a", {"try": 1})])
    superseded = hold(journal, hold_again.id)

    assert (held.payload["status"], opened, again.id) == ("held", False, newest.id)
    assert journal.load_plan(digest).steps[0].id == "a"
    assert [done.tool for done in tools_done(journal, again.id)] == ["s3.get"]
    assert list(landed_for(journal, "t", "2026-03")) == [("vendor-drops", "vendor/exports/2026-03-invoice.csv")]
    assert superseded is not None
    assert (superseded.state, hold_other.state) == ("superseded", "open")
    assert [d.objects for d in deliveries(journal, "t")] == [1]
    assert len(seen_for(journal, "t", "2026-03")) == len(unstarted(journal, "t")) == 1
    assert newest_ends(journal, "t") == {"2026-03": ("held", "CAP_EXCEEDED")}
    assert load_report(journal, "task-run-1") is not None
    with pytest.raises(sa.exc.IntegrityError), journal.engine.begin() as db:
        db.execute(sa.update(t.events).values(kind="x"))
    journal.close()


@pytest.mark.parametrize("drawn", ["planexec_drop", "planexec_superseded_arrivals", "planexec_run_requests"])
def test_an_even_older_journal_gets_the_tables_it_lacks(old: Path, drawn: str) -> None:
    """Before there were versions, tables came one by one."""
    with sqlite3.connect(old) as db:
        db.execute(f"drop table {drawn}")
    db.close()

    journal = Journal()

    assert deliveries(journal, "t") == () if drawn == "planexec_drop" else len(deliveries(journal, "t")) == 1
    journal.close()


def test_looking_at_an_old_journal_changes_nothing(old: Path) -> None:
    """It is read as it is: same bytes, same version, and no write gets through."""
    before = _rows(old)
    journal = Journal(looking=True)
    trace = trace_of_run(journal, "task-run-1")

    assert trace is not None
    assert trace.end == ("stopped", "OBJECT_GONE")
    assert journal.version == migrate.UNVERSIONED
    with pytest.raises(PlanexecError, match="readonly"):
        journal.close_run("att_x", None, "settled", None)
    journal.close()
    assert _rows(old) == before


def test_a_reader_of_the_old_version_reads_on(old: Path) -> None:
    """A process that opened the journal before it was brought up goes on reading, and writing, as it knows how."""
    before = sqlite3.connect(old, isolation_level=None)
    before.execute("begin")
    assert before.execute("select count(*) from planexec_attempts").fetchone() == (2,)

    Journal().close()

    assert before.execute("select count(*) from planexec_attempts").fetchone() == (2,)
    before.execute("commit")
    before.execute("insert into planexec_events (attempt, at, kind, payload) values ('a', 'now', 'x', '{}')")
    assert before.execute("select count(*) from planexec_events where kind = 'x'").fetchone() == (1,)
    before.close()


OPEN = """
from dagster_planexec.journal.journal import Journal
Journal().close()
"""


def test_eight_processes_bring_an_old_journal_up_at_once(old: Path) -> None:
    """One does it; all can use it; each version is applied once."""
    running = [subprocess.Popen([sys.executable, "-c", OPEN], stderr=subprocess.PIPE) for _ in range(8)]
    errors = [process.communicate()[1].decode() for process in running]

    assert errors == [""] * 8
    assert [version for version, _ in _rows(old)["planexec_schema"]] == VERSIONS


def test_eight_threads_make_a_new_journal_at_once(backend: str, fresh: Callable[[], None]) -> None:
    """In either database."""
    fresh()
    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(lambda _: _opened_version(), range(8)))

    assert versions == [len(VERSIONS)] * 8


def _opened_version() -> int:
    journal = Journal()
    with journal.reader.connect() as db:
        found = db.scalar(sa.select(sa.func.count()).select_from(t.schema))
    journal.close()
    return int(found or 0)


@pytest.mark.parametrize("looking", [False, True], ids=["to write", "to look"])
def test_a_journal_of_a_newer_program_is_refused_in_words(journal: Journal, *, looking: bool) -> None:
    """Both versions are named, and nothing is touched."""
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.schema).values(version=99, applied_at="later"))

    with pytest.raises(PlanexecError) as refused:
        Journal(looking=looking)

    assert refused.value.code == "HOME_UNWRITABLE"
    assert "version 99" in refused.value.message
    assert f"up to {len(VERSIONS)}" in refused.value.message
    assert "newer" in refused.value.message


def test_a_migration_that_fails_leaves_the_journal_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All versions are one transaction; the next program that opens it begins again."""
    before = _rows(old)

    def breaks(db: sa.Connection) -> None:
        db.exec_driver_sql("create table planexec_half (x integer)")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, breaks))
        patch.setattr(migrate, "NEWEST", 6)
        with pytest.raises(OSError, match="No space"):
            Journal()

    assert _rows(old) == before
    Journal().close()
    assert [version for version, _ in _rows(old)["planexec_schema"]] == VERSIONS


def test_looking_makes_nothing_and_says_what_is_missing(place: None, backend: str, tmp_path: Path) -> None:
    """A database without our tables is told; it still has none afterwards, and a file that is not there is not made."""
    if backend == "sqlite":
        home = tmp_path / "home0"
        home.mkdir()
        with pytest.raises(PlanexecError):
            Journal(looking=True)
        assert list(home.iterdir()) == []
        sqlite3.connect(home / "journal.sqlite").execute("create table theirs (x)").connection.close()

    for _ in range(2):
        with pytest.raises(PlanexecError, match="has none of its tables") as told:
            Journal(looking=True)
        assert told.value.code == "HOME_UNWRITABLE"
