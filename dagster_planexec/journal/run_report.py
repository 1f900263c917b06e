"""A run in one value: what the command line prints, what the task's asset shows, and what `--json` answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import sqlalchemy as sa

from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.outcome import StepState
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import bounded, decode, decode_verdict, dumps, plain
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.period import Period

RunStatus = Literal["succeeded", "held", "waiting", "stood-back", "stopped", "rejected", "error"]

_FORMATS = {"md": "md_file", "html": "html_file", "json": "json_file"}
"""Report format to the field of a result that names its file."""
_MADE = frozenset({"done", "reused"})

EXIT_CODES: dict[RunStatus, int] = {
    "succeeded": 0, "held": 3, "waiting": 6, "stood-back": 7, "stopped": 4, "rejected": 5, "error": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepEntry:
    """One step of a run."""

    id: str
    tool: str
    outcome: StepState
    code: str | None
    reason: str
    tries: int
    duration_s: float
    checks: tuple[Verdict, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    hold_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The step as the document shows it."""
        return {
            "id": self.id, "tool": self.tool, "outcome": self.outcome, "code": self.code, "reason": self.reason or None,
            "tries": self.tries, "duration_s": round(self.duration_s, 3),
            "checks": [
                {
                    "check": v.check, "phase": "post" if v.phase == "post" else "pre", "verdict": v.status,
                    "code": v.code,
                    "text": v.text,
                    "expected": {"value": plain(v.expected.value), "source": str(v.expected.source)},
                    "observed": {"value": plain(v.observed.value), "source": str(v.observed.source)},
                }
                for v in self.checks
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunReport:
    """What became of one period. Every part is always present; counts are 0 and unknown values None."""

    task: Task
    period: Period
    status: RunStatus = "error"
    code: str | None = None
    text: str = ""
    hint: str | None = None
    attempt: str | None = None
    plan: Plan | None = None
    plan_digest: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0
    task_run_id: str | None = None
    plan_run_id: str | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[StepEntry, ...] = ()
    live: tuple[Verdict, ...] = ()
    """What the world answered before the run. It is all that a rejected month has at its gates."""
    report: Mapping[str, str | None] = field(default_factory=dict)
    """Paths of the written report by format."""
    cause: str | None = None
    """For a run that asked for another plan and got none that could run: the code that made it ask."""
    revised: tuple[Mapping[str, Any], ...] = ()
    """The plans that were run before this one in the same task run, each with why it was not enough."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Paths of the pages that expectation suites left, by step."""
    standing: Mapping[str, Fact] | None = None
    """What the credit system holds for the period when the run has ended, whoever put it there."""

    @classmethod
    def blank(cls, task: Task, period: Period, *, task_run_id: str | None) -> RunReport:
        """Nothing has happened yet."""
        return cls(task, period, task_run_id=task_run_id)

    def of_attempt(self, attempt: str, provenance: Mapping[str, Any], revision: int) -> RunReport:
        """With the attempt and where its plan came from."""
        return replace(self, attempt=attempt, provenance=provenance, revision=revision)

    def of_plan(self, plan: Plan, digest: str, revision: int) -> RunReport:
        """With the plan; its steps are not run yet."""
        waiting = tuple(
            StepEntry(s.id, s.tool, "not-run", None, "the plan was not run", 0, 0.0, ()) for s in plan.steps
        )
        return replace(self, plan=plan, plan_digest=digest, revision=revision, steps=waiting)

    def with_findings(self, findings: Sequence[Mapping[str, Any]], live: Sequence[Verdict]) -> RunReport:
        """With what the checker found, and what the world answered it."""
        return replace(self, findings=tuple(findings), live=tuple(live))

    def of_run(self, plan_run_id: str, steps: Sequence[StepEntry], *, reports: Path) -> RunReport:
        """With the plan run, its steps, and the paths of the report that one of them wrote under `reports`."""
        written = next((s.facts for s in steps if s.outcome in _MADE and set(_FORMATS.values()) <= set(s.facts)), None)
        paths = {name: str(reports / str(written[file])) for name, file in _FORMATS.items()} if written else {}
        pages = {s.id: str(reports / page) for s in steps for page in map(_page_of, s.checks) if page}
        return replace(self, plan_run_id=plan_run_id, steps=tuple(steps), report=paths, pages=pages)

    def with_standing(self, facts: Mapping[str, Fact]) -> RunReport:
        """With what the credit system holds."""
        return replace(self, standing=facts)

    def after(self, stopped: RunReport, trigger: str) -> RunReport:
        """As the report of the plan that follows one that was not enough."""
        at = next((s for s in reversed(stopped.steps) if s.outcome != "not-run"), None)
        entry: dict[str, Any] = {
            "revision": stopped.revision, "plan_digest": stopped.plan_digest, "plan_run_id": stopped.plan_run_id,
            "trigger": trigger, "step": at.id if at else None, "code": stopped.code, "text": stopped.text,
            "changes": [],
        }  # fmt: skip
        return replace(self, revised=(*stopped.revised, entry))

    def with_changes(self, changes: Sequence[str]) -> RunReport:
        """With what the plan changes of the one before it, in words."""
        if not self.revised:
            return self
        last = {**self.revised[-1], "changes": list(changes)}
        return replace(self, revised=(*self.revised[:-1], last))

    def caused_by(self, code: str | None) -> RunReport:
        """With the code for which another plan was asked."""
        return replace(self, cause=code)

    def ended(self, status: RunStatus, code: str | None, text: str, hint: str = "") -> RunReport:
        """With its end."""
        said = hint or (meaning(code).hint if code else "")
        return replace(self, status=status, code=code, text=bounded(text), hint=said or None)

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return EXIT_CODES[self.status]

    def step(self, step_id: str) -> StepEntry | None:
        """The step of that id."""
        return next((s for s in self.steps if s.id == step_id), None)

    def as_json(self) -> dict[str, Any]:
        """The one JSON document of a run."""
        return {
            "version": 1,
            "task": self.task.name,
            "partition": self.period.key,
            "plan": {
                "digest": self.plan_digest,
                "planner": self.provenance.get("planner"),
                "author": self.provenance.get("author"),
                "revision": self.revision,
                "model_called": bool(self.provenance.get("model_called", False)),
                "usage": self.provenance.get("usage"),
            },
            "status": self.status,
            "code": self.code,
            "cause": self.cause,
            "text": self.text or None,
            "hint": self.hint and self.hint.replace("HOLD`", f"{credits_of(self)['hold_id'] or 'HOLD'}`"),
            "task_run_id": self.task_run_id,
            "plan_run_id": self.plan_run_id,
            "ended_at": None,
            "findings": [dict(finding) for finding in self.findings],
            "revisions": [dict(entry) for entry in self.revised],
            "steps": [step.as_json() for step in self.steps],
            "reconciliation": reconciliation_of(self),
            "credits": credits_of(self),
            "report": {name: self.report.get(name) for name in _FORMATS},
        }


def _page_of(verdict: Verdict) -> str:
    """Where the page of a suite lies below the report root; nothing if the verdict left none."""
    seen = verdict.observed.value
    page = seen.get("page") if isinstance(seen, Mapping) and verdict.check == "expectations_hold" else None
    return page if isinstance(page, str) and page.endswith(".html") else ""


def reconciliation_of(report: RunReport) -> dict[str, Any]:
    """Counts and sums of the reconciliation as the harness's own SQL observed them; zeros if it was not reached."""
    shape = report.task.result
    sides = [side.name for side in report.task.sides]
    words = [shape.identical, shape.differs, *(shape.only[s] for s in reversed(sides))] if shape else []
    out: dict[str, Any] = {**{f"{side}_rows": 0 for side in sides}, **dict.fromkeys(words, 0), "sums": {}}
    closing = next((v for s in report.steps for v in s.checks if v.check == "closing_identities_hold"), None)
    expected = closing.expected.value if closing else None
    observed = closing.observed.value if closing else None
    if isinstance(expected, Mapping) and isinstance(observed, Mapping):
        rows, sums, lines = expected["rows"], expected["sums"], observed["lines"]
        assert isinstance(rows, Mapping) and isinstance(lines, Mapping)  # noqa: S101, PT018 - what the check writes
        out |= {f"{side}_rows": count for side, count in rows.items()} | dict(lines)
        out["sums"] = plain(sums)
    return out


def credits_of(report: RunReport) -> dict[str, Any]:
    """What is issued and what is held for the period, as this run found or left it."""
    out: dict[str, Any] = {
        "issued_count": 0,
        "issued_amount": "0.00",
        "held_count": 0,
        "held_amount": "0.00",
        "hold_id": None,
        "currency": report.task.limits.currency,
    }
    if report.standing is not None:
        out |= {"issued_count": report.standing["count"], "issued_amount": plain(report.standing["amount"])}
    for step in report.steps:
        if step.outcome == "held":
            facts = cast("Mapping[str, Any]", decode(dict(step.facts)))
            amount = plain(facts.get("amount")) or "0.00"
            out |= {"held_count": facts.get("count", 0), "held_amount": amount, "hold_id": step.hold_id}
    return out


def close_steps(journal: Journal, attempt: str, run_id: str, plan: Plan, *, irreversible: Collection[str] = ()) -> None:
    """Journal every step that has no end yet as not-run, with why: Dagster skips what depends on a failed step.

    A step whose call was begun and whose end nobody could write has failed: with EFFECT_UNKNOWN if its tool is one of
    the irreversible ones, for then nobody can say here whether it happened.
    """
    ended = {event.step for event in journal.events(attempt, run_id=run_id, kinds=["step-ended"])}
    stops = journal.events(attempt, run_id=run_id, kinds=["stopped"])
    states = [(e.step, e.payload["state"]) for e in journal.events(attempt, run_id=run_id, kinds=["step-ended"])]
    held = [step for step, state in states if state == "held"]
    waits = [step for step, state in states if state == "waiting"]
    if stops and stops[0].payload.get("replan"):
        because = f"another plan is asked for after {stops[0].step}"
    elif stops:
        because = f"the run stopped at {stops[0].step}: {stops[0].payload['code']}"
    elif held:
        because = f"{held[0]} waits for a person"
    elif waits:
        because = f"{waits[0]} waits for a time"
    else:
        because = "the run ended before it"
    begun = {event.step for event in journal.events(attempt, run_id=run_id, kinds=["calling"])}
    journal.append(
        attempt, run_id,
        [_closing(step, because, begun=step.id in begun, irreversible=step.tool in irreversible)
         for step in plan.steps if step.id not in ended],
    )  # fmt: skip


def _closing(step: Step, because: str, *, begun: bool, irreversible: bool) -> NewEvent:
    state, code = "not-run", None
    if begun:
        state, code = "failed", "EFFECT_UNKNOWN" if irreversible else "INTERNAL"
        because = "its call was begun, and how it ended could not be journalled"
    return NewEvent(
        "step-ended", step.id,
        {"tool": step.tool, "state": state, "code": code, "reason": because, "tries": int(begun), "duration_ms": 0,
         "hint": None, "hold_id": None, "verdicts": [], "facts": {}},
    )  # fmt: skip


def read_steps(journal: Journal, attempt: str, run_id: str, plan: Plan) -> tuple[StepEntry, ...]:
    """Every step of a run in the order of the plan."""
    ended = {event.step: event.payload for event in journal.events(attempt, run_id=run_id, kinds=["step-ended"])}
    return tuple(
        StepEntry(
            step.id, step.tool, ended[step.id]["state"], ended[step.id]["code"], ended[step.id]["reason"],
            ended[step.id]["tries"], ended[step.id]["duration_ms"] / 1000,
            tuple(decode_verdict(verdict) for verdict in ended[step.id]["verdicts"]),
            ended[step.id]["facts"], ended[step.id]["hold_id"],
        )
        for step in plan.steps
        if step.id in ended
    )  # fmt: skip


def save_report(journal: Journal, task_run_id: str, report: RunReport) -> None:
    """Keep the document of a task run; running it again under the same id replaces it.

    Raises:
        PlanexecError: LEASE_LOST if it is of a run that holds no month any more: what it found is no news then.
    """
    row = {
        "task": report.task.name, "period": report.period.text, "attempt": report.attempt,
        "body": dumps(redacted(report.as_json()) | {"ended_at": datetime.now(UTC).isoformat()}),
    }  # fmt: skip
    with journal.writing() as db:
        db.execute(sa.delete(t.reports).where(t.reports.c.task_run_id == task_run_id))
        db.execute(sa.insert(t.reports).values(task_run_id=task_run_id, **row))


def load_report(journal: Journal, task_run_id: str) -> dict[str, Any] | None:
    """The document of a task run, or None."""
    with journal.reader.connect() as db:
        body = db.execute(sa.select(t.reports.c.body).where(t.reports.c.task_run_id == task_run_id)).scalar()
    return json.loads(body) if body is not None else None


# Only a key of a document reads so: inside a text each of its quotes has a backslash before it.
_STOOD_BACK, _LOST = '"status": "stood-back"', '"code": "LEASE_LOST"'


def _of_the_month() -> tuple[sa.ColumnElement[bool], ...]:
    """Not what is told by a run that did not hold the month, or lost it: how that ended is no news of the month."""
    return tuple(~t.reports.c.body.contains(words, autoescape=True) for words in (_STOOD_BACK, _LOST))


def newest_report(journal: Journal, task: str, period: str | None) -> dict[str, Any] | None:
    """The document of the last task run that held its month to the end, of one period or of any."""
    of_task = (t.reports.c.task == task, *_of_the_month())
    query = sa.select(t.reports.c.body).where(*of_task).order_by(t.reports.c.seq.desc()).limit(1)
    if period is not None:
        query = query.where(t.reports.c.period == period)
    with journal.reader.connect() as db:
        body = db.execute(query).scalar()
    return json.loads(body) if body is not None else None


def newest_ends(journal: Journal, task: str) -> dict[str, tuple[str, str | None]]:
    """How the last task run that held its period to the end has ended: period to status and code."""
    of_task = (t.reports.c.task == task, *_of_the_month())
    last = sa.select(sa.func.max(t.reports.c.seq)).where(*of_task).group_by(t.reports.c.period)
    query = sa.select(t.reports.c.period, t.reports.c.body).where(t.reports.c.seq.in_(last))
    with journal.reader.connect() as db:
        found = {row.period: json.loads(row.body) for row in db.execute(query)}
    return {period: (body["status"], body["code"]) for period, body in found.items()}


def once_settled(journal: Journal, task: str) -> frozenset[str]:
    """The periods of which a run has settled, whatever became of later ones."""
    query = sa.select(t.attempts.c.period, t.events.c.payload).where(
        t.attempts.c.task == task, t.events.c.attempt == t.attempts.c.id, t.events.c.kind == "run-ended"
    )
    with journal.reader.connect() as db:
        return frozenset(r.period for r in db.execute(query) if json.loads(r.payload).get("status") == "settled")
