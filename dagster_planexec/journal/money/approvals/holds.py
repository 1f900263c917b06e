"""Holds: steps that wait for a person. A month has at most one that is open, and every closed one says why.

`open` -> `approved` or `rejected` by people; `approved` -> `used` when what was approved is done, `stale` when it is no
longer what would be done; `expired`, `superseded` and `settled` by time, by a later attempt or plan, by a month that
settled without it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import dumps
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.digest import canonical_bytes, digest_of

State = Literal["open", "approved", "rejected", "expired", "superseded", "stale", "used", "settled"]
WAITING: tuple[State, ...] = ("open", "approved")
"""The states of a hold that is not closed."""
DECIDED_SINCE = 5
"""The version of the journal that has decisions; holds of an older one are read without what they are bound to."""
_NEWER = frozenset({"bound", "shown", "expires_at", "closed_at", "closed_because"})
_MAY_BE_SUCCEEDED = frozenset({"superseded", "stale", "expired"})
_SUCCEEDED = "took its place"
_ENDS: Mapping[str, str] = {"rejected": "HOLD_REJECTED", "expired": "HOLD_EXPIRED"}
"""States of a hold after which its month waits for nobody any more, with the code that it stands stopped under."""
_OWN = frozenset({"hold", "shown", "facts", "code", "opened_at", "expires_at"})
"""What of `bound` is of the hold's own row; two holds that ask the same differ in it, or it is compared by column."""


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """A step that waits for a person."""

    id: str
    attempt: str
    task: str
    period: str
    step: str
    code: str
    plan_digest: str
    facts: Mapping[str, Any]
    state: str
    opened_at: str
    bound: Mapping[str, Any] | None = None
    """What a decision about it is bound to; None if no approval releases it."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """What else a person needs: plan, differences, lines, evidence in words, verdicts, runs. Its digest is bound."""
    expires_at: str | None = None
    closed_at: str | None = None
    closed_because: str | None = None


def open_hold(  # noqa: PLR0913 - everything that makes the question
    journal: Journal,
    *,
    attempt_id: str,
    task: str,
    period: str,
    step: str,
    code: str,
    plan_digest: str,
    facts: Mapping[str, Any],
    bound: Mapping[str, Any] | None = None,
    shown: Mapping[str, Any] | None = None,
    now: datetime | None = None,
    expires_at: datetime | None = None,
) -> HoldRecord:
    """The one open hold of the month: the same question asked again is the same hold, another one supersedes it.

    Args:
        journal: Where it is remembered.
        attempt_id: Whose question it is.
        task: Its name.
        period: Its text.
        step: The step that waits.
        code: Why.
        plan_digest: The plan that is being run.
        facts: What the step would do.
        bound: What a decision is bound to, without the hold's own id; None: no approval releases it.
        shown: What else a person needs.
        now: The time by the run's clock.
        expires_at: When nobody can decide any more.

    Raises:
        PlanexecError: HOLD_SUPERSEDED if a later attempt has the month: its run asks, if anybody does.
    """
    now = now or datetime.now(UTC)
    facts = redacted(facts)
    words: dict[str, Any] = redacted(dict(shown or {}))
    with journal.writing() as db:
        status = db.execute(sa.select(t.attempts.c.status).where(t.attempts.c.id == attempt_id)).scalar()
        if status == "superseded":
            raise PlanexecError(
                "HOLD_SUPERSEDED", f"attempt {attempt_id} of {task} {period} was superseded: it asks nobody any more",
                hint=f"look at the later attempt: `planexec trace {task} --partition {period}`",
            )  # fmt: skip
        before = _newest(db, task, period)
        asked = {"attempt": attempt_id, "step": step, "code": code, "plan_digest": plan_digest, "body": dumps(facts)}
        if before is not None and before["state"] in WAITING:
            gone = before["expires_at"] is not None and datetime.fromisoformat(before["expires_at"]) <= now
            same = all(before[name] == value for name, value in asked.items())
            if before["state"] == "open" and not gone and same and _asks_the_same(before["bound"], bound):
                return record_of(before)
        hold_id = f"hold_{secrets.token_hex(6)}"
        if before is not None:
            _succeed(db, before, hold_id, now)
            words["supersedes"] = None if before["state"] in {"used", "settled"} else before["id"]
        row = {
            "id": hold_id, "task": task, "period": period, "state": "open", "opened_at": now.isoformat(), **asked,
            "bound": None, "shown": dumps(words),
            "expires_at": None if expires_at is None else expires_at.astimezone(UTC).isoformat(),
            "closed_at": None, "closed_because": None,
        }  # fmt: skip
        if bound is not None:  # whatever of the row a person is shown, they sign
            row["bound"] = canonical_bytes({**bound, **own_terms(record_of(row))}).decode()
        db.execute(sa.insert(t.holds).values(**row))
    return record_of(row)


def own_terms(held: HoldRecord) -> dict[str, Any]:
    """What a decision is bound to of the hold's own row: what is shown of it beside what would be done."""
    return {
        "hold": held.id, "shown": digest_of(dict(held.shown)), "facts": digest_of(dict(held.facts)), "code": held.code,
        "opened_at": held.opened_at, "expires_at": held.expires_at,
    }  # fmt: skip


def _newest(db: sa.Connection, task: str, period: str) -> dict[str, Any] | None:
    """The hold of the month that waits, else the one that was opened last."""
    month = sa.select(t.holds).where(t.holds.c.task == task, t.holds.c.period == period)
    waits = sa.case((t.holds.c.state.in_(WAITING), 0), else_=1)
    row = (
        db.execute(month.order_by(waits, t.holds.c.opened_at.desc(), t.holds.c.closed_at.desc()).limit(1))
        .mappings()
        .first()
    )
    return dict(row) if row else None


