"""The trace of a run: what the journal holds of it, in order, found by whatever name a person has for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Attempt, Event, Journal
from dagster_planexec.journal.run_report import load_report, newest_report
from dagster_planexec.journal.store import tables as t

BEGINS, ENDS = "run-begun", "run-ended"


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of one run, or of all runs of an attempt, in order."""

    task: str
    period: str
    attempt: Attempt | None
    """None for a run that ended before anything could be admitted."""
    events: tuple[Event, ...]
    task_run_id: str | None = None
    """None for an attempt, which may have had several."""
    plan_run_id: str | None = None
    document: Mapping[str, Any] | None = None
    """What the task run was reported with; None while it goes on."""
    said: Mapping[str, Any] | None = None
    """For an attempt: what its last run was reported with, if that is the end that is told here."""
    later: Mapping[str, Any] | None = None
    """For a period: the document of a run that came later and could admit nothing."""

    @property
    def words(self) -> tuple[str, str]:
        """The sentence about the end, and what to do next; empty where nobody said any."""
        document = self.document or self.said or {}
        return str(document.get("text") or ""), str(document.get("hint") or "")

    @property
    def has_ended(self) -> bool:
        """Whether the last run in it said how it ended."""
        kinds = [event.kind for event in self.events if event.kind in {BEGINS, ENDS}]
        return self.document is not None or kinds[-1:] == [ENDS]

    @property
    def end(self) -> tuple[str | None, str | None]:
        """Status and code of the last end."""
        if self.document is not None:
            return self.document["status"], self.document["code"]
        said = next((e.payload for e in reversed(self.events) if e.kind == ENDS), None)
        return (said["status"], said["code"]) if said and self.has_ended else (None, None)

    def as_json(self) -> dict[str, Any]:
        """The whole trace as one JSON document; `status` is null while it goes on."""
        status, code = self.end
        return {
            "version": 1, "task": self.task, "period": self.period,
            "attempt": self.attempt.id if self.attempt else None,
            "task_run_id": self.task_run_id, "plan_run_id": self.plan_run_id,
            "has_ended": self.has_ended, "status": status, "code": code, "later": self.later,
            "events": [
                {**event.payload, "seq": event.seq, "at": event.at, "kind": event.kind, "step": event.step,
                 "run": event.run_id}
                for event in self.events
            ],
        }  # fmt: skip


def known_attempt(journal: Journal, attempt_id: str) -> Attempt | None:
    """The attempt of that id, or None."""
    try:
        return journal.attempt(attempt_id)
    except PlanexecError:
        return None


def trace_of_attempt(journal: Journal, attempt: Attempt) -> Trace:
    """All runs of an attempt."""
    trace = Trace(attempt.task, attempt.period, attempt, journal.events(attempt.id))
    begun = next((e.payload.get("task_run") for e in reversed(trace.events) if e.kind == BEGINS), None)
    document = load_report(journal, begun) if begun and trace.has_ended else None
    # A plan that was only looked at since may have ended the attempt in another way.
    is_the_end = document is not None and document["code"] == trace.end[1]
    return replace(trace, said=document if is_the_end else None)


def trace_of_period(journal: Journal, task: str, period: str | None) -> Trace | None:
    """The newest attempt of a task, or of one of its periods, and the run after it that could admit nothing."""
    attempts = [a for a in journal.newest_attempts(task) if period is None or a.period == period]
    newest = max(attempts, key=lambda a: a.opened_at, default=None)
    document = newest_report(journal, task, newest.period if newest else period)
    if newest is None:
        return trace_of_run(journal, document["task_run_id"]) if document else None
    later = document if document is not None and not _is_of_attempt(journal, document) else None
    return replace(trace_of_attempt(journal, newest), later=later)


def _is_of_attempt(journal: Journal, document: Mapping[str, Any]) -> bool:
    query = sa.select(t.reports.c.attempt).where(t.reports.c.task_run_id == document["task_run_id"])
    with journal.reader.connect() as db:
        return db.scalar(query) is not None


def trace_of_run(journal: Journal, run_id: str) -> Trace | None:
    """A task run, or the plan run inside it, by the id that Dagster gave it; None if nothing is remembered of it."""
    with journal.reader.connect() as db:
        row = db.execute(sa.select(t.reports).where(t.reports.c.task_run_id == run_id)).mappings().first()
        attempt_id: str | None = row["attempt"] if row else db.scalar(_attempt_with(run_id))
    document = json.loads(row["body"]) if row else None
    attempt = known_attempt(journal, attempt_id) if attempt_id else None
    if attempt is None:
        return Trace(row["task"], row["period"], None, (), run_id, None, document) if row else None
    events = _run_of(journal.events(attempt.id), run_id, document["plan_run_id"] if document else None)
    begun = next((e.payload.get("task_run") for e in events if e.kind == BEGINS), None)
    runs = [e.run_id for e in events if e.run_id]  # several, if there were several plans; the last one made the end
    plan_run = run_id if run_id in runs else next(reversed(runs), None)
    if document is None and begun and begun != run_id:
        document = load_report(journal, begun)
    task_run = row["task_run_id"] if row else begun
    return Trace(attempt.task, attempt.period, attempt, events, task_run, plan_run, document)


def _attempt_with(run_id: str) -> sa.Select[Any]:
    """The attempt that a run without a report belongs to: one that goes on, or a plan run."""
    of_task_run = sa.and_(t.events.c.kind == BEGINS, t.events.c.payload.contains(json.dumps(run_id), autoescape=True))
    return sa.select(t.events.c.attempt).where(sa.or_(t.events.c.run_id == run_id, of_task_run)).limit(1)


def _run_of(events: Sequence[Event], run_id: str, plan_run_id: str | None) -> tuple[Event, ...]:
    """One run's part of an attempt: from where it begins to where it ends, without the steps of other runs.

    What came before the first run (the attempt was opened, somebody looked at its plan) is told with the first.
    """
    begins = [n for n, event in enumerate(events) if event.kind == BEGINS]
    first_own = next((n for n, event in enumerate(events) if event.run_id == run_id), 0)
    begin = next((n for n in begins if events[n].payload.get("task_run") == run_id), None)
    if begin is None:
        begin = next((n for n in reversed(begins) if n <= first_own), 0)
    after = next((n for n in begins if n > begin), len(events))
    start = begin if any(n < begin for n in begins) else 0
    inside = [event.run_id for event in events[begin:after] if event.run_id]
    plan_runs = {*inside, plan_run_id}  # one per revision
    end = next((n for n in range(begin, after) if events[n].kind == ENDS), after - 1)
    return tuple(
        event for n, event in enumerate(events)
        if (event.run_id is None and start <= n <= end) or (event.run_id is not None and event.run_id in plan_runs)
    )  # fmt: skip
