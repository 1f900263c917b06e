"""The ledger of effects: every line that was ever to be issued, written before it is, and how it ended.

A line is known by effect scope, period, line key and ordinal, and by no task, tool, plan or attempt. Its amount never
changes; what does, its state, leaves a row each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import bounded
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.leases import held_now
from dagster_planexec.journal.store import tables as t
from dagster_planexec.world.ports import Credit
from dagster_planexec.world.probes.result.to_issue import Elsewhere

EffectState = Literal["intended", "issued", "refused", "unknown", "not-issued"]
"""`intended`: written, and perhaps sent. `refused`: the target said that it does nothing. `unknown`: nobody knows yet.
`not-issued`: looked up, or settled by a person: it is not there."""
OPEN: frozenset[str] = frozenset({"intended", "unknown"})
"""States in which a line may still be issued, or may have been."""
_LONGEST = 500
_ROWS = 400
"""Rows of one statement: no database takes any number of parameters."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the ledger."""

    id: int
    scope: str
    period: str
    key: str
    ordinal: int
    amount: Decimal
    currency: str
    target: str
    task: str
    tool: str
    attempt: str
    run_id: str
    """The run that meant to issue it last."""
    hold_id: str | None
    intended_at: str
    state: EffectState
    ended_at: str | None
    said: str | None
    settled_by: str | None
    """The person who said how it ended; None if a run did."""

    @property
    def credit(self) -> Credit:
        """What is to be issued."""
        return Credit(self.scope, self.period, self.key, self.ordinal, self.amount, self.currency)


