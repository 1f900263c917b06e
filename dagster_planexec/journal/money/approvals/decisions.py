"""What people decided about holds: recorded once verified, and verified again whenever it is used.

A row is never taken at its word. It holds the signed text; who signed it, and that nothing of it or of the hold was
changed since, is worked out anew with the approvers' keys.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.holds import (
    DECIDED_SINCE,
    WAITING,
    HoldRecord,
    has_begun,
    hold,
    holds_of,
    record_of,
    set_state,
)
from dagster_planexec.journal.money.approvals.keys import Keys
from dagster_planexec.journal.money.approvals.signing import (
    CLOCKS,
    SignedDecision,
    Word,
    bound_of,
    is_signed,
    parse_signed,
    sign,
    signed_bytes,
    why_not,
)
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.digest import canonical_bytes

_CLOSED = {
    "expired": "HOLD_EXPIRED",
    "superseded": "HOLD_SUPERSEDED",
    "stale": "APPROVAL_STALE",
}
"""The codes of holds that nobody can decide about any more; of every other state it is DECISION_REFUSED."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One row: what somebody is said to have decided."""

    hold: str
    decision: str
    by: str
    reason: str
    at: str
    expires_at: str
    key_id: str
    signature: str
    bound: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Approval:
    """Enough people have approved a hold, each with their own signature over what it is bound to."""

    id: str
    """Names this very approval: a hash of its signatures."""
    hold: HoldRecord
    decisions: tuple[Decision, ...]

    @property
    def bound(self) -> Mapping[str, Any]:
        """What was signed."""
        return self.decisions[0].bound

    @property
    def words(self) -> str:
        """`released by ada at ... ("seen with the vendor") and by grace at ... ("..."), under hold_...`."""
        each = [
            f"by {d.by} at {d.at[:19]} UTC ({json.dumps(d.reason[:200], ensure_ascii=False)})" for d in self.decisions
        ]
        return f"released {' and '.join(each)}, under {self.hold.id}"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a hold that is marked as approved releases nothing."""

    code: str
    text: str
    why: Literal["no-key", "too-few", "altered", "rejected", "expired"]

    @property
    def for_good(self) -> bool:
        """Whether it never will. Where only the key to check it with is missing the approval itself may be sound."""
        return self.why != "no-key"


def decide(
    journal: Journal, task: Task, hold_id: str, *, decision: Word, by: str, reason: str, keys: Keys, now: datetime
) -> HoldRecord:
    """Sign a decision with the person's own key and record it. Returns and raises as `record`."""
    held = hold_or_refuse(journal, hold_id)
    signed = sign(held, decision=decision, by=by, reason=reason, key=keys.key(by), now=now)
    return record(journal, task, signed, keys, now)


def record(journal: Journal, task: Task, signed: SignedDecision | str, keys: Keys, now: datetime) -> HoldRecord:
    """Verify a signed decision, record it, and say how the hold stands then.

    Args:
        journal: Where the hold is.
        task: Whose hold it is; its policy says who may decide.
        signed: The decision, or the line of text that carries it.
        keys: The approvers' keys.
        now: The present.

    Raises:
        PlanexecError: VALIDATION_ERROR if the text is no decision; UNKNOWN_REFERENCE if there is no such hold;
            HOLD_EXPIRED, HOLD_SUPERSEDED, APPROVAL_STALE if it is too late; DECISION_REFUSED with the reason.
    """
    if isinstance(signed, str):
        signed = parse_signed(signed)
    now = now.astimezone(UTC)
    with journal.engine.begin() as db:  # one writer at a time: nobody decides in between
        row = db.execute(sa.select(t.holds).where(t.holds.c.id == signed.hold)).mappings().first()
        if row is None:
            raise _unknown(signed.hold)
        held = record_of(dict(row))
        _must_be_open(held, task, signed, now)
        refused = why_not(signed, held, task.approval.approvers, keys)
        if refused is not None:
            raise PlanexecError("DECISION_REFUSED", f"the decision about {held.id} does not count: {refused}")
        earlier = _of_rows(db.execute(_rows_of(held.id)))
        own = next((d for d in earlier if d.by == signed.by), None)
        if own is not None:
            said = f"{signed.by} decided about {held.id} already: {own.decision} at {own.at}"
            raise PlanexecError("DECISION_REFUSED", said, hint="another approver can still decide")
        bound = bound_of(held)
        body = signed_bytes(bound, signed.decision, signed.by, signed.reason, signed.at, signed.expires_at)
        new = {
            "hold_id": held.id, "decision": signed.decision, "by": signed.by, "at": signed.at, "key_id": signed.key_id,
            "body": body.decode(), "signature": signed.signature,
        }  # fmt: skip
        db.execute(sa.insert(t.decisions).values(**new))
        if signed.decision == "reject":
            set_state(db, held.id, "rejected", f"rejected by {signed.by}: {signed.reason}", now=now)
        else:
            found = _judged(held, (*earlier, _of_row(new)), task.approval, keys)
            if isinstance(found, Approval):
                set_state(db, held.id, "approved", "", now=now, of=("open",))
            elif found.why != "too-few":  # what was decided before cannot be verified here: nothing is added to it
                raise PlanexecError(found.code, found.text)
        row = db.execute(sa.select(t.holds).where(t.holds.c.id == held.id)).mappings().one()
    return record_of(dict(row))


