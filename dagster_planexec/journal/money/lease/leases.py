"""Leases: one run at a time holds a month, and what any other writes about it is refused.

A lease has a token that rises with every holder. Each write of a run asks, in its own transaction, whether its token is
still the month's: whoever slept, was cut off or was given up for dead writes nothing afterwards, however long it lives.
How old a beat is, one clock says: the database's; in SQLite, the seconds since the machine was started, where both were
counted since the same start, else the machine's clock. So nobody loses a month because a clock was set.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Fence, Journal
from dagster_planexec.journal.money.lease.heartbeat import Heartbeat
from dagster_planexec.journal.money.lease.holder import Holder, is_gone, shares_clock
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.engine import open_engine
from dagster_planexec.journal.store.migrate import NEWEST
from dagster_planexec.journal.store.place import place_of

HELD, FREE = "held", "free"

HasEnded = Callable[[Holder], bool]
"""Whether a holder's run is known to have ended, whatever its process does."""


def nobody_knows(_: Holder) -> bool:
    """Where nothing keeps count of runs."""
    return False


@dataclass(frozen=True, slots=True)
class Standing:
    """What is written of who holds a month, or held it last."""

    task: str
    period: str
    token: int
    is_held: bool
    """Whether it was not given back. Its holder may be gone all the same."""
    holder: Holder
    since: datetime
    beat_at: datetime
    lasts_s: int
    is_stale: bool
    """Whether its last beat is longer ago than it lasts."""

    @property
    def words(self) -> str:
        """One sentence: who, since when, and when they were last heard of."""
        since, beat = (f"{at:%Y-%m-%d %H:%M:%S} UTC" for at in (self.since, self.beat_at))
        return f"{self.holder.words} has held {self.period} since {since}, last heard of at {beat}"


class Lease:
    """A month that this process holds. Made by `take`; to be released in a `finally`."""

    def __init__(self, journal: Journal, task: str, period: str, token: int, heartbeat: Heartbeat,
                 taken_from: Standing | None) -> None:  # fmt: skip
        self._journal, self._heartbeat = journal, heartbeat
        self.task, self.period, self.token = task, period, token
        self.taken_from = taken_from
        """Whoever had not given it back: gone, silent, or ended."""
        self.stood_back = 0
        """How many runs came meanwhile and stood back; known once it is released."""

    def require(self, db: sa.Connection) -> None:
        """The fence of everything that this run writes.

        Raises:
            PlanexecError: LEASE_LOST if another run holds the month, or its own heartbeat has failed for too long.
        """
        if self._heartbeat.failed is not None:
            raise _lost(self.task, self.period, self._heartbeat.failed)
        fence_of(self.task, self.period, self.token)(db)

    def release(self) -> None:
        """Give the month back. Whoever took it over meanwhile keeps it."""
        self._heartbeat.stop()
        mine = (*_month(self.task, self.period), t.leases.c.token == self.token)
        met = sa.select(sa.func.count()).where(
            t.stood_back.c.task == self.task, t.stood_back.c.period == self.period, t.stood_back.c.token == self.token
        )
        given_back = _place_of_lease(self._journal, self.task, self.period, self.token)
        _GIVEN_BACK.add(given_back)
        # A database that takes nothing keeps a lease that nobody beats: the next run finds its holder gone or silent,
        # or, if it is in this very process, that it was given back.
        with contextlib.suppress(PlanexecError):
            with self._journal.engine.begin() as db:
                db.execute(sa.update(t.leases).where(*mine).values(state=FREE))
                self.stood_back = db.execute(met).scalar_one()
            _GIVEN_BACK.discard(given_back)


def take(
    journal: Journal, *, task: str, period: str, holder: Holder, lasts_s: int, has_ended: HasEnded = nobody_knows
) -> Lease | Standing:
    """Hold a month, or learn who holds it.

    It is taken over from a holder that gave it back, that was not heard of for as long as its lease lasts, whose
    process on this very host is gone, or whose run has ended.

    Args:
        journal: Where the month is remembered.
        task: The task's name.
        period: The month or quarter, as text.
        holder: Who asks.
        lasts_s: Seconds that the lease lasts without a beat: more than anything the run does takes.
        has_ended: Asked about a holder that has not given it back.

    Returns:
        The lease, or how the month stands if somebody holds it; then it is noted that this run stood back.
    """
    found = standing(journal, task, period)
    # Asked before the transaction, for it may take its time: what is found is about this token and no other.
    gone = found is not None and found.is_held and (
        _place_of_lease(journal, task, period, found.token) in _GIVEN_BACK
        or _is_gone(journal, found.holder)
        or has_ended(found.holder)
    )  # fmt: skip
    with journal.engine.begin() as db:
        now = _standing_in(db, task, period)
        if now is not None and now.is_held and not now.is_stale:
            was_seen = found is not None and found.token == now.token
            if not (gone and was_seen):
                said = {"task": task, "period": period, "token": now.token, "run_id": holder.run_id,
                        "run_key": holder.run_key, "at": _now(db).isoformat()}  # fmt: skip
                db.execute(sa.insert(t.stood_back).values(**said))
                return now
        token = now.token + 1 if now is not None else 1
        at = _now(db).isoformat()
        values: dict[str, Any] = {
            "token": token, "state": HELD, "holder": holder.as_json(), "taken_at": at, "beat_at": at,
            "beat_s": time.monotonic(), "lasts_s": lasts_s,
        }  # fmt: skip
        if now is None:
            db.execute(sa.insert(t.leases).values(task=task, period=period, **values))
        else:
            db.execute(sa.update(t.leases).where(*_month(task, period)).values(**values))
    place = place_of(journal.name)
    heartbeat = Heartbeat(
        lambda: open_engine(place),  # a connection of its own: the run's may be busy for as long as a query takes
        beat=lambda db: _beat(db, task, period, token),
        give_up=lambda db: _give_up(db, task, period, token),
        lasts_s=lasts_s,
    )
    heartbeat.start()
    return Lease(journal, task, period, token, heartbeat, now if now is not None and now.is_held else None)