@dataclass(frozen=True, slots=True)
class Change:
    """How the state of an effect changed, and who changed it."""

    effect: int
    at: str
    state: EffectState
    by: str
    said: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A change to be written."""

    effect: int
    state: EffectState
    said: str


@dataclass(frozen=True, slots=True)
class Owner:
    """On whose behalf lines are written."""

    task: str
    tool: str
    target: str
    attempt: str
    run_id: str
    token: int | None = None
    hold_id: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """A line that is to be issued."""

    credit: Credit
    again: int | None = None
    """The effect that was written for it before, if there is one."""
    look_first: bool = False
    """An earlier run may have sent it."""


def effects_of(journal: Journal, scope: str, period: str) -> tuple[Effect, ...]:
    """Every line of a scope and period, by key and ordinal."""
    query = _months(scope, period).order_by(t.effects.c.line_key, t.effects.c.ordinal)
    with journal.reader.connect() as db:
        return tuple(_effect(row) for row in db.execute(query).mappings())


def issued_elsewhere(effects: Iterable[Effect], target: str) -> Elsewhere:
    """What counts as issued although this target may not list it: another one has issued it, or a person says so."""
    return tuple(
        (effect.key, effect.ordinal, effect.amount)
        for effect in effects
        if effect.state == "issued" and (effect.target != target or effect.settled_by is not None)
    )


def effects_listed(journal: Journal, *, task: str | None = None, period: str | None = None) -> tuple[Effect, ...]:
    """Every line, or those that a task has written last, or those of a period; oldest first."""
    query = sa.select(t.effects).order_by(t.effects.c.seq)
    if task is not None:
        query = query.where(t.effects.c.task == task)
    if period is not None:
        query = query.where(t.effects.c.period == period)
    with journal.reader.connect() as db:
        return tuple(_effect(row) for row in db.execute(query).mappings())


def changes_of(journal: Journal, effect: int) -> tuple[Change, ...]:
    """How an effect came to be what it is."""
    query = sa.select(t.effect_changes).where(t.effect_changes.c.effect == effect).order_by(t.effect_changes.c.seq)
    with journal.reader.connect() as db:
        rows = db.execute(query).mappings().all()
    return tuple(Change(row["effect"], row["at"], row["state"], row["by"], row["said"]) for row in rows)


def write_intents(
    journal: Journal,
    owner: Owner,
    intents: Sequence[Intent],
    *,
    ended: Sequence[Ended] = (),
    adopted: Sequence[Credit] = (),
) -> dict[Credit, int]:
    """Write what is about to be issued, and what was found out beforehand, all or nothing.

    Args:
        journal: Of the run; its fence is asked in the same transaction.
        owner: On whose behalf.
        intents: The lines; those that were written before are continued.
        ended: What a look at the target says of earlier lines.
        adopted: What the target holds and this ledger does not know: it counts as issued.

    Returns:
        The effect of each intent.

    Raises:
        PlanexecError: LEASE_LOST if another run holds the month, or has written the same lines meanwhile.
    """
    now = _now()
    by = f"run {owner.run_id}"
    try:
        if not intents and not ended and not adopted:
            return {}
        with journal.writing() as db:
            _end(db, ended, f"look-up of {by}", now)
            # Nobody has approved what was there before, so it stands under no hold.
            _insert(
                db, replace(owner, hold_id=None), adopted, "issued", now, "the target knows it and this ledger did not"
            )
            fresh = [intent.credit for intent in intents if intent.again is None]
            _insert(db, owner, fresh, "intended", now, f"by {owner.tool} into {owner.target}")
            again = [intent.again for intent in intents if intent.again is not None]
            _intend_again(db, owner, again, now)
            if not intents:
                return {}
            first = intents[0].credit
            ids = {_place(row): row["seq"] for row in db.execute(_months(first.scope, first.period)).mappings()}
    except sa.exc.IntegrityError as error:
        raise PlanexecError(
            "LEASE_LOST", "another run has written lines of the same scope and period meanwhile",
            hint="run the month again: what is issued is not issued twice",
        ) from error  # fmt: skip
    return {intent.credit: ids[intent.credit.key, intent.credit.ordinal] for intent in intents}


def write_ends(journal: Journal, run_id: str, ended: Sequence[Ended]) -> None:
    """Write how lines ended, in one transaction. Raises LEASE_LOST as `write_intents`."""
    if not ended:
        return
    with journal.writing() as db:
        _end(db, ended, f"run {run_id}", _now())


def settle_effect(
    journal: Journal, effect: Effect, *, state: EffectState, by: str, reason: str, lost: bool = False
) -> Effect:
    """A person says how a line ended whose outcome nobody could find out.

    Args:
        journal: Where the ledger is.
        effect: The line.
        state: `issued` or `not-issued`.
        by: Who says so.
        reason: Why they know.
        lost: It is a line that was issued, as far as the ledger knows, and that its target has lost.

    Raises:
        PlanexecError: VALIDATION_ERROR if its outcome is known, or became known meanwhile; LEASE_BUSY while a run holds
            the month: it may be at work on this very line.
    """
    said = bounded(str(redacted(reason)), _LONGEST)
    busy = held_now(journal, effect.task).get(effect.period)
    if busy is not None:
        raise PlanexecError(
            "LEASE_BUSY", f"{busy.words}: it may be at work on line {effect.key[:80]!r}",
            hint="wait until that run has ended, look again, then settle what is still unknown",
        )  # fmt: skip
    # What only a look-up has said to be not there may still arrive; a person may know better.
    may_be = [*sorted(OPEN), "not-issued", *(["issued"] if lost else [])]
    with journal.engine.begin() as db:  # it belongs to no run
        nobody = sa.or_(t.effects.c.settled_by.is_(None), t.effects.c.state.in_(sorted(OPEN)))
        mine = (t.effects.c.seq == effect.id, t.effects.c.state.in_(may_be), nobody)
        now = _now()
        values = {"state": state, "ended_at": now, "said": said, "settled_by": by}
        if db.execute(sa.update(t.effects).where(*mine).values(**values)).rowcount != 1:
            raise PlanexecError(
                "VALIDATION_ERROR",
                f"line {effect.key[:80]!r} of {effect.scope} {effect.period} is {effect.state}, or became so meanwhile;"
                " expected intended or unknown",
                hint="what is known is not settled by hand: `planexec effects list`",
            )
        change = {"effect": effect.id, "at": now, "state": state, "by": f"person {by}", "said": said}
        db.execute(sa.insert(t.effect_changes).values(**change))
        row = db.execute(sa.select(t.effects).where(t.effects.c.seq == effect.id)).mappings().one()
    return _effect(row)


def _months(scope: str, period: str) -> sa.Select[Any]:
    return sa.select(t.effects).where(t.effects.c.effect_scope == scope, t.effects.c.period == period)


def _place(row: sa.RowMapping) -> tuple[str, int]:
    return row["line_key"], row["ordinal"]


def _insert(
    db: sa.Connection, owner: Owner, credits_: Sequence[Credit], state: EffectState, now: str, said: str
) -> None:
    if not credits_:
        return
    of = {"target": owner.target, "task": owner.task, "tool": owner.tool, "attempt": owner.attempt,
          "run_id": owner.run_id, "token": owner.token, "hold_id": owner.hold_id}  # fmt: skip
    ended = None if state in OPEN else now
    rows = [
        {"effect_scope": credit.scope, "period": credit.period, "line_key": credit.key, "ordinal": credit.ordinal,
         "amount": f"{credit.amount:f}", "currency": credit.currency, "intended_at": now, "state": state,
         "ended_at": ended, "said": None, **of}
        for credit in credits_
    ]  # fmt: skip
    db.execute(sa.insert(t.effects), rows)
    places = {(credit.key, credit.ordinal) for credit in credits_}
    first = credits_[0]
    query = _months(first.scope, first.period).with_only_columns(
        t.effects.c.seq, t.effects.c.line_key, t.effects.c.ordinal
    )
    ids = [row["seq"] for row in db.execute(query).mappings() if _place(row) in places]
    _note(db, ids, state, f"run {owner.run_id}", now, said)


def _intend_again(db: sa.Connection, owner: Owner, ids: Sequence[int], now: str) -> None:
    of = {"run_id": owner.run_id, "attempt": owner.attempt, "task": owner.task, "tool": owner.tool,
          "token": owner.token, "hold_id": owner.hold_id}  # fmt: skip
    for some in _parts(ids):
        # What a person has settled as issued meanwhile is theirs.
        free = sa.or_(t.effects.c.settled_by.is_(None), t.effects.c.state != "issued")
        again = sa.update(t.effects).where(t.effects.c.seq.in_(some), free)
        found = db.execute(again.values(state="intended", ended_at=None, said=None, settled_by=None, **of))
        if found.rowcount != len(some):
            raise PlanexecError(
                "LEASE_LOST", f"{len(some) - found.rowcount} lines were settled by a person meanwhile",
                hint="run the month again: their word counts",
            )  # fmt: skip
    _note(db, ids, "intended", f"run {owner.run_id}", now, "continued")


def _end(db: sa.Connection, ended: Iterable[Ended], by: str, now: str) -> None:
    rows = [
        {
            "effect": one.effect,
            "at": now,
            "state": one.state,
            "by": by,
            "said": bounded(str(redacted(one.said)), _LONGEST),
        }
        for one in ended
    ]
    if not rows:
        return
    change = sa.update(t.effects).where(t.effects.c.seq == sa.bindparam("its"), t.effects.c.settled_by.is_(None))
    db.execute(
        change.values(state=sa.bindparam("now_is"), ended_at=sa.bindparam("when"), said=sa.bindparam("why")),
        [{"its": r["effect"], "now_is": r["state"], "why": r["said"], "when": None if r["state"] in OPEN else now}
         for r in rows],
    )  # fmt: skip
    db.execute(sa.insert(t.effect_changes), rows)


def _note(db: sa.Connection, ids: Sequence[int], state: EffectState, by: str, now: str, said: str) -> None:
    if ids:
        rows = [{"effect": one, "at": now, "state": state, "by": by, "said": said} for one in ids]
        db.execute(sa.insert(t.effect_changes), rows)


def _parts(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + _ROWS] for start in range(0, len(ids), _ROWS))


def _effect(row: sa.RowMapping) -> Effect:
    return Effect(
        row["seq"], row["effect_scope"], row["period"], row["line_key"], row["ordinal"], Decimal(row["amount"]),
        row["currency"], row["target"], row["task"], row["tool"], row["attempt"], row["run_id"], row["hold_id"],
        row["intended_at"], row["state"], row["ended_at"], row["said"], row["settled_by"],
    )  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).isoformat()
