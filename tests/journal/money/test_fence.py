"""What a run writes once another holds its month: nothing, whatever it is, wherever it comes from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Attempt, Journal, NewEvent
from dagster_planexec.journal.money.approvals.holds import open_hold
from dagster_planexec.journal.money.lease.leases import fence_of
from dagster_planexec.journal.results import DoneStep, save_done, save_landing
from dagster_planexec.journal.run_report import RunReport, newest_report, save_report
from dagster_planexec.journal.store import tables as t
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts
from dagster_planexec.world.subject import Subject
from tests.support.leases import PERIOD, TASK, awaited, lease_of, row_of, silent_for, someone
from tests.support.settled import TASK as TOY

NOW = datetime(2026, 4, 1, tzinfo=UTC)


def _opened(journal: Journal, digest: str) -> Attempt:
    attempt, _ = journal.open_attempt(task=TASK, version="1", period=PERIOD, inputs_digest=digest, admission={})
    return attempt


def _append(journal: Journal, attempt: Attempt) -> None:
    journal.append(attempt.id, "run-1", [NewEvent("calling", "pay", {})])


def _save_done(journal: Journal, attempt: Attempt) -> None:
    seal = Observation(Source(Subject("table", "t"), "test", NOW), "seen", {"rows": 1})
    save_done(journal, attempt.id, DoneStep("i", "a", "make", "run-1", {}, {}, seal, (), (), 1, 0.0))


def _save_landing(journal: Journal, attempt: Attempt) -> None:
    facts = ObjectFacts("b", "k", 1, "e", NOW)
    save_landing(journal, task=TASK, period=PERIOD, attempt_id=attempt.id, admitted=AdmittedObject(facts, "0" * 64))


def _open_hold(journal: Journal, attempt: Attempt) -> None:
    open_hold(journal, attempt_id=attempt.id, task=TASK, period=PERIOD, step="pay", code="CAP_EXCEEDED",
              plan_digest="d", facts={})  # fmt: skip


def _report(journal: Journal, attempt: Attempt) -> None:
    save_report(journal, "task-run-1", RunReport.blank(TOY, Period.parse(PERIOD, "month"), task_run_id="task-run-1"))


WRITES: dict[str, Callable[[Journal, Attempt], Any]] = {
    "events": _append,
    "a new attempt": lambda journal, attempt: _opened(journal, f"not {attempt.inputs_digest}"),
    "another admission": lambda journal, attempt: journal.readmit(attempt.id, {"objects": []}, inputs_digest="x"),
    "a plan": lambda journal, attempt: journal.adopt_plan(attempt.id, "d", {}),
    "the end": lambda journal, attempt: journal.close_run(attempt.id, "run-1", "settled", None),
    "a result": _save_done,
    "a landing": _save_landing,
    "a hold": _open_hold,
    "a report": _report,
}


def _everything(journal: Journal) -> dict[str, list[Any]]:
    """Every row of every table."""
    with journal.reader.connect() as db:
        return {name: list(db.execute(sa.select(table)).all()) for name, table in t.metadata.tables.items()}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_under_an_older_token(journal: Journal, write: str) -> None:
    """Allowed while the month is held, refused in words once it is another's; not a row differs afterwards."""
    stale = lease_of(journal, someone(1))
    journal.fence = stale.require
    attempt = _opened(journal, "i")
    WRITES[write](journal, attempt)
    attempt = journal.newest_attempt(TASK, PERIOD) or attempt
    silent_for(journal, 601)
    fresh = lease_of(journal, someone(2, started_by="the sensor s"))
    before = _everything(journal)

    with pytest.raises(PlanexecError) as refused:
        WRITES[write](journal, attempt)

    assert refused.value.code == "LEASE_LOST"
    for words in (PERIOD, TASK, "run run-2", "the sensor s", "took it over at"):
        assert words in refused.value.message
    assert _everything(journal) == before
    journal.fence = fresh.require
    _append(journal, attempt)
    stale.release()
    fresh.release()


def test_a_process_that_knows_only_the_token_is_refused_too(journal: Journal) -> None:
    """The steps of a plan run are in processes of their own; also once the month was given back."""
    lease = lease_of(journal)
    attempt = _opened(journal, "i")
    journal.fence = fence_of(TASK, PERIOD, lease.token)
    _append(journal, attempt)
    journal.require_held()
    lease.release()

    for ask in (lambda: _append(journal, attempt), journal.require_held):
        with pytest.raises(PlanexecError, match="given it back"):
            ask()
    journal.fence = fence_of(TASK, "2026-04", 1)
    with pytest.raises(PlanexecError, match="nobody is known to hold it"):
        journal.require_held()


