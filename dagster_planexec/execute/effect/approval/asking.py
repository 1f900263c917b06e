"""Opening a hold: everything that a person needs to decide, and everything that the decision will be bound to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from dagster_planexec.contract.layout import credit_lines_threshold_of, currency_of, lower_cap
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.effect.approval.review import compare
from dagster_planexec.execute.effect.approval.terms import terms_of
from dagster_planexec.execute.effect.evidence import Evidence, digest_of_credits, read_evidence
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.work import Run, StepReport
from dagster_planexec.journal.encoding import bounded, encode, plain
from dagster_planexec.journal.money.approvals.holds import HoldRecord, open_hold
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.journal.told.trace import BEGINS
from dagster_planexec.plan.diff import Keep, describe
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.world.observation import Observation

MOST_LINES = 100
"""Credit lines that stand in the hold; all of them can be read live, and are compared with its digest."""
MOST_CHECKS = 200
MOST_STEPS = 50
_LONGEST = 120


def ask(
    run: Run, step: Step, resolved: Resolved | None, report: StepReport, codes: Collection[str],
    preview: Observation | None,
) -> HoldRecord:  # fmt: skip
    """Open the hold of a step that waits for a person, or find that it is open already.

    Args:
        run: The run.
        step: The step that waits.
        resolved: Its arguments; None if it has none that its tool takes: then no approval releases it.
        report: How its try ended.
        codes: Everything that it waits for.
        preview: What it would do now.

    Raises:
        PlanexecError: HOLD_SUPERSEDED if a later attempt has the month; what it rests on cannot be read.
    """
    clock, policy = run.work.ports.clock, run.work.task.approval
    facts: dict[str, Any] = {} if preview is None else dict(encode(preview.facts))
    evidence, bound = Evidence(()), None
    if resolved is not None and codes:  # what waits for anything else, no approval releases
        evidence = read_evidence(run, step, resolved)
        bound = terms_of(run, step, resolved, preview, evidence, codes)
    now = clock.now()
    return open_hold(
        run.work.journal, attempt_id=run.attempt, task=run.work.task.name, period=run.period.text, step=step.id,
        code=report.code or "INTERNAL", plan_digest=run.plan_digest, facts=facts, bound=bound,
        shown=_shown(run, step, resolved, report, evidence, preview), now=now,
        expires_at=now + timedelta(seconds=policy.expires_after_s),
    )  # fmt: skip


def _shown(
    run: Run, step: Step, resolved: Resolved | None, report: StepReport, evidence: Evidence, preview: Observation | None
) -> dict[str, Any]:
    policy = run.work.task.approval
    why = next((v.text for v in report.verdicts if not v.opens), report.reason)
    return {
        "tool": step.tool, "reason": bounded(why), "plan_run": run.run_id, "task_run": _task_run(run),
        "backfill": run.backfill, "plan": _steps_of(run.plan), "compared": _compared(run),
        "limits": _limits(run, resolved), "lines": _lines(run, evidence),
        "would_do": {} if preview is None else plain(dict(preview.facts)),
        "evidence": [{"part": part.name, "digest": part.digest, "says": part.says} for part in evidence.parts],
        "checks": _checks(run, report), "approvers": list(policy.approvers), "needed": policy.needed,
    }  # fmt: skip


def _task_run(run: Run) -> str | None:
    begun = run.work.journal.events(run.attempt, kinds=[BEGINS])
    return str(begun[-1].payload.get("task_run")) if begun else None


def _steps_of(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "id": one.id, "tool": one.tool, "after": list(one.depends_on[:20]),
            "args": {one_line(str(name), 60): one_line(_said(value), _LONGEST) for name, value in one.args.items()},
        }
        for one in plan.steps[:MOST_STEPS]
    ]  # fmt: skip


def _said(value: object) -> str:
    """An argument in words: references by what they name."""
    if isinstance(value, Mapping):
        if set(value) == {"ref"}:
            return f"from {value['ref']}"
        return ", ".join(f"{name} {_said(child)}" for name, child in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_said(child) for child in value)
    return str(value)


def _compared(run: Run) -> dict[str, Any] | None:
    before = compare(run.work.journal, run.work.task, run.plan, run.period)
    if before is None:
        return None
    changed = [describe(edit) for edit in before.edits if not isinstance(edit, Keep)]
    return {"period": before.period, "plan": before.digest, "same": before.same, "edits": changed[:MOST_STEPS]}


def _limits(run: Run, resolved: Resolved | None) -> dict[str, Any]:
    try:
        cap = lower_cap(run.work.task, getattr(resolved.args, "cap", None) if resolved is not None else None)
        return {
            "currency": currency_of(run.work.task), "cap": str(cap),
            "threshold": credit_lines_threshold_of(run.work.task),
        }  # fmt: skip
    except PlanexecError:  # it pays nothing
        return {}


def _lines(run: Run, evidence: Evidence) -> dict[str, Any] | None:
    if not any(part.name == "credit lines" for part in evidence.parts):
        return None
    first = [{"key": one_line(line.key, _LONGEST), "amount": str(line.amount)} for line in evidence.lines[:MOST_LINES]]
    return {
        "count": len(evidence.lines), "amount": str(evidence.amount), "first": first,
        "digest": digest_of_credits(run, evidence.lines),
    }  # fmt: skip


def _checks(run: Run, report: StepReport) -> list[dict[str, Any]]:
    """Every verdict of the run so far, those of the step that waits last."""
    ended = run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["step-ended"])
    found: list[Mapping[str, Any]] = [{"step": e.step, **v} for e in ended for v in e.payload["verdicts"]]
    said = [
        {"step": v["step"], "check": v["check"], "phase": v["phase"], "status": v["status"], "code": v["code"],
         "text": one_line(str(v["text"]), 300)}
        for v in found
    ]  # fmt: skip
    said += [
        {"step": report.step, "check": v.check, "phase": v.phase, "status": v.status, "code": v.code,
         "text": one_line(v.text, 300)}
        for v in report.verdicts
    ]  # fmt: skip
    return said[-MOST_CHECKS:]
