"""How a task has failed before, and what helped: remembered beyond the events it was learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.migrate import NEWEST
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan

MOST_PATTERNS = 10
"""Patterns that a planner is shown."""

_OPEN = frozenset({"passed", "not-applicable"})
_SHAPE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """How a task has failed before, over all its periods."""

    task: str
    tool: str
    code: str
    check: str | None
    """The check that was not passed; None if the call itself failed."""
    shape: str
    """Twelve hex digits that name the plan's shape: its tools and how they depend on one another."""
    count: int
    first_seen: str
    last_seen: str
    """ISO 8601, UTC."""
    resolved_by: str | None
    """What a later attempt or revision of the same period did differently before it settled, e.g. `new inputs`."""


def plan_shape(plan: Plan) -> str:
    """Twelve hex digits that two plans share if they use the same tools in the same dependence, whatever ids they have.

    Every step is named after its tool and, round by round, after the names of what it needs; also where steps need one
    another in a circle, so that no plan is without a shape.
    """
    needs = edges(plan)
    tools = {step.id: step.tool for step in plan.steps}
    names = dict(tools)
    told_apart = 0
    while told_apart < len(set(names.values())):
        told_apart = len(set(names.values()))
        names = {step: digest_of([tools[step], sorted(names[need] for need in needs[step])]) for step in tools}
    return digest_of(sorted(names.values()))[:_SHAPE_DIGITS]


def note_failures(journal: Journal, attempt_id: str, run_id: str, plan: Plan) -> int:
    """Learn from a plan run that has ended: every step of it that has a code, with the check that it did not pass.

    To be called once the run's steps are closed, for successful runs too: they are what a count is a share of. A run
    that is looked at again is counted once.

    Args:
        journal: Where the run is journalled, and what is learnt is kept.
        attempt_id: The attempt.
        run_id: The plan run.
        plan: What it ran.

    Returns:
        How many failures were not known before.
    """
    attempt = journal.attempt(attempt_id)
    shape, digest = plan_shape(plan), attempt.plan_digest or ""
    found: dict[str, dict[str, Any]] = {}
    for event in journal.events(attempt_id, run_id=run_id, kinds=["step-ended"]):
        said = event.payload
        if event.step is None or said.get("code") is None or said.get("state") == "not-run":
            continue
        found[event.step] = {
            "run_id": run_id, "step": event.step, "task": attempt.task, "period": attempt.period,
            "attempt": attempt_id, "plan_digest": digest, "tool": str(said.get("tool")), "code": str(said["code"]),
            "check_name": _check_of(said), "shape": shape, "state": str(said.get("state")), "at": event.at,
        }  # fmt: skip
    with journal.engine.begin() as db:
        run = {"run_id": run_id, "task": attempt.task, "period": attempt.period, "at": _now()}
        if db.execute(sa.select(t.runs_noted.c.run_id).where(t.runs_noted.c.run_id == run_id)).first() is None:
            db.execute(sa.insert(t.runs_noted).values(**run))
        known = set(db.execute(sa.select(t.failures.c.step).where(t.failures.c.run_id == run_id)).scalars())
        new = [row for step, row in found.items() if step not in known]
        if new:
            db.execute(sa.insert(t.failures), new)
    return len(new)


def _check_of(said: Mapping[str, Any]) -> str | None:
    """The first check that shut with the step's code; None if no check did, for then the call itself failed."""
    verdicts = said.get("verdicts") or ()
    shut = (v for v in verdicts if v["status"] not in _OPEN and v["code"] == said["code"])
    return next((str(v["check"]) for v in shut), None)


def note_resolution(journal: Journal, attempt_id: str, run_id: str) -> str | None:
    """Note what was different in the run that settled a period, on every failure of that period that has no remedy yet.

    Args:
        journal: Where the failures are.
        attempt_id: The attempt that settled.
        run_id: The run in which it did.

    Returns:
        What was different since the newest of those failures; None if there was none.
    """
    attempt = journal.attempt(attempt_id)
    c = t.failures.c
    mine = (c.task == attempt.task, c.period == attempt.period, c.resolved_by.is_(None), c.run_id != run_id)
    query = sa.select(c.seq, c.attempt, c.plan_digest, c.state).where(*mine).order_by(c.seq)
    with journal.reader.connect() as db:
        rows = db.execute(query).mappings().all()
    remedies = {row["seq"]: _what_was_different(journal, attempt, row) for row in rows}
    if not remedies:
        return None
    with journal.engine.begin() as db:
        now = _now()
        for seq, remedy in remedies.items():
            db.execute(sa.update(t.failures).where(c.seq == seq).values(resolved_by=remedy, resolved_at=now))
    return remedies[max(remedies)]


def _what_was_different(journal: Journal, now: Attempt, failure: sa.RowMapping) -> str:
    if failure["attempt"] == now.id:
        if failure["plan_digest"] != now.plan_digest:
            return f"revision {now.revision}"
        return "released by a person" if failure["state"] == "held" else "the same plan again"
    then = journal.attempt(failure["attempt"])
    different = []
    if any(_admitted(then, part) != _admitted(now, part) for part in ("objects", "tables")):
        different.append("new inputs")
    if then.task_version != now.task_version:
        different.append("task version")
    if _admitted(then, "sql_sha256") != _admitted(now, "sql_sha256"):
        different.append("new SQL")
    if not different and failure["plan_digest"] != now.plan_digest:
        different.append("another plan")
    if not different and then.inputs_digest != now.inputs_digest:
        different.append("other contracts or planner")
    return " and ".join(different) or "the same plan again"


def _admitted(attempt: Attempt, part: str) -> Any:  # noqa: ANN401 - JSON
    """What was admitted, without what changes when nothing does."""
    found = attempt.admission.get(part)
    return sorted((o["bucket"], o["key"], o["sha256"]) for o in found or ()) if part == "objects" else found or {}


def patterns_for(journal: Journal, task: str, limit: int = MOST_PATTERNS) -> tuple[FailurePattern, ...]:
    """How a task has failed, what was most frequent and then what was most recent first.

    Args:
        journal: What is remembered. One of an older version, which is only looked at, has learnt nothing yet.
        task: Whose failures.
        limit: At most so many.
    """
    if journal.version < NEWEST:
        return ()
    c = t.failures.c
    same = (c.tool, c.code, c.check_name, c.shape)
    count = sa.func.count()
    query = (
        sa.select(*same, count, sa.func.min(c.at), sa.func.max(c.at))
        .where(c.task == task)
        .group_by(*same)
        .order_by(count.desc(), sa.func.max(c.at).desc(), c.tool, c.code, c.shape)
        .limit(limit)
    )
    with journal.reader.connect() as db:
        rows = db.execute(query).all()
        return tuple(
            FailurePattern(
                task, tool, code, check, shape, times, first, last, _remedy(db, task, tool, code, check, shape)
            )
            for tool, code, check, shape, times, first, last in rows
        )


def _remedy(db: sa.Connection, task: str, tool: str, code: str, check: str | None, shape: str) -> str | None:
    """What helped the last time that anything did."""
    c = t.failures.c
    same = (c.task == task, c.tool == tool, c.code == code, c.check_name.is_not_distinct_from(check), c.shape == shape)
    newest = sa.select(c.resolved_by).where(*same, c.resolved_by.is_not(None)).order_by(c.seq.desc()).limit(1)
    found: str | None = db.scalar(newest)
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat()
