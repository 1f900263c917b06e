"""Which news of holds is due to be told, each piece once: that one opened, that it ages, expired, was superseded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from dagster_planexec.contract.task import Task
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.holds import HoldRecord, holds_of
from dagster_planexec.journal.store import tables as t

News = Literal["opened", "ageing", "expired", "superseded"]


@dataclass(frozen=True, slots=True)
class Notice:
    """One piece of news of one hold."""

    hold: HoldRecord
    kind: News


def notices_due(journal: Journal, task: Task, now: datetime) -> tuple[Notice, ...]:
    """What nobody was told yet, the oldest hold first. Told is what `note_told` was called for.

    That a hold was superseded or expired is no news to somebody who never heard of it.
    """
    told = _told(journal, task.name)
    due: list[Notice] = []
    for held in reversed(holds_of(journal, task.name, states=("open", "expired", "superseded"))):
        heard = told.get(held.id, frozenset())
        if held.state == "open":
            if "opened" not in heard:
                due.append(Notice(held, "opened"))
            ages = datetime.fromisoformat(held.opened_at) + timedelta(seconds=task.approval.ages_after_s)
            if now.astimezone(UTC) >= ages and "ageing" not in heard:
                due.append(Notice(held, "ageing"))
        elif "opened" in heard and held.state not in heard:
            due.append(Notice(held, "expired" if held.state == "expired" else "superseded"))
    return tuple(due)


def note_told(journal: Journal, hold_id: str, kind: News, now: datetime) -> bool:
    """Note that somebody was told; whether it was not noted before. Of two who ask at once, one is told yes."""
    with journal.engine.begin() as db:
        where = (t.hold_notices.c.hold_id == hold_id, t.hold_notices.c.kind == kind)
        if db.execute(sa.select(t.hold_notices.c.at).where(*where)).first() is not None:
            return False
        new = {"hold_id": hold_id, "kind": kind, "at": now.astimezone(UTC).isoformat()}
        db.execute(sa.insert(t.hold_notices).values(**new))
    return True


def _told(journal: Journal, task: str) -> dict[str, frozenset[str]]:
    query = sa.select(t.hold_notices.c.hold_id, t.hold_notices.c.kind).where(
        t.hold_notices.c.hold_id == t.holds.c.id, t.holds.c.task == task
    )
    found: dict[str, set[str]] = {}
    with journal.reader.connect() as db:
        for row in db.execute(query):
            found.setdefault(row.hold_id, set()).add(row.kind)
    return {hold_id: frozenset(kinds) for hold_id, kinds in found.items()}
