"""What lies in a task's drop, which versions have been seen there, and what took the place of what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.world.ports import ObjectFacts

_AT_ONCE = 500
"""Keys per statement: a database binds a limited number of values."""
_FEW = 200
"""Rows held in memory where each is only looked at."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Arrival:
    """One version of one object, in the delivery of one period."""

    bucket: str
    key: str
    version: str
    period: str
    size: int
    last_modified: datetime

    @classmethod
    def of(cls, facts: ObjectFacts, period: str) -> Arrival:
        """The arrival that a listed object is."""
        return cls(facts.bucket, facts.key, version_of(facts), period, facts.size, facts.last_modified)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the journal knows of one version of one object."""

    bucket: str
    key: str
    version: str
    period: str
    size: int
    first_seen: str
    requested: str | None
    """The newest run key under which it was asked for; None if it never was."""
    superseded_by: str | None
    """The version that was seen in its place; None if none was."""


def version_of(facts: ObjectFacts) -> str:
    """What tells two deliveries under one key apart: the store's version, else entity tag, time and size together.

    The time belongs to it: A, then B, then A again has the first one's tag, and is news.
    """
    if facts.version_id is not None:
        return facts.version_id
    return f"{facts.etag} {facts.last_modified.astimezone(UTC).isoformat()} {facts.size}"


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a drop's keys, in the order of their bytes: behind `after`, up to and with `until`."""

    bucket: str
    after: str = ""
    until: str | None = None
    """None: to the end."""


def note_range(
    journal: Journal, task: str, part: Range, listed: Iterable[Arrival], *, now: datetime, last_look: datetime | None
) -> tuple[Arrival, ...]:
    """Make what is known of a range of keys be what was listed there. What did not change is only read.

    Args:
        journal: Where it is remembered.
        task: Whose drop.
        part: The range; a listing's last one, to the end, also forgets the buckets in which the drop was before.
        listed: Everything of the task that lies in the range.
        now: The time of this look.
        last_look: When the drop was last seen as a whole; None if it never was. What was not there then has come since,
            whatever its own time says: that of a multipart upload is when the upload began.

    Returns:
        The versions that were never seen before.
    """
    there = {(a.key, a.period): a for a in listed}
    for _ in range(_TRIES - 1):
        try:
            return _note(journal, task, part, there, now=now, last_look=last_look)
        except sa.exc.IntegrityError:
            continue  # another look wrote the same meanwhile: a person tried the sensor out
    return _note(journal, task, part, there, now=now, last_look=last_look)


def _note(
    journal: Journal, task: str, part: Range, there: Mapping[tuple[str, str], Arrival], *, now: datetime,
    last_look: datetime | None,
) -> tuple[Arrival, ...]:  # fmt: skip
    known = _known(journal, task, part)
    changed = [a for at, a in there.items() if known.get(at) != a.version]
    left = [at for at in known if at not in there or there[at].version != known[at]]
    moved = part.until is None and _lies_elsewhere(journal, task, part.bucket)
    if not (changed or left or moved):
        return ()
    c = t.drop.c
    with journal.engine.begin() as db:
        if moved:
            db.execute(sa.delete(t.drop).where(c.task == task, c.bucket != part.bucket))
        if left:
            mine = (c.task == task, c.bucket == part.bucket, c.object_key == sa.bindparam("k"))
            statement = sa.delete(t.drop).where(*mine, c.period == sa.bindparam("p"))
            db.execute(statement, [{"k": key, "p": period} for key, period in left])
        if not changed:
            return ()
        rows = [
            {"task": task, "bucket": a.bucket, "object_key": a.key, "period": a.period, "version": a.version,
             "changed_at": _changed_at(a, now, last_look), "requested": None}
            for a in changed
        ]  # fmt: skip
        db.execute(sa.insert(t.drop), rows)
        _supersede(db, task, [(a, known[a.key, a.period]) for a in changed if (a.key, a.period) in known])
        return _insert_unseen(db, task, changed)


def note_older(journal: Journal, task: str, newest: Arrival, older: Sequence[Arrival]) -> int:
    """Write down versions that came and were replaced between two looks; how many nobody had seen.

    Args:
        journal: Where it is remembered.
        task: Whose drop.
        newest: The version that lies there now.
        older: What lay there before it, newest first.
    """
    if not older:
        return 0
    with journal.engine.begin() as db:
        chain = [newest, *older]
        _supersede(db, task, [(by, was.version) for by, was in zip(chain, older, strict=False)])
        return len(_insert_unseen(db, task, older))


@dataclass(frozen=True, slots=True)
class Lying:
    """One object that lies in a period's delivery now."""

    key: str
    version: str
    size: int
    changed_at: str
    """When it came or was replaced, as text that compares as times do."""


