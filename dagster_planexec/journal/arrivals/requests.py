"""Which deliveries a run was requested for: the set, its run key, and whether a run of that key is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from dagster_planexec.journal.arrivals.drop import by_bytes, text_of
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.world.period import Period

_AT_ONCE = 1000
"""Rows held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What lies in the drop for one period now, and how much of it no run was requested for."""

    period: str
    objects: int
    news: int
    """Objects that the newest request of the period did not hold. What was deleted is no news."""
    changed_at: datetime
    """When the newest of its objects came, or was replaced."""


def deliveries(journal: Journal, task: str) -> tuple[Delivery, ...]:
    """Every period that has something in the drop, in order."""
    c, newest = t.drop.c, _newest_started(task)
    query = (
        sa.select(
            c.period,
            sa.func.count(),
            sa.func.sum(sa.case((c.requested == newest.c.run_key, 0), else_=1)),
            sa.func.max(c.changed_at),
        )
        .select_from(t.drop.outerjoin(newest, newest.c.period == c.period))
        .where(c.task == task)
        .group_by(c.period)
        .order_by(c.period)
    )
    with journal.reader.connect() as db:
        return tuple(
            Delivery(period, objects, news, datetime.fromisoformat(changed_at))
            for period, objects, news, changed_at in db.execute(query).all()
        )


def set_digest(journal: Journal, task: str, period: str) -> str:
    """SHA-256 of which versions of which objects lie in the drop for a period now."""
    c = t.drop.c
    query = (
        sa.select(c.bucket, c.object_key, c.version)
        .where(c.task == task, c.period == period)
        .order_by(c.bucket, by_bytes(journal, c.object_key))
    )
    digest = hashlib.sha256(b"[")
    with journal.snapshot.connect() as db:
        for n, rows in enumerate(db.execution_options(yield_per=_AT_ONCE).execute(query).partitions()):
            digest.update((", " if n else "").encode() + json.dumps([list(row) for row in rows])[1:-1].encode())
    digest.update(b"]")
    return digest.hexdigest()


def was_last(journal: Journal, task: str, period: str, digest: str) -> bool:
    """Whether the last run that was started for the period was asked for by exactly this set. Then nothing is news.

    Objects that were away and have come back unchanged look new, one by one.
    """
    newest = _newest_started(task)
    query = sa.select(newest.c.run_key).where(newest.c.period == period, newest.c.set_digest == digest)
    with journal.reader.connect() as db:
        run_key = db.execute(query).scalar()
    if run_key is None:
        return False
    with journal.engine.begin() as db:
        db.execute(sa.update(t.drop).where(t.drop.c.task == task, t.drop.c.period == period).values(requested=run_key))
    return True


def ask(journal: Journal, task: str, period: Period, digest: str, objects: int) -> str:
    """Note that a run is being requested for what lies in the drop now. It counts once a run of that key is there.

    Returns:
        The run key: the partition and the set; from the second time on that a set is asked for, also which time. Until
        its run is there a request keeps its key, so it is never two; and A, then B, then the very same A are three.
        A run that stood back, for another held the month, has consumed nothing: its set is asked for again.
    """
    c, d, a = t.requests.c, t.drop.c, t.arrivals.c
    mine = (c.task == task, c.period == period.text)
    lies_there = sa.tuple_(a.bucket, a.object_key, a.version).in_(
        sa.select(d.bucket, d.object_key, d.version).where(d.task == task, d.period == period.text)
    )
    with journal.engine.begin() as db:
        before = (*mine, c.set_digest == digest, c.started_at.is_not(None))
        times = db.execute(sa.select(sa.func.count()).select_from(t.requests).where(*before)).scalar_one()
        run_key = f"{period.key}:{digest[:16]}" + (f"-{times + 1}" if times else "")
        db.execute(sa.delete(t.requests).where(*mine, c.started_at.is_(None)))
        request = {
            "task": task, "period": period.text, "run_key": run_key, "set_digest": digest, "objects": objects,
            "asked_at": text_of(datetime.now(UTC)),
        }  # fmt: skip
        db.execute(sa.insert(t.requests), request)
        db.execute(sa.update(t.drop).where(d.task == task, d.period == period.text).values(requested=run_key))
        db.execute(sa.update(t.arrivals).where(a.task == task, lies_there).values(requested=run_key))
    return run_key


def unstarted(journal: Journal, task: str) -> tuple[str, ...]:
    """Run keys that were asked for and of which no run has been found yet."""
    c = t.requests.c
    query = sa.select(c.run_key).where(c.task == task, c.started_at.is_(None)).order_by(c.seq)
    with journal.reader.connect() as db:
        return tuple(db.execute(query).scalars())


def note_started(journal: Journal, task: str, run_keys: Collection[str]) -> None:
    """Note that there are runs of these keys: their requests have reached whoever starts runs."""
    if run_keys:
        these = (t.requests.c.task == task, t.requests.c.run_key.in_(run_keys))
        with journal.engine.begin() as db:
            db.execute(sa.update(t.requests).where(*these).values(started_at=text_of(datetime.now(UTC))))


def _newest_started(task: str) -> sa.Subquery:
    """Per period the newest request of which there is a run that did not stand back: what it held is consumed."""
    c, back = t.requests.c, t.stood_back.c
    idle = sa.select(back.run_key).where(back.task == task, back.run_key.is_not(None))
    began = (c.task == task, c.started_at.is_not(None), c.run_key.not_in(idle))
    last = sa.select(sa.func.max(c.seq)).where(*began).group_by(c.period)
    return sa.select(c.period, c.run_key, c.set_digest).where(c.seq.in_(last)).subquery()
