"""Retention: what of a journal may be forgotten, and forgetting it, one attempt at a time.

Forgotten are the events, the results with their verdicts, and the reports of old attempts whose month has settled, and
plans that nothing names any more. What money, people, the sensor or the next plan may ask for is never forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.journal.door.payload import payload_text
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t

KEPT = {
    "planexec_attempts": "which inputs were admitted under which plan: the diff to the last settled plan needs it",
    "planexec_holds": "who was asked, and what",
    "planexec_landings": "where copies of deliveries are; the copies themselves are files, and not this verb's",
    "planexec_arrivals": "what the sensor has seen",
    "planexec_drop": "what the sensor sees now",
    "planexec_superseded_arrivals": "what replaced what in the drop",
    "planexec_run_requests": "which deliveries a run was asked for",
    "planexec_failures": "how steps have failed, and what helped",
    "planexec_runs_noted": "what failures are a share of",
    "planexec_leases": "who holds a month, and the number that the next holder counts on from",
    "planexec_stood_back": "which runs found their month held: what they were asked for is still to be done",
    "planexec_effects": "what was issued, line by line: without it nobody knows what was paid",
    "planexec_effect_changes": "how each of these lines came to be settled",
    "planexec_decisions": "who approved or rejected what, and the signatures",
    "planexec_hold_notices": "what people were told of holds",
}
"""Tables of which nothing is removed, and what for."""

OUTLINE = frozenset({"attempt-opened", "run-ended", "pruned"})
"""Events that stay of every attempt, a line each: that it was, how its runs ended, and that the rest was removed."""

Told = Callable[[str], None]


@dataclass(slots=True)
class TableCount:
    """What goes and what stays of one table."""

    table: str
    removed: int = 0
    characters: int = 0
    """Of what goes."""
    stays: int = 0
    why: str = ""
    """Why the rest stays."""


@dataclass(slots=True)
class Pruned:
    """What was removed, or would be."""

    journal: str
    task: str | None
    before: datetime
    dry_run: bool
    attempts: int = 0
    """Attempts of which events, results and reports go."""
    stay: dict[str, int] = field(default_factory=dict)
    """Why attempts stay whole, and how many."""
    tables: dict[str, TableCount] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What `planexec prune --json` prints of one journal."""
        return {
            "journal": self.journal, "task": self.task, "before": self.before.isoformat(), "dry_run": self.dry_run,
            "attempts": self.attempts, "attempts_that_stay": dict(self.stay),
            "tables": [
                {"table": c.table, "removed": c.removed, "characters": c.characters, "stays": c.stays, "why": c.why}
                for c in self.tables.values()
            ],
        }  # fmt: skip


def prune(
    journal: Journal, *, before: datetime, task: str | None = None, dry_run: bool = False,
    on_attempt: Told | None = None,
) -> Pruned:  # fmt: skip
    """Forget what is older than an instant and of no more use.

    Each attempt is one transaction: whatever ends this in the middle, an attempt is whole or gone, and the next call
    goes on. An attempt that runs meanwhile is left alone.

    Args:
        journal: Whose memory.
        before: What happened later than this stays.
        task: Only this task's; None: every task's.
        dry_run: Only count.
        on_attempt: Told the id of each attempt before it goes.
    """
    pruned = Pruned(journal.name, task, before, dry_run)
    cutoff = before.astimezone(UTC).isoformat()
    with journal.reader.connect() as db:
        candidates = _attempts(db, task)
        reasons = {row.id: _why_it_stays(db, row, cutoff) for row in candidates}
    going = [row.id for row in candidates if reasons[row.id] is None]
    pruned.attempts = len(going)
    for reason in filter(None, reasons.values()):
        pruned.stay[reason] = pruned.stay.get(reason, 0) + 1
    _count(journal, pruned, going, cutoff)
    if not dry_run:
        for attempt_id in going:
            if on_attempt is not None:
                on_attempt(attempt_id)
            _forget(journal, attempt_id, cutoff)
        with journal.engine.begin() as db:
            db.execute(sa.delete(t.plans).where(t.plans.c.digest.in_(_unnamed(db, cutoff, task, ()))))
    return pruned


def _attempts(db: sa.Connection, task: str | None) -> Sequence[Any]:
    query = sa.select(t.attempts).order_by(t.attempts.c.task, t.attempts.c.period, t.attempts.c.opened_seq)
    return db.execute(query if task is None else query.where(t.attempts.c.task == task)).all()


def _why_it_stays(db: sa.Connection, attempt: Any, cutoff: str) -> str | None:  # noqa: ANN401 - a row
    """None if it may go."""
    a = t.attempts.c
    if attempt.opened_at >= cutoff:
        return "younger"
    last = db.scalar(sa.select(sa.func.max(t.events.c.at)).where(t.events.c.attempt == attempt.id, _ROUTINE))
    if last is not None and last >= cutoff:
        return "used since"
    if db.scalar(
        sa.select(t.holds.c.id).where(t.holds.c.attempt == attempt.id, t.holds.c.state.in_(("open", "approved")))
    ):
        return "waits for a person"
    month = (a.task == attempt.task, a.period == attempt.period)
    newest = db.execute(sa.select(a.id, a.status).where(*month).order_by(a.opened_seq.desc()).limit(1)).one()
    later = sa.select(a.id).where(*month, a.opened_seq > attempt.opened_seq, a.status == "settled")
    if newest.status != "settled" and not db.scalar(later.limit(1)):
        return "its period has not settled"
    left = (sa.select(table.c.attempt).where(table.c.attempt == attempt.id, only) for table, only in _OWN)
    return None if any(db.scalar(query.limit(1)) for query in left) else "only its outline is left"


