"""The gate before what cannot be undone: the evidence is read again, what asks a person is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dagster_planexec.contract.strategies import RELEASABLE
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.execute.effect.approval.release import Released, release
from dagster_planexec.execute.effect.approval.review import Compared, compare
from dagster_planexec.execute.effect.ledger.agreement import ledger_agrees
from dagster_planexec.execute.effect.reread import reread
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.work import Run
from dagster_planexec.plan.diff import Keep, describe
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.subject import Subject


@dataclass(frozen=True, slots=True)
class Gated:
    """Every verdict before the call, and what people have released."""

    verdicts: tuple[Verdict, ...]
    """What no person can release stands before what a person is asked for: asking would be of no use yet."""
    released: frozenset[str] = frozenset()
    hold_id: str | None = None
    approved: str | None = None
    """Digest of the lines that people have approved."""


def gate(run: Run, step: Step, resolved: Resolved, judged: Sequence[Verdict], preview: Observation | None) -> Gated:
    """Judge an irreversible step once more, by what no plan and no catalogue of checks can change.

    Args:
        run: The run.
        step: The irreversible step.
        resolved: Its arguments.
        judged: What its preconditions said.
        preview: What the call would do.

    Raises:
        PlanexecError: Something that it rests on cannot be read: then nothing is called.
    """
    verdicts = [*judged, *ledger_agrees(run, step), *_asked_anyway(run, preview)]
    asks = frozenset(v.code for v in verdicts if asks_a_person(v) and v.code is not None)
    approved = release(run, step, resolved, preview, asks)
    if approved is not None:
        verdicts.append(approved.verdict)
    verdicts += reread(run, step, resolved)
    if approved is None or approved.approval is None:
        return Gated(tuple(sorted(verdicts, key=asks_a_person)))
    return _released(verdicts, approved, asks)


def asks_a_person(verdict: Verdict) -> bool:
    """Whether the gate is shut by something that people may release. An observation that failed is never that."""
    return verdict.status == "failed" and verdict.code in RELEASABLE


def _released(verdicts: Sequence[Verdict], approved: Released, asks: frozenset[str]) -> Gated:
    assert approved.approval is not None  # noqa: S101 - asked by the caller
    by = approved.approval
    opened = [
        replace(v, status="passed", code=None, text=f"{v.text}; {by.words}") if asks_a_person(v) else v
        for v in verdicts
    ]
    return Gated(tuple(opened), asks, by.hold.id, (by.bound.get("preview") or {}).get("digest"))


def _asked_anyway(run: Run, preview: Observation | None) -> list[Verdict]:
    """What the task's policy asks a person for, whatever the limits say. Nothing to do needs nobody."""
    policy = run.work.task.approval
    verdicts = []
    nothing = preview is not None and preview.state == "seen" and preview.facts.get("count") == 0
    if policy.always:
        text = "the task's policy: every irreversible step waits for a person"
        verdicts.append(_by_policy(run, "approval_policy", "always", text, asks=not nothing))
    if policy.plan_review == "on-change":
        before = compare(run.work.journal, run.work.task, run.plan, run.period)
        verdicts.append(
            _by_policy(run, "plan_is_reviewed", "plan_review", _said_of_plan(before), asks=not nothing
                       and (before is None or not before.same))
        )  # fmt: skip
    return verdicts


def _said_of_plan(before: Compared | None) -> str:
    if before is None:
        return "no earlier period has settled whose plan this one could be compared with"
    if before.same:
        return f"the plan does what that of {before.period} did"
    changed = [describe(edit) for edit in before.edits if not isinstance(edit, Keep)]
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""  # noqa: PLR2004 - a line bears three
    return f"the plan is not that of {before.period}: {'; '.join(changed[:3]) or 'what it expects differs'}{more}"


def _by_policy(run: Run, name: str, clause: str, text: str, *, asks: bool) -> Verdict:
    task, now = run.work.task, run.work.ports.clock.now()
    return Verdict(
        name, "pre", "failed" if asks else "passed",
        Side("reviewed by a person" if asks else "no person needed",
             Source(Subject("task", f"{task.name} v{task.version}"), f"approval.{clause}")),
        Side("something to do" if asks else "nothing that asks for one",
             Source(Subject("world", f"{task.name} {run.period.text}"), "plan and preview", now)),
        "APPROVAL_REQUIRED" if asks else None, text,
    )  # fmt: skip