def _asks_the_same(before: str | None, now: Mapping[str, Any] | None) -> bool:
    if before is None or now is None:
        return before is None and now is None
    asked = {name: value for name, value in json.loads(before).items() if name not in _OWN}
    return canonical_bytes(asked) == canonical_bytes(dict(now))


def _succeed(db: sa.Connection, before: Mapping[str, Any], hold_id: str, now: datetime) -> None:
    """Have the hold before say what came after it."""
    where = t.holds.c.id == before["id"]
    if before["state"] in WAITING:
        expires = before["expires_at"]
        gone = expires is not None and datetime.fromisoformat(expires) <= now
        why = "nobody decided in time" if gone else "what would be done, or by which plan, is not the same any more"
        values = {
            "state": "expired" if gone else "superseded", "closed_at": now.isoformat(),
            "closed_because": f"{why}; {hold_id} {_SUCCEEDED}",
        }  # fmt: skip
        db.execute(sa.update(t.holds).where(where).values(**values))
    elif before["state"] in _MAY_BE_SUCCEEDED and _SUCCEEDED not in (before["closed_because"] or ""):
        said = f"{before['closed_because'] or 'it was superseded'}; {hold_id} {_SUCCEEDED}"
        db.execute(sa.update(t.holds).where(where).values(closed_because=said))


def close_hold(
    journal: Journal, hold_id: str, state: State, because: str, *, now: datetime, of: Sequence[State] = WAITING
) -> bool:
    """Close a hold that is in one of these states, for a run of its month; whether it was in one."""
    with journal.writing() as db:
        return set_state(db, hold_id, state, because, now=now, of=of)


def set_state(
    db: sa.Connection, hold_id: str, state: State, because: str, *, now: datetime, of: Sequence[State] = WAITING
) -> bool:
    """The same within a transaction of somebody else's."""
    values = {"state": state, "closed_at": now.isoformat(), "closed_because": because}
    if state in WAITING:
        values = {"state": state}
    found = db.execute(sa.update(t.holds).where(t.holds.c.id == hold_id, t.holds.c.state.in_(of)).values(**values))
    if found.rowcount and state in _ENDS:
        its = sa.select(t.holds.c.attempt).where(t.holds.c.id == hold_id).scalar_subquery()
        waits = (t.attempts.c.id == its, t.attempts.c.status == "held")
        db.execute(sa.update(t.attempts).where(*waits).values(status="stopped", code=_ENDS[state]))
    return bool(found.rowcount)


def hold(journal: Journal, hold_id: str) -> HoldRecord | None:
    """The hold of that id, or None."""
    with journal.reader.connect() as db:
        row = db.execute(_all_of(journal).where(t.holds.c.id == hold_id)).mappings().first()
    return record_of(dict(row)) if row else None


def _all_of(journal: Journal) -> sa.Select[Any]:
    """Everything of holds; an older journal that is only looked at has less, and is not changed for it."""
    if journal.version >= DECIDED_SINCE:
        return sa.select(t.holds)
    return sa.select(*(sa.null().label(one.name) if one.name in _NEWER else one for one in t.holds.c))


def holds_of(
    journal: Journal, task: str | None = None, *, period: str | None = None, states: Sequence[str] = ()
) -> tuple[HoldRecord, ...]:
    """Holds, newest first: of a task, of a period, in these states; all of them if nothing is said."""
    query = _all_of(journal).order_by(t.holds.c.opened_at.desc(), t.holds.c.id)
    if task is not None:
        query = query.where(t.holds.c.task == task)
    if period is not None:
        query = query.where(t.holds.c.period == period)
    if states:
        query = query.where(t.holds.c.state.in_(states))
    with journal.reader.connect() as db:
        return tuple(record_of(dict(row)) for row in db.execute(query).mappings())


def approved_hold(journal: Journal, task: str, period: str) -> HoldRecord | None:
    """The hold of the month that people have approved and that nothing was done under yet, if there is one."""
    found = holds_of(journal, task, period=period, states=("approved",))
    return found[0] if found else None


def has_begun(journal: Journal, hold_id: str) -> bool:
    """Whether anything was ever to be done under this hold: the effects ledger has a line of it."""
    with journal.reader.connect() as db:
        return db.execute(sa.select(t.effects.c.seq).where(t.effects.c.hold_id == hold_id).limit(1)).first() is not None


def state_of(journal: Journal, hold_id: str) -> str | None:
    """The state that the hold is in now, and nothing else of it; None if there is none of that id."""
    with journal.reader.connect() as db:
        return db.execute(sa.select(t.holds.c.state).where(t.holds.c.id == hold_id)).scalar()


def lines_under(journal: Journal, hold_id: str) -> tuple[int, int]:
    """How many lines were issued under this hold, and how many were to be in all, as the effects ledger has them."""
    issued = sa.func.coalesce(sa.func.sum(sa.case((t.effects.c.state == "issued", 1), else_=0)), 0)
    query = sa.select(issued, sa.func.count()).where(t.effects.c.hold_id == hold_id)
    with journal.reader.connect() as db:
        found, count = db.execute(query).one()
    return int(found), int(count)


def record_of(row: Mapping[str, Any]) -> HoldRecord:
    """The hold of a row."""
    return HoldRecord(
        row["id"], row["attempt"], row["task"], row["period"], row["step"], row["code"], row["plan_digest"],
        json.loads(row["body"]), row["state"], row["opened_at"],
        json.loads(row["bound"]) if row["bound"] else None, json.loads(row["shown"]) if row["shown"] else {},
        row["expires_at"], row["closed_at"], row["closed_because"],
    )  # fmt: skip