def _must_be_open(held: HoldRecord, task: Task, signed: SignedDecision, now: datetime) -> None:
    if held.task != task.name:
        raise PlanexecError("DECISION_REFUSED", f"{held.id} is of task {held.task}, not of {task.name}")
    again = f"`planexec run {held.task} --partition {held.period}` asks anew, if there is still something to ask"
    if held.state not in WAITING or (held.state == "approved" and signed.decision == "approve"):
        because = f" ({held.closed_because})" if held.closed_because else ""
        text = f"{held.id} is {held.state}{because}: nobody can {signed.decision} it any more"
        raise PlanexecError(code_of_closed(held), text, hint=again)
    if held.expires_at is not None and now >= datetime.fromisoformat(held.expires_at):
        raise PlanexecError(
            "HOLD_EXPIRED", f"{held.id} expired at {held.expires_at}; it is {now.isoformat()}", hint=again
        )
    if datetime.fromisoformat(signed.at) > now + CLOCKS:
        raise PlanexecError("DECISION_REFUSED", f"it was signed at {signed.at}, and it is only {now.isoformat()}")


def code_of_closed(held: HoldRecord) -> str:
    """The code of a hold that releases nothing because of the state it is in."""
    return _CLOSED.get(held.state, "DECISION_REFUSED")


def hold_or_refuse(journal: Journal, hold_id: str, *, of: str | None = None) -> HoldRecord:
    """The hold of that id.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if there is none, or it is of another task than `of`.
    """
    held = hold(journal, hold_id)
    if held is None:
        raise _unknown(hold_id)
    if of is not None and held.task != of:
        raise PlanexecError("UNKNOWN_REFERENCE", f"{hold_id} is of task {held.task}, not of {of}")
    return held


def _unknown(hold_id: str) -> PlanexecError:
    return PlanexecError("UNKNOWN_REFERENCE", f"there is no hold {hold_id[:60]!r}", hint="`planexec holds` lists them")


def decisions_of(journal: Journal, hold_ids: Sequence[str]) -> dict[str, tuple[Decision, ...]]:
    """What is recorded about these holds, by hold and in order; not verified, so for showing only."""
    found: dict[str, list[Decision]] = {}
    if journal.version < DECIDED_SINCE:
        return dict.fromkeys(hold_ids, ())
    query = sa.select(t.decisions).order_by(t.decisions.c.seq)
    if len(hold_ids) <= _FEW:
        query = query.where(t.decisions.c.hold_id.in_(hold_ids))
    with journal.reader.connect() as db:
        for row in db.execute(query).mappings():
            found.setdefault(row["hold_id"], []).append(_of_row(dict(row)))
    return {hold_id: tuple(found.get(hold_id, ())) for hold_id in hold_ids}


_FEW = 500


def approval_of(
    journal: Journal, held: HoldRecord, policy: ApprovalPolicy, keys: Keys, now: datetime
) -> Approval | Refused:
    """The approval of a hold, every signature verified anew, or why it releases nothing.

    What was begun under a hold may be finished after it has expired; nothing new begins.
    """
    with journal.reader.connect() as db:
        rows = _of_rows(db.execute(_rows_of(held.id)))
    try:
        found = _judged(held, rows, policy, keys)
    except PlanexecError as error:  # its row contradicts itself
        return Refused(error.code, error.message, "altered")
    if isinstance(found, Refused):
        return found
    expires_at = datetime.fromisoformat(found.decisions[0].expires_at)
    if now >= expires_at and not has_begun(journal, held.id):
        return Refused(
            "HOLD_EXPIRED", f"{held.id} expired at {expires_at.isoformat()}; it is {now.isoformat()}", "expired"
        )
    return found