def lying_for(journal: Journal, task: str, period: str) -> Iterator[Lying]:
    """What lies in the drop for a period, in no order; few rows are in memory at a time."""
    d, a = t.drop.c, t.arrivals.c
    same = sa.and_(a.task == d.task, a.bucket == d.bucket, a.object_key == d.object_key, a.version == d.version)
    query = (
        sa.select(d.object_key, d.version, a.size, d.changed_at)
        .select_from(t.drop.join(t.arrivals, same))
        .where(d.task == task, d.period == period)
    )
    with journal.snapshot.connect() as db:
        for rows in db.execution_options(yield_per=_FEW).execute(query).partitions():
            yield from (Lying(*row) for row in rows)


def seen_for(journal: Journal, task: str, period: str) -> tuple[Seen, ...]:
    """Every version that was ever seen for a period, in the order of keys and of their being seen."""
    a, s = t.arrivals.c, t.superseded.c
    same = sa.and_(s.task == a.task, s.bucket == a.bucket, s.object_key == a.object_key, s.version == a.version)
    query = (
        sa.select(a.bucket, a.object_key, a.version, a.period, a.size, a.first_seen, a.requested, s.superseded_by)
        .select_from(t.arrivals.outerjoin(t.superseded, same))
        .where(a.task == task, a.period == period)
        .order_by(a.object_key, a.first_seen, a.version)
    )
    with journal.reader.connect() as db:
        return tuple(Seen(*row) for row in db.execute(query).all())


def by_bytes(journal: Journal, key: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """Keys in the order in which stores list them. SQLite compares bytes; Postgres has to be told."""
    return key if journal.engine.dialect.name == "sqlite" else sa.collate(key, "C")


def text_of(at: datetime) -> str:
    """The instant as text of one width, so that texts compare as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _changed_at(arrival: Arrival, now: datetime, last_look: datetime | None) -> str:
    if last_look is None or last_look < arrival.last_modified:
        return text_of(min(now, arrival.last_modified))
    return text_of(min(now, last_look))


def _known(journal: Journal, task: str, part: Range) -> dict[tuple[str, str], str]:
    c = t.drop.c
    key = by_bytes(journal, c.object_key)
    query = sa.select(c.object_key, c.period, c.version).where(
        c.task == task, c.bucket == part.bucket, key > part.after
    )
    with journal.reader.connect() as db:
        rows = db.execute(query if part.until is None else query.where(key <= part.until)).all()
    return {(row[0], row[1]): row[2] for row in rows}


def _lies_elsewhere(journal: Journal, task: str, bucket: str) -> bool:
    c = t.drop.c
    with journal.reader.connect() as db:
        query = sa.select(c.bucket).where(c.task == task, c.bucket != bucket).limit(1)
        return db.execute(query).first() is not None


def _insert_unseen(db: sa.Connection, task: str, arrivals: Sequence[Arrival]) -> tuple[Arrival, ...]:
    c = t.arrivals.c
    unseen = {(a.key, a.version): a for a in reversed(arrivals)}
    for keys in _slices(sorted({a.key for a in arrivals})):
        mine = (c.task == task, c.bucket == arrivals[0].bucket, c.object_key.in_(keys))
        for key, version in db.execute(sa.select(c.object_key, c.version).where(*mine)):
            unseen.pop((key, version), None)
    if unseen:
        now = text_of(datetime.now(UTC))
        rows = [
            {"task": task, "bucket": a.bucket, "object_key": a.key, "version": a.version, "period": a.period,
             "size": a.size, "first_seen": now, "requested": None}
            for a in unseen.values()
        ]  # fmt: skip
        db.execute(sa.insert(t.arrivals), rows)
    return tuple(sorted(unseen.values(), key=lambda a: a.key))


def _supersede(db: sa.Connection, task: str, replaced: Sequence[tuple[Arrival, str]]) -> None:
    """Note of pairs (the later version, the one before it) that the later took the other's place."""
    if not replaced:
        return
    c = t.superseded.c
    mine = (c.task == task, c.bucket == sa.bindparam("b"), c.object_key == sa.bindparam("k"))
    # A version that had been replaced and lies there again is not superseded any more.
    these = c.version.in_([sa.bindparam("was"), sa.bindparam("by")])
    values = {(by.key, was): {"b": by.bucket, "k": by.key, "was": was, "by": by.version} for by, was in replaced}
    db.execute(sa.delete(t.superseded).where(*mine, these), list(values.values()))
    rows = [
        {"task": task, "bucket": v["b"], "object_key": v["k"], "version": v["was"], "superseded_by": v["by"]}
        for v in values.values()
    ]
    db.execute(sa.insert(t.superseded), rows)


def _slices(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))