def _forget(journal: Journal, attempt_id: str, cutoff: str) -> None:
    """Remove one attempt's events, results and reports, if nothing has become of it since it was chosen."""
    with journal.engine.begin() as db:
        attempt = db.execute(sa.select(t.attempts).where(t.attempts.c.id == attempt_id)).one()
        if _why_it_stays(db, attempt, cutoff) is not None:
            return
        # The door in `append_only`: open for this transaction alone.
        now = datetime.now(UTC).isoformat()
        db.execute(sa.insert(t.pruning).values(since=now))
        gone = {
            table.name.removeprefix("planexec_"): db.execute(
                sa.delete(table).where(table.c.attempt == attempt_id, only)
            ).rowcount
            for table, only in _OWN
        }
        db.execute(sa.delete(t.pruning))
        said = payload_text({"removed": gone, "before": cutoff})
        db.execute(sa.insert(t.events).values(attempt=attempt_id, at=now, kind="pruned", payload=said))


_EVENTS = t.events.c.kind.not_in(OUTLINE)
_ROUTINE = t.events.c.kind != "pruned"
_OWN: tuple[tuple[sa.Table, sa.ColumnElement[bool]], ...] = (
    (t.events, _EVENTS), (t.results, sa.true()), (t.reports, sa.true()),
)  # fmt: skip
"""What goes of an attempt."""
_BODIES = {
    t.events.name: (t.events.c.payload, "of attempts that stay whole, and one line for each opening and each end"),
    t.results.name: (t.results.c.body, "what a run of their attempts may build on"),
    t.reports.name: (t.reports.c.body, "of attempts that stay whole, or of runs that could admit nothing"),
}


_PLANS_STAY = "an attempt, a hold or an event that stays names them, or they are younger"


def _count(journal: Journal, pruned: Pruned, going: Sequence[str], cutoff: str) -> None:
    with journal.reader.connect() as db:
        for table, only in _OWN:
            body, why = _BODIES[table.name]
            count = _of(pruned, db, table.name, table, why)
            for chosen in _slices(going):
                mine = sa.select(sa.func.count(), sa.func.sum(sa.func.length(body)))
                rows, characters = db.execute(mine.where(table.c.attempt.in_(chosen), only)).one()
                count.removed, count.characters = count.removed + rows, count.characters + int(characters or 0)
            count.stays -= count.removed
        plans = _of(pruned, db, t.plans.name, t.plans, _PLANS_STAY)
        unnamed = _unnamed(db, cutoff, pruned.task, going)
        for chosen in _slices(unnamed):
            size = sa.select(sa.func.sum(sa.func.length(t.plans.c.body))).where(t.plans.c.digest.in_(chosen))
            plans.characters += int(db.scalar(size) or 0)
        plans.removed = len(unnamed)
        plans.stays -= plans.removed
        there = sa.inspect(db)  # a journal of an older version, which is only looked at, has not all of them
        for table in t.metadata.sorted_tables:
            if table.name in KEPT and there.has_table(table.name):
                _of(pruned, db, table.name, table, KEPT[table.name])


def _of(pruned: Pruned, db: sa.Connection, name: str, table: sa.Table, why: str) -> TableCount:
    there = db.scalar(sa.select(sa.func.count()).select_from(table)) or 0
    pruned.tables[name] = TableCount(name, stays=there, why=why)
    return pruned.tables[name]


def _unnamed(db: sa.Connection, cutoff: str, task: str | None, going: Sequence[str]) -> list[str]:
    """Plans older than the cutoff that no attempt and no hold names, nor an event that stays.

    A plan knows no task in the table, so with `task` only plans that say it are looked at.
    """
    p = t.plans.c
    attempts = sa.select(t.attempts.c.plan_digest).where(t.attempts.c.plan_digest.is_not(None))
    named = sa.union(attempts, sa.select(t.holds.c.plan_digest))
    query = sa.select(p.digest, p.body).where(p.saved_at < cutoff, p.digest.not_in(named))
    candidates = {
        row.digest
        for row in db.execute(query)
        if task is None or f'"task":{json.dumps(task)}'.encode() in bytes(row.body)
    }
    if candidates:
        gone = frozenset(going)
        adopted = sa.select(t.events.c.attempt, t.events.c.payload).where(t.events.c.kind == "plan-adopted")
        for attempt_id, payload in db.execute(adopted):
            if attempt_id not in gone:
                candidates.discard(str(json.loads(payload).get("digest")))
    return sorted(candidates)


def _slices(names: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]