def _judged(held: HoldRecord, rows: Sequence[Decision], policy: ApprovalPolicy, keys: Keys) -> Approval | Refused:
    """The approval that these decisions make up; one of them that does not hold good speaks against them all."""
    bound = bound_of(held)
    for one in rows:
        if one.by not in policy.approvers:
            return Refused("DECISION_REFUSED", f"{one.by[:60]!r} decided about {held.id} and is no approver", "altered")
        key = keys.get(one.by)
        if key is None:
            said = f"the approval of {held.id} cannot be verified: no key of {one.by!r} in {keys.looked_in}"
            return Refused("DECISION_REFUSED", said, "no-key")
        body = signed_bytes(one.bound, one.decision, one.by, one.reason, one.at, one.expires_at)
        if one.key_id != key.id or not is_signed(body, one.signature, key):
            said = f"the {one.decision} of {one.by} about {held.id} is not what they signed"
            return Refused("DECISION_REFUSED", said, "altered")
        if one.expires_at != held.expires_at or canonical_bytes(dict(one.bound)) != canonical_bytes(dict(bound)):
            said = f"{held.id} was altered in the journal after {one.by} decided about it"
            return Refused("DECISION_REFUSED", said, "altered")
        if one.decision != "approve":
            return Refused("DECISION_REFUSED", f"{one.by} rejected {held.id}: {one.reason}", "rejected")
    # Two names with one key are one person.
    people = {keys.key(one.by).text for one in rows}
    if len(people) < policy.needed:
        said = f"{held.id} is approved by {len(people)} of the {policy.needed} different people that it needs"
        return Refused("DECISION_REFUSED", said, "too-few")
    signatures = "\n".join(sorted(one.signature for one in rows))
    return Approval(hashlib.sha256(signatures.encode()).hexdigest()[:16], held, tuple(rows))


def continuable(journal: Journal, task: Task) -> tuple[tuple[HoldRecord, str], ...]:
    """Holds of the task that are approved and not used, each with the id of its approval, oldest first.

    The id names these very signatures, so a run key made of it starts one run. Nothing is verified here: whoever looks
    need not have the keys, and the run that continues verifies before it does anything.
    """
    held = holds_of(journal, task.name, states=("approved",))
    rows = decisions_of(journal, [one.id for one in held])
    found = []
    for one in reversed(held):
        signatures = "\n".join(sorted(d.signature for d in rows[one.id]))
        found.append((one, hashlib.sha256(signatures.encode()).hexdigest()[:16]))
    return tuple(found)


def expire_due(journal: Journal, task: Task, now: datetime) -> tuple[HoldRecord, ...]:
    """Close what nobody decided in time, and what was approved and not begun in time; those holds."""
    now = now.astimezone(UTC)
    due = [
        one for one in holds_of(journal, task.name, states=WAITING)
        if one.expires_at is not None and now >= datetime.fromisoformat(one.expires_at)
        and not (one.state == "approved" and has_begun(journal, one.id))
    ]  # fmt: skip
    closed = []
    for one in due:
        why = "nobody decided in time" if one.state == "open" else "it was approved, and not continued in time"
        with journal.engine.begin() as db:
            if set_state(db, one.id, "expired", why, now=now, of=(one.state,)):  # type: ignore[arg-type]
                closed.append(one.id)
    return tuple(hold_or_refuse(journal, hold_id) for hold_id in closed)


def _rows_of(hold_id: str) -> sa.Select[Any]:
    return sa.select(t.decisions).where(t.decisions.c.hold_id == hold_id).order_by(t.decisions.c.seq)


def _of_rows(found: sa.CursorResult[Any]) -> tuple[Decision, ...]:
    return tuple(_of_row(dict(row)) for row in found.mappings())


def _of_row(row: Mapping[str, Any]) -> Decision:
    """What the row says. A body that is no signed text leaves a decision that nobody's key verifies."""
    try:
        said = json.loads(row["body"])
        bound, reason, expires_at = dict(said["bound"]), str(said["reason"]), str(said["expires_at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        bound, reason, expires_at = {}, "", ""
    return Decision(
        row["hold_id"],
        row["decision"],
        row["by"],
        reason,
        row["at"],
        expires_at,
        row["key_id"],
        row["signature"],
        bound,
    )
