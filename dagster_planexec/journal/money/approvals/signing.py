"""Signing what somebody decides about a hold, and checking a signature: pure, with a key and a hold and no journal."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from dagster_planexec.contract.effects.policy import LONGEST_REASON
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.money.approvals.holds import HoldRecord, own_terms
from dagster_planexec.journal.money.approvals.keys import Key, Keys
from dagster_planexec.plan.digest import canonical_bytes, digest_of

Word = Literal["approve", "reject"]
WORDS: tuple[Word, ...] = ("approve", "reject")
_PREFIX = "planexec1"
_LONGEST_TEXT = 20_000
_LONGEST = {"hold": 80, "decision": 20, "by": 80, "reason": LONGEST_REASON, "at": 40, "expires_at": 40, "bound": 64,
            "key_id": 100, "signature": 64}  # fmt: skip
"""Characters of each field. What is longer no `sign` has made."""
CLOCKS = timedelta(minutes=5)
"""How far the clocks of who signs and who records may be apart."""


@dataclass(frozen=True, slots=True)
class SignedDecision:
    """What one person decided about one hold, signed. It can be carried as a line of text."""

    hold: str
    decision: Word
    by: str
    reason: str
    at: str
    expires_at: str
    """The hold's: a decision counts no longer than the question."""
    bound: str
    """SHA-256 of what it is bound to; the signature covers all of it, not only this."""
    key_id: str
    signature: str

    def text(self) -> str:
        """The decision on one line, to be pasted where somebody else records it. It holds no secret."""
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        packed = base64.urlsafe_b64encode(canonical_bytes(said)).decode().rstrip("=")
        return f"{_PREFIX}:{packed}:{self.signature}"


def sign(hold: HoldRecord, *, decision: Word, by: str, reason: str, key: Key, now: datetime) -> SignedDecision:
    """A signed decision about a hold. Needs nothing but the hold as it was shown, and the key.

    Raises:
        PlanexecError: VALIDATION_ERROR without a reason; DECISION_REFUSED if the hold is one that no approval releases,
            was altered, or the key is somebody else's.
    """
    bound = bound_of(hold)
    reason = " ".join(reason.split())
    if not _is_text(reason):
        raise PlanexecError("VALIDATION_ERROR", "the reason holds what is no text", hint="say why in plain words")
    if not reason or len(reason) > LONGEST_REASON:
        raise PlanexecError(
            "VALIDATION_ERROR", f"a decision needs a reason of 1 to {LONGEST_REASON} characters; seen {len(reason)}",
            hint="say why with --reason",
        )  # fmt: skip
    if decision not in WORDS:
        raise PlanexecError("VALIDATION_ERROR", f"{str(decision)[:40]!r} is no decision", hint="approve or reject")
    if key.name != by:
        raise PlanexecError("DECISION_REFUSED", f"the key of {key.name!r} signs nothing for {by[:60]!r}")
    at, expires_at = now.astimezone(UTC).isoformat(), str(hold.expires_at)
    signature = _signature(key, signed_bytes(bound, decision, by, reason, at, expires_at))
    return SignedDecision(hold.id, decision, by, reason, at, expires_at, digest_of(bound), key.id, signature)


def parse_signed(text: str) -> SignedDecision:
    """The decision that somebody pasted.

    Raises:
        PlanexecError: VALIDATION_ERROR if it is none, or not all of it.
    """
    parts = "".join(text.split()).split(":") if len(text) <= _LONGEST_TEXT else []
    try:
        prefix, packed, signature = parts
        said = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
        if prefix != _PREFIX or not isinstance(said, dict) or not _is_whole({**said, "signature": signature}):
            raise ValueError  # noqa: TRY301 - one message for everything that is no decision
    except (ValueError, TypeError, OverflowError, binascii.Error, RecursionError) as error:
        raise PlanexecError(
            "VALIDATION_ERROR", "the text is no signed decision, or not all of one",
            hint=f"paste the whole line that begins with `{_PREFIX}:`, as `--sign-only` printed it",
        ) from error  # fmt: skip
    return SignedDecision(**said, signature=signature)


