"""Attempts that wait for a time: written when a run ends to wait, read by whoever starts the next when it has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dagster_planexec.journal.journal import Journal, NewEvent

WAITING = "waiting"
"""Status of the attempt and of its run, and kind of the event that says until when."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A period that is to be run again at a time."""

    attempt: str
    period: str
    step: str
    code: str
    until: datetime
    backfill: str | None = None
    """The backfill that the run was part of: what it may not do without a person, its continuation may not either."""

    @property
    def run_key(self) -> str:
        """One run per attempt and time, however often it is looked at."""
        return f"wait:{self.attempt}:{self.until:%Y%m%dT%H%M%S}"


def waits(step: str, code: str | None, until: datetime, *, backfill: str | None = None) -> NewEvent:
    """The event that a step waits."""
    said = {"code": code or "UNAVAILABLE", "until": until.isoformat(), "backfill": backfill}
    return NewEvent(WAITING, step, said)


def waiting(journal: Journal, task: str) -> tuple[Wait, ...]:
    """The periods of a task that wait now, in order. An attempt that was superseded waits for nothing any more."""
    found = []
    for attempt in journal.newest_attempts(task):
        if attempt.status != WAITING:
            continue
        last = journal.events(attempt.id, kinds=[WAITING])[-1:]
        found += [
            Wait(attempt.id, attempt.period, e.step or "", str(e.payload["code"]),
                 datetime.fromisoformat(e.payload["until"]), e.payload.get("backfill"))
            for e in last
        ]  # fmt: skip
    return tuple(found)