def test_a_transaction_that_was_refused_leaves_nothing_behind(journal: Journal) -> None:
    """The fence is asked inside it: what it is asked about cannot change before its end."""
    stale = lease_of(journal, someone(1))
    journal.fence = stale.require
    attempt = _opened(journal, "i")
    inside, taken = threading.Event(), threading.Event()

    def take_over() -> None:
        other = Journal()
        inside.wait(60)
        lease = lease_of(other, someone(2), has_ended=lambda _: True)  # waits for the writer
        taken.set()
        lease.release()
        other.close()

    thread = threading.Thread(target=take_over)
    thread.start()
    with journal.writing() as db:
        inside.set()
        assert not taken.wait(0.2)
        db.execute(sa.update(t.attempts).where(t.attempts.c.id == attempt.id).values(status="held"))
    thread.join(60)

    assert journal.attempt(attempt.id).status == "held"
    with pytest.raises(PlanexecError):
        journal.close_run(attempt.id, None, "settled", None)
    assert journal.attempt(attempt.id).status == "held"
    stale.release()


@pytest.mark.parametrize("status", ["stood-back", "LEASE_LOST"])
def test_a_report_of_a_run_without_its_month_is_no_news_of_the_month(journal: Journal, status: str) -> None:
    """It is kept under its own run; the month is told of by the last run that held it."""
    period = Period.parse(PERIOD, "month")
    blank = RunReport.blank(TOY, period, task_run_id=None)
    save_report(journal, "good", blank.ended("succeeded", None, f'said "status": "{status}", "code": "LEASE_LOST"'))
    late = (
        blank.ended("stood-back", "LEASE_BUSY", "x") if status == "stood-back" else blank.ended("stopped", status, "x")
    )
    save_report(journal, "late", late)
    found = newest_report(journal, TOY.name, PERIOD)

    assert found is not None
    assert found["status"] == "succeeded"


def test_the_heart_beats_on_its_own(journal: Journal) -> None:
    """While the holder does nothing, and while its own connection is in the middle of a transaction's reading."""
    lease = lease_of(journal, lasts_s=1)
    first = row_of(journal).beat_at
    second = awaited(lambda: row_of(journal).beat_at if row_of(journal).beat_at > first else None)
    awaited(lambda: row_of(journal).beat_at > second)
    lease.release()
    still = row_of(journal).beat_at

    assert not lease._heartbeat._thread.is_alive()
    assert row_of(journal).beat_at == still


def test_a_heart_stops_when_the_month_is_anothers(journal: Journal) -> None:
    """The beat of the old holder neither shows nor goes on."""
    old = lease_of(journal, someone(1), lasts_s=1)
    fresh = lease_of(journal, someone(2), has_ended=lambda _: True)
    beat = row_of(journal).beat_at
    awaited(lambda: not old._heartbeat._thread.is_alive())

    assert row_of(journal).beat_at == beat
    old.release()
    fresh.release()


def test_a_heart_that_is_dead_loses_the_month_in_time(journal: Journal) -> None:
    """Nobody notices at once; what the holder writes is its own until another comes, and nothing after that."""
    lease = lease_of(journal, someone(1), lasts_s=1)
    journal.fence = lease.require
    lease._heartbeat.stop()  # the thread is gone, whatever ended it
    attempt = _opened(journal, "i")
    silent_for(journal, 2)
    _append(journal, attempt)
    fresh = lease_of(journal, someone(2))

    with pytest.raises(PlanexecError, match="run run-2"):
        _append(journal, attempt)
    fresh.release()


@pytest.fixture
def postgres_only(backend: str) -> None:
    """For what only a server can do."""
    if backend != "postgres":
        pytest.skip("a file goes nowhere")


def _database(journal: Journal) -> str:
    return str(journal.engine.url.database)


def test_a_database_that_is_away_for_a_moment_takes_nothing_away(
    journal: Journal, postgres_only: None, postgres: Any
) -> None:
    """Every connection is cut, the heart's too; the next beat opens another."""
    lease = lease_of(journal, lasts_s=5)
    for _ in range(3):
        postgres.end_connections(_database(journal))
        before = awaited(lambda: _read(journal, "beat_at"))
        awaited(lambda before=before: (_read(journal, "beat_at") or "") > before)
    journal.fence = lease.require

    _opened(journal, "i")
    lease.release()


def test_a_database_that_is_away_for_too_long_takes_the_month(
    journal: Journal, postgres_only: None, postgres: Any
) -> None:
    """The holder takes it for lost, and gives it back when it can: all that work under its token are refused."""
    database = _database(journal)
    lease = lease_of(journal, someone(1), lasts_s=1)
    attempt = _opened(journal, "i")
    _doors(postgres, database, open_=False)
    try:
        awaited(lambda: lease._heartbeat.failed)
    finally:
        _doors(postgres, database, open_=True)
    awaited(lambda: _read(journal, "state") == "free")
    for fence in (lease.require, fence_of(TASK, PERIOD, lease.token)):
        journal.fence = fence
        with pytest.raises(PlanexecError) as refused:
            _append(journal, attempt)
        assert refused.value.code == "LEASE_LOST"
    fresh = lease_of(journal, someone(2))

    assert (fresh.token, fresh.taken_from) == (2, None)
    fresh.release()
    lease.release()


def _doors(postgres: Any, database: str, *, open_: bool) -> None:
    with postgres.admin() as db:
        db.execute(f"alter database {database} allow_connections {'true' if open_ else 'false'}")
    if not open_:
        postgres.end_connections(database)


def _read(journal: Journal, column: str) -> Any:
    try:
        return getattr(row_of(journal), column)
    except PlanexecError:
        return None
