"""Which versions of which objects have been seen in a drop, and which of them a run was requested for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from dagster_planexec.journal import schema as t
from dagster_planexec.journal.journal import Journal
from dagster_planexec.world.ports import ObjectFacts

_AT_ONCE = 200
"""Rows per statement: SQLite binds a limited number of values."""
_ASKED = "?"
"""Before a run key that was asked for and not confirmed."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One version of one object of a task's drop."""

    bucket: str
    key: str
    version: str
    period: str
    size: int

    @classmethod
    def of(cls, facts: ObjectFacts, period: str) -> Arrival:
        """The arrival that a listed object is."""
        return cls(facts.bucket, facts.key, version_of(facts), period, facts.size)


def version_of(facts: ObjectFacts) -> str:
    """What tells two deliveries under one key apart: the store's version, else entity tag, time and size together.

    The time belongs to it: A, then B, then A again has the first one's tag, and is news.
    """
    if facts.version_id is not None:
        return facts.version_id
    return f"{facts.etag} {facts.last_modified.astimezone(UTC).isoformat()} {facts.size}"


def remember(journal: Journal, task: str, arrivals: Iterable[Arrival]) -> int:
    """Write down arrivals that are new; how many were."""
    known = {(bucket, key, version) for bucket, key, version, _ in _all(journal, task)}
    now = datetime.now(UTC).isoformat()
    fresh = [
        {
            "task": task, "bucket": a.bucket, "object_key": a.key, "version": a.version, "period": a.period,
            "size": a.size, "first_seen": now, "requested": None,
        }
        for a in arrivals
        if (a.bucket, a.key, a.version) not in known
    ]  # fmt: skip
    if fresh:
        with journal.engine.begin() as db:
            db.execute(sa.insert(t.arrivals).prefix_with("OR IGNORE", dialect="sqlite"), fresh)
    return len(fresh)


def requested(journal: Journal, task: str) -> dict[tuple[str, str, str], str | None]:
    """(bucket, key, version) of every arrival to the run key it was requested under; None if that is not durable."""
    return {
        (bucket, key, version): None if run_key is None or run_key.startswith(_ASKED) else run_key
        for bucket, key, version, run_key in _all(journal, task)
    }


def ask(journal: Journal, task: str, arrivals: Sequence[Arrival], run_key: str) -> None:
    """Note that a run is being requested for these. It counts only once `confirm` has said so."""
    with journal.engine.begin() as db:
        for start in range(0, len(arrivals), _AT_ONCE):
            c = t.arrivals.c
            these = sa.or_(
                *(
                    sa.and_(c.bucket == a.bucket, c.object_key == a.key, c.version == a.version)
                    for a in arrivals[start : start + _AT_ONCE]
                )
            )
            db.execute(sa.update(t.arrivals).where(c.task == task, these).values(requested=_ASKED + run_key))


def confirm(journal: Journal, task: str, run_key: str) -> None:
    """Note that the request under that key is durable: whoever starts runs has stored it."""
    with journal.engine.begin() as db:
        where = (t.arrivals.c.task == task, t.arrivals.c.requested == _ASKED + run_key)
        db.execute(sa.update(t.arrivals).where(*where).values(requested=run_key))


def _all(journal: Journal, task: str) -> list[tuple[str, str, str, str | None]]:
    c = t.arrivals.c
    with journal.reader.connect() as db:
        rows = db.execute(sa.select(c.bucket, c.object_key, c.version, c.requested).where(c.task == task)).all()
    return [(row[0], row[1], row[2], row[3]) for row in rows]
