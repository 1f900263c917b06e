"""Held on Friday, all restarted, approved on Monday: the month is finished from what landed, each credit once."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from dagster_planexec.journal.money.approvals.decisions import decisions_of, expire_due
from dagster_planexec.journal.money.approvals.holds import holds_of, open_hold
from dagster_planexec.journal.store.tables import effects
from tests.support.approvals import FRIDAY, Office
from tests.support.planexec import PROJECT

MONDAY = FRIDAY + timedelta(days=2, hours=16)


def elsewhere(office: Office, hold_id: str, at: Any, *by: str) -> dict[str, Any]:
    """A process of its own approves and continues."""
    command = [sys.executable, "-m", "tests.support.approvals", str(office.demo.home), office.demo.endpoint, hold_id]
    done = subprocess.run(
        [*command, at.isoformat(), *by], capture_output=True, text=True, check=False, cwd=PROJECT
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_friday_to_monday(office: Office) -> None:
    """The export has expired meanwhile. Nothing is fetched: the landed copy is hashed again, and only money moves."""
    held = office.held()
    office.demo.remove(office.demo.export_key)
    done = elsewhere(office, held.id, MONDAY, "ada")

    assert (done["status"], done["code"]) == ("succeeded", None), done["text"]
    assert done["calls"] == ["issue_credit"]
    assert done["outcomes"] == ["reused"] * 6 + ["done"]
    assert done["credits"] == held.bound["preview"]["count"]
    again = elsewhere(office, held.id, MONDAY)
    assert (again["code"], again["credits"]) == ("DECISION_REFUSED", done["credits"])


def test_on_monday_the_landed_copy_is_what_counts(office: Office) -> None:
    """It changed over the weekend, and the drop cannot mend it unseen: nothing is issued."""
    held = office.held()
    office.demo.remove(office.demo.export_key)
    path = office.landed
    path.chmod(0o600)
    path.write_bytes(path.read_bytes().replace(b"2026-02-03", b"2026-02-04", 1))
    done = elsewhere(office, held.id, MONDAY, "ada")

    assert (done["status"], done["code"]) == ("stopped", "APPROVAL_STALE"), done["text"]
    assert "landed copy of" in done["text"]
    assert (done["calls"], done["credits"]) == ([], 0)


def test_on_the_monday_after_next_it_has_expired(office: Office) -> None:
    """A week is the policy's; a process with another clock sees it so too."""
    held = office.approved()
    done = elsewhere(office, held.id, MONDAY + timedelta(days=7))

    assert (done["status"], done["code"], done["credits"]) == ("stopped", "HOLD_EXPIRED", 0)


def test_a_year_of_holds_is_listed_with_as_many_queries_as_a_day(office: Office) -> None:
    """One for the holds and one for what was decided about them, however many there are."""

    def listed(journal) -> tuple[int, int]:
        asked: list[str] = []
        sa.event.listen(journal.reader, "before_cursor_execute", lambda *given: asked.append(given[2]))
        found = holds_of(journal, "t")
        decisions_of(journal, [one.id for one in found])
        return len(found), len([text for text in asked if text.lower().startswith("select")])

    with office.journal() as journal:
        for number in range(400):
            period = f"{2000 + number // 12}-{number % 12 + 1:02}"
            open_hold(journal, attempt_id=f"a{number}", task="t", period=period, step="pay", code="CAP_EXCEEDED",
                      plan_digest="d", facts={"count": number})  # fmt: skip
            if number == 0:
                few = listed(journal)
    with office.journal() as journal:
        assert (few, listed(journal)) == ((1, 2), (400, 2))


def test_what_was_begun_in_time_is_finished_after_the_hold_has_expired(office: Office) -> None:
    """The ledger has a line of it; only the signatures and what it rests on count then."""
    held = office.approved()
    row = {
        "effect_scope": "other", "period": held.period, "line_key": "k", "ordinal": 1, "amount": "1.00",
        "currency": "USD", "target": "t", "task": held.task, "tool": "t", "attempt": held.attempt, "run_id": "r",
        "hold_id": held.id, "intended_at": "2026-03-06T17:00:00+00:00", "state": "intended",
    }  # fmt: skip
    with office.journal() as journal, journal.engine.begin() as db:
        db.execute(sa.insert(effects).values(**row))
    office.clock.at += timedelta(days=30)
    with office.journal() as journal:
        assert expire_due(journal, office.world.task, office.clock.now()) == ()
    report = office.go_on(held.id)

    assert (report.status, report.code) == ("succeeded", None), report.text
    assert len(office.world.credits()) == held.bound["preview"]["count"]
