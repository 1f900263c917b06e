"""Holds: steps that wait for a person. A month has at most one that is open."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import dumps
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t


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


def open_hold(
    journal: Journal,
    *,
    attempt_id: str,
    task: str,
    period: str,
    step: str,
    code: str,
    plan_digest: str,
    facts: Mapping[str, Any],
) -> HoldRecord:
    """The one open hold of the month: the same question asked again is the same hold, another one supersedes it."""
    facts = redacted(facts)
    with journal.writing() as db:
        found = (
            db.execute(
                sa.select(t.holds).where(t.holds.c.task == task, t.holds.c.period == period, t.holds.c.state == "open")
            )
            .mappings()
            .first()
        )
        asked = {"attempt": attempt_id, "step": step, "code": code, "plan_digest": plan_digest, "body": dumps(facts)}
        if found is not None and all(found[name] == value for name, value in asked.items()):
            return _hold(dict(found))
        if found is not None:
            db.execute(sa.update(t.holds).where(t.holds.c.id == found["id"]).values(state="superseded"))
        row = {
            "id": f"hold_{secrets.token_hex(6)}",
            "task": task,
            "period": period,
            "state": "open",
            "opened_at": datetime.now(UTC).isoformat(),
            **asked,
        }
        db.execute(sa.insert(t.holds).values(**row))
    return _hold(row)


def hold(journal: Journal, hold_id: str) -> HoldRecord | None:
    """The hold of that id, or None."""
    with journal.reader.connect() as db:
        row = db.execute(sa.select(t.holds).where(t.holds.c.id == hold_id)).mappings().first()
    return _hold(dict(row)) if row else None


def _hold(row: Mapping[str, Any]) -> HoldRecord:
    return HoldRecord(
        row["id"],
        row["attempt"],
        row["task"],
        row["period"],
        row["step"],
        row["code"],
        row["plan_digest"],
        json.loads(row["body"]),
        row["state"],
        row["opened_at"],
    )