def _is_whole(said: Mapping[str, Any]) -> bool:
    """Whether these are the fields of a decision: texts that can be kept, none too long, instants with their zone.

    Raises:
        ValueError, OverflowError: An instant is none.
    """
    if set(said) != set(_LONGEST) or not all(isinstance(v, str) and _is_text(v) for v in said.values()):
        return False
    if said["decision"] not in WORDS or any(len(said[name]) > most for name, most in _LONGEST.items()):
        return False
    instants = [datetime.fromisoformat(said[name]) for name in ("at", "expires_at")]
    # In UTC it has to be an instant too: the first hours of the year 1 are none everywhere.
    return all(one.utcoffset() is not None and one.astimezone(UTC) for one in instants)


def _is_text(value: str) -> bool:
    """Whether every database can keep it: half a character has no bytes, and Postgres takes no NUL."""
    return "\0" not in value and not any("\ud800" <= one <= "\udfff" for one in value)


def signed_bytes(bound: Mapping[str, Any], decision: str, by: str, reason: str, at: str, expires_at: str) -> bytes:
    """Exactly what a signature is over: canonical JSON, so that there is one text for one decision."""
    return canonical_bytes(
        {"bound": dict(bound), "decision": decision, "by": by, "reason": reason, "at": at, "expires_at": expires_at}
    )


def is_signed(body: bytes, signature: str, key: Key) -> bool:
    """Whether the signature over these bytes was made with this key."""
    return hmac.compare_digest(_signature(key, body).encode(), signature.encode("utf-8", "replace"))


def bound_of(hold: HoldRecord) -> Mapping[str, Any]:
    """What a decision about the hold is bound to.

    Raises:
        PlanexecError: DECISION_REFUSED if nothing can release it, or its row contradicts itself.
    """
    if hold.bound is None or hold.expires_at is None:
        raise PlanexecError(
            "DECISION_REFUSED", f"hold {hold.id} is one that no approval releases: it says not what would be done",
            hint=f"run the month again: `planexec run {hold.task} --partition {hold.period}`",
        )  # fmt: skip
    said = {"task": hold.task, "period": hold.period, "attempt": hold.attempt, "plan": hold.plan_digest,
            "step": hold.step, **own_terms(hold)}  # fmt: skip
    wrong = next((name for name, value in said.items() if hold.bound.get(name) != value), None)
    if wrong is not None:
        raise PlanexecError(
            "DECISION_REFUSED",
            f"hold {hold.id} was altered in the journal: its {wrong} is not what it was opened with",
            hint=f"find out who did it; `planexec run {hold.task} --partition {hold.period}` asks anew",
        )  # fmt: skip
    return hold.bound


def why_not(signed: SignedDecision, hold: HoldRecord, approvers: tuple[str, ...], keys: Keys) -> str | None:
    """Why a signed decision does not count for a hold, whatever the time is; None if it does.

    Raises:
        PlanexecError: DECISION_REFUSED if the key to check it with is not here; as `bound_of`.
    """
    if signed.hold != hold.id:
        return f"it was signed for {signed.hold[:60]}, not for {hold.id}"
    if signed.by not in approvers:
        return f"{signed.by[:60]!r} is not on the list of approvers ({', '.join(approvers) or 'which is empty'})"
    bound = bound_of(hold)
    if signed.bound != digest_of(bound) or signed.expires_at != hold.expires_at:
        return f"what {signed.by} signed is not what {hold.id} is about"
    key = keys.key(signed.by)
    if signed.key_id != key.id:
        return f"it was signed with key {signed.key_id[:80]}; the key of {signed.by} here is {key.id}"
    body = signed_bytes(bound, signed.decision, signed.by, signed.reason, signed.at, signed.expires_at)
    if not is_signed(body, signed.signature, key):
        return f"its signature is not one of {signed.by}'s key over this decision: forged, or changed afterwards"
    at = datetime.fromisoformat(signed.at)
    if at < datetime.fromisoformat(hold.opened_at) - CLOCKS:
        return f"it was signed at {signed.at}, before the hold was opened"
    return None


def _signature(key: Key, body: bytes) -> str:
    return hmac.new(key.text.encode(), body, hashlib.sha256).hexdigest()