def fence_of(task: str, period: str, token: int) -> Fence:
    """The fence of a process that works for the holder, and knows the token only."""

    def require(db: sa.Connection) -> None:
        query = sa.select(t.leases.c.token, t.leases.c.state, t.leases.c.holder, t.leases.c.taken_at)
        row = db.execute(query.where(*_month(task, period))).one_or_none()
        if row is None:
            raise _lost(task, period, "nobody is known to hold it")
        if row.token != token:
            holder, at = Holder.read(row.holder), datetime.fromisoformat(row.taken_at)
            raise _lost(task, period, f"{holder.words} took it over at {at:%Y-%m-%d %H:%M:%S} UTC")
        if row.state != HELD:
            raise _lost(task, period, "this run has given it back already")

    return require


def standing(journal: Journal, task: str, period: str) -> Standing | None:
    """How a month stands; None if it was never held."""
    with journal.reader.connect() as db:
        return _standing_in(db, task, period)


def held_now(journal: Journal, task: str) -> dict[str, Standing]:
    """The months of a task that are being worked on, by period: whoever holds them has not been silent, nor is gone."""
    if journal.version < NEWEST:
        return {}  # an older journal that is only looked at
    query = sa.select(t.leases.c.period).where(t.leases.c.task == task, t.leases.c.state == HELD)
    with journal.reader.connect() as db:
        periods = db.execute(query.order_by(t.leases.c.period)).scalars().all()
        found = [_standing_in(db, task, period) for period in periods]
    return {
        one.period: one
        for one in found
        if one is not None and one.is_held and not one.is_stale and not _is_gone(journal, one.holder)
    }


def times_stood_back(journal: Journal, task: str, run_key: str) -> int:
    """How many runs that were asked for under this key, or a later one of the same request, stood back."""
    c = t.stood_back.c
    same = sa.or_(c.run_key == run_key, c.run_key.startswith(f"{run_key}-", autoescape=True))
    with journal.reader.connect() as db:
        return db.execute(sa.select(sa.func.count()).where(c.task == task, same)).scalar_one()


def _standing_in(db: sa.Connection, task: str, period: str) -> Standing | None:
    row = db.execute(sa.select(t.leases).where(*_month(task, period))).one_or_none()
    if row is None:
        return None
    holder, beat_at = Holder.read(row.holder), datetime.fromisoformat(row.beat_at)
    if db.dialect.name == "sqlite" and row.beat_s is not None and shares_clock(holder):
        age_s = time.monotonic() - row.beat_s
    else:
        age_s = (_now(db) - beat_at).total_seconds()
    # A beat from far ahead is as old: the clock was set back since, and nothing can be said of when it was.
    stale = abs(age_s) > row.lasts_s
    since = datetime.fromisoformat(row.taken_at)
    return Standing(task, period, row.token, row.state == HELD, holder, since, beat_at, row.lasts_s, stale)


_GIVEN_BACK: set[tuple[str, str, str, int]] = set()
"""Leases that this process has given back, and that its database would not let go of."""


def _place_of_lease(journal: Journal, task: str, period: str, token: int) -> tuple[str, str, str, int]:
    return str(journal.engine.url), task, period, token


def _beat(db: sa.Connection, task: str, period: str, token: int) -> bool:
    mine = (*_month(task, period), t.leases.c.token == token, t.leases.c.state == HELD)
    beat = {"beat_at": _now(db).isoformat(), "beat_s": time.monotonic()}
    return bool(db.execute(sa.update(t.leases).where(*mine).values(**beat)).rowcount)


def _give_up(db: sa.Connection, task: str, period: str, token: int) -> None:
    mine = (*_month(task, period), t.leases.c.token == token)
    db.execute(sa.update(t.leases).where(*mine).values(state=FREE))


def _now(db: sa.Connection) -> datetime:
    if db.dialect.name == "sqlite":
        return datetime.now(UTC)
    # Not `now()`, which stands still while a transaction waits for the writer's lock.
    at: datetime = db.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return at.astimezone(UTC)


def _is_gone(journal: Journal, holder: Holder) -> bool:
    return is_gone(holder, one_machine=journal.engine.dialect.name == "sqlite")


def _month(task: str, period: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (t.leases.c.task == task, t.leases.c.period == period)


def _lost(task: str, period: str, because: str) -> PlanexecError:
    return PlanexecError(
        "LEASE_LOST",
        f"this run no longer holds {period} of {task}: {because}; nothing that it writes about it is kept any more",
        hint=f"look at the run that holds it: `planexec status {task}`",
    )
