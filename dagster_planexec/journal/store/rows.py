"""What is remembered of a month, as values: attempts and events, and how rows become them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError


@dataclass(frozen=True, slots=True)
class Attempt:
    """One open execution per (task, period, admitted inputs)."""

    id: str
    task: str
    task_version: str
    period: str
    inputs_digest: str
    admission: Mapping[str, Any]
    plan_digest: str | None
    revision: int
    provenance: Mapping[str, Any]
    status: str
    code: str | None
    opened_at: str


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the trace."""

    seq: int
    attempt: str
    at: str
    kind: str
    step: str | None
    run_id: str | None
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be written."""

    kind: str
    step: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


def attempt_of(row: sa.RowMapping) -> Attempt:
    """The attempt of a row.

    Raises:
        PlanexecError: HOME_UNWRITABLE if the row is damaged.
    """
    whose = f"attempt {row['id']}"
    return Attempt(
        id=row["id"],
        task=row["task"],
        task_version=row["task_version"],
        period=row["period"],
        inputs_digest=row["inputs_digest"],
        admission=read_object(row["admission"], f"the admission of {whose}"),
        plan_digest=row["plan_digest"],
        revision=row["revision"],
        provenance=read_object(row["provenance"] or "{}", f"the provenance of {whose}"),
        status=row["status"],
        code=row["code"],
        opened_at=row["opened_at"],
    )


def event_of(row: sa.RowMapping) -> Event:
    """The event of a row. Raises as `attempt_of`."""
    payload = read_object(row["payload"], f"event {row['seq']} ({row['kind']}) of attempt {row['attempt']}")
    return Event(row["seq"], row["attempt"], row["at"], row["kind"], row["step"], row["run_id"], payload)


def read_object(text: str, what: str) -> dict[str, Any]:
    """The JSON object that was written there.

    Raises:
        PlanexecError: HOME_UNWRITABLE if it is none any more.
    """
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the journal is damaged: {what} was a JSON object and is not one any more",
            hint="restore the journal from a backup; or move it away and run again, which forgets what it held",
        )
    return found
