"""Events are only ever added: the database refuses everything else, whoever asks."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Attempt, Journal, NewEvent
from dagster_planexec.journal.store import tables as t


@pytest.fixture
def attempt(journal: Journal) -> Attempt:
    """An attempt with three events."""
    opened, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})
    journal.append(opened.id, "r", [NewEvent("step-started", "a"), NewEvent("step-done", "a")])
    return opened


@pytest.mark.parametrize(
    "statement",
    [
        "update planexec_events set kind = 'x'",
        "update planexec_events set payload = '{}' where seq = 1",
        "delete from planexec_events",
        "delete from planexec_events where seq = 2",
    ],
)
def test_no_event_is_changed_or_deleted(journal: Journal, attempt: Attempt, statement: str) -> None:
    """Not one, not all."""
    before = journal.events(attempt.id)

    with pytest.raises(sa.exc.IntegrityError, match="only ever added"), journal.engine.begin() as db:
        db.exec_driver_sql(statement)

    assert journal.events(attempt.id) == before


def test_no_event_is_replaced(journal: Journal, attempt: Attempt, backend: str) -> None:
    """`insert or replace` deletes without a delete; a table can be emptied without one."""
    before = journal.events(attempt.id)
    statement = (
        f"insert or replace into planexec_events (seq, attempt, at, kind, payload) "
        f"values ({before[0].seq}, '{attempt.id}', 'now', 'x', '{{}}')"
        if backend == "sqlite"
        else "truncate planexec_events"
    )

    with pytest.raises(sa.exc.IntegrityError, match="only ever added"), journal.engine.begin() as db:
        db.exec_driver_sql(statement)

    assert journal.events(attempt.id) == before


def test_the_door_of_retention_is_shut_again_with_its_transaction(journal: Journal, attempt: Attempt) -> None:
    """Inside, events go; and a door that is left open in a transaction that fails was never open."""
    with pytest.raises(ZeroDivisionError), journal.engine.begin() as db:  # noqa: PT012 - whichever of them meets it
        db.execute(sa.insert(t.pruning).values(since="now"))
        db.execute(sa.delete(t.events).where(t.events.c.kind == "step-done"))
        _ = 1 / 0
    with pytest.raises(sa.exc.IntegrityError), journal.engine.begin() as db:
        db.execute(sa.delete(t.events))

    assert [e.kind for e in journal.events(attempt.id)] == ["attempt-opened", "step-started", "step-done"]


def test_a_failed_batch_writes_nothing_of_it(journal: Journal, attempt: Attempt) -> None:
    """Events of one call are one transaction."""
    with pytest.raises(ValueError, match="JSON"):
        journal.append(attempt.id, "r", [NewEvent("x"), NewEvent("y", None, {"n": float("nan")})])

    assert journal.events(attempt.id, kinds=["x", "y"]) == ()


def test_an_event_that_is_no_json_any_more_is_named(journal: Journal, attempt: Attempt) -> None:
    """A damaged journal is told by what is damaged, not by a stack trace."""
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.events).values(attempt=attempt.id, at="now", kind="bad", payload="{"))

    with pytest.raises(PlanexecError, match=r"damaged: event \d+ \(bad\) of attempt att_") as told:
        journal.events(attempt.id)

    assert told.value.code == "HOME_UNWRITABLE"


def test_readers_wait_for_no_writer(journal: Journal, attempt: Attempt) -> None:
    """While a transaction is open and has written, another journal reads at once what was there before it."""
    other = Journal()
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.events).values(attempt=attempt.id, at="now", kind="late", payload="{}"))
        seen = [e.kind for e in other.events(attempt.id)]
    other.close()

    assert seen == ["attempt-opened", "step-started", "step-done"]
