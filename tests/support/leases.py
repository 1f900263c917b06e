"""Months that are held: by processes that are made up, and by real ones that are killed, stopped or silent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.holder import Holder, holder_here
from dagster_planexec.journal.money.lease.leases import Lease, Standing, take
from dagster_planexec.journal.store import tables as t

TASK, PERIOD = "t", "2026-03"
PATIENCE_S = 60
"""After which something that is awaited will never come."""


def someone(n: int = 1, **known: Any) -> Holder:
    """A process on another machine."""
    return Holder(**{"run_id": f"run-{n}", "started_by": "a person", "host": f"host-{n}", "pid": 100 + n, **known})


def taken(
    journal: Journal, holder: Holder | None = None, *, task: str = TASK, period: str = PERIOD, lasts_s: int = 600,
    **more: Any,
) -> Lease | Standing:  # fmt: skip
    """What comes of asking for the month."""
    holder = holder or holder_here(run_id="run-here")
    return take(journal, task=task, period=period, holder=holder, lasts_s=lasts_s, **more)


def lease_of(journal: Journal, holder: Holder | None = None, **more: Any) -> Lease:
    """The month, which is free."""
    found = taken(journal, holder, **more)
    assert isinstance(found, Lease), found.words
    return found


@contextmanager
def held_by(holder: Holder, **month: str) -> Iterator[Lease]:
    """The month is held by somebody else for as long as the block lasts."""
    journal = Journal()
    lease = lease_of(journal, holder, **month)
    try:
        yield lease
    finally:
        lease.release()
        journal.close()


def row_of(journal: Journal) -> Any:
    """The month's row."""
    with journal.reader.connect() as db:
        return db.execute(sa.select(t.leases).where(t.leases.c.task == TASK, t.leases.c.period == PERIOD)).one()


def silent_for(journal: Journal, seconds: float) -> None:
    """As if the holder's last beat had been so long ago, by both clocks."""
    beat = {"beat_at": datetime.fromtimestamp(time.time() - seconds, UTC).isoformat()}
    if (beat_s := row_of(journal).beat_s) is not None:
        beat["beat_s"] = beat_s - seconds
    with journal.engine.begin() as db:
        db.execute(sa.update(t.leases).values(**beat))


def awaited(condition: Callable[[], Any]) -> Any:
    """What the condition says, once it says anything."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return found
