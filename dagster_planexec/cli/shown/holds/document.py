"""A hold as one JSON document: what it asks, what a decision is bound to, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dagster_planexec.journal.encoding import decode, plain
from dagster_planexec.journal.money.approvals.decisions import Decision
from dagster_planexec.journal.money.approvals.holds import HoldRecord


def document_of(held: HoldRecord, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Everything about it. What the step would do stands beside the hold's own fields, as it always did."""
    return {
        **plain(decode(dict(held.facts))),
        "id": held.id, "task": held.task, "period": held.period, "attempt": held.attempt, "step": held.step,
        "code": held.code, "state": held.state, "plan": held.plan_digest, "opened_at": held.opened_at,
        "expires_at": held.expires_at, "closed_at": held.closed_at, "closed_because": held.closed_because,
        "bound": held.bound, "shown": dict(held.shown),
        "decisions": [{n: v for n, v in asdict(one).items() if n not in {"bound", "hold"}} for one in decisions],
    }  # fmt: skip


def line_of(held: HoldRecord, decisions: Sequence[Decision]) -> dict[str, Any]:
    """One entry of a list of holds."""
    facts: Any = plain(decode(dict(held.facts)))
    limits = held.shown.get("limits") or {}
    return {
        "id": held.id, "task": held.task, "period": held.period, "step": held.step, "code": held.code,
        "state": held.state, "count": facts.get("count"), "amount": facts.get("amount"),
        "currency": limits.get("currency"), "opened_at": held.opened_at, "expires_at": held.expires_at,
        "closed_because": held.closed_because,
        "decisions": [{"by": one.by, "decision": one.decision, "at": one.at} for one in decisions],
    }  # fmt: skip
