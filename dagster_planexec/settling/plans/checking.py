"""Checking a plan before it runs: every static and live finding, and its differences to earlier plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dagster_planexec.checks.static.static_check import static_check
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.verdict import first_shut
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.execute.effect.approval.review import compare
from dagster_planexec.execute.live_check import live_check
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.encoding import encode_verdict
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.told.line import one_line, shown_side
from dagster_planexec.journal.told.sentence import sentence_of, sentence_of_plan
from dagster_planexec.plan.diff import diff
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.settling.parts import CheckedPlan
from dagster_planexec.world.period import Period

_TOO_LARGE = "too-many-steps"


def check_plan(
    work: Work, plan: Plan, attempt: Attempt, period: Period, *, earlier: Sequence[Plan] = (), replans_left: int = 0
) -> CheckedPlan:
    """Every static and live finding of a plan, in one pass, and its diff to the last settled period's plan.

    Args:
        work: The task and its parts.
        plan: Any plan.
        attempt: The attempt it is for: what was admitted, and what is done in it.
        period: The period that was asked for.
        earlier: The revisions of the attempt before this one, oldest first. It may not loosen what they bound.
        replans_left: How many more plans may be asked for after this one.
    """
    sql = work.ports.roots.sql
    findings = static_check(
        plan, work.task, work.tools, known_checks=work.checks, sql_texts=read_sql(sql) if sql.is_dir() else {},
        period=period, earlier=earlier, replans_left=replans_left,
    )  # fmt: skip
    admission = decode_admission(attempt.admission)
    run = Run(work, attempt.id, plan, full_digest(plan), period, admission, "live-check")
    # A step that breaks a rule asks nothing of the world: its arguments may name what the task does not open to it.
    errors = [f for f in findings if f.severity == "error"]
    refused = frozenset(f.step for f in errors if f.step is not None)
    if any(f.code == _TOO_LARGE for f in errors):  # nor does a plan of thousands of steps: it is refused as it is
        refused = frozenset(step.id for step in plan.steps)
    live = live_check(run, leave_out=refused).verdicts
    before = compare(work.journal, work.task, plan, period)
    edits, compared_with = (before.edits, before.period) if before is not None else (None, None)
    revises = diff(earlier[-1], plan) if earlier else None
    return CheckedPlan(plan, full_digest(plan), attempt, findings, live, edits, compared_with, revises)


def all_findings(checked: CheckedPlan) -> list[dict[str, Any]]:
    """Live findings first, as they name the rejection; then the static ones, errors before warnings."""
    live = [
        {
            "code": v.code, "step": None, "field": v.check, "expected": shown_side(v.expected),
            "seen": f"{shown_side(v.observed)}: {one_line(v.text)}",
            "hint": meaning(v.code or "INTERNAL").hint, "severity": "error", "arg": None, "ref": None,
        }
        for v in checked.live
        if not v.opens
    ]  # fmt: skip
    static = sorted(checked.findings, key=lambda finding: finding.severity != "error")
    return live + [
        {"code": f.code, "step": f.step, "field": f.field, "expected": f.expected, "seen": f.seen, "hint": f.hint,
         "severity": f.severity, "arg": f.arg, "ref": f.ref}
        for f in static
    ]  # fmt: skip


def first_text(checked: CheckedPlan, now: datetime) -> str:
    """The sentence of what stands against the plan: a live verdict, else the first rule that it breaks."""
    shut = first_shut(checked.live)
    return sentence_of(shut) if shut else sentence_of_plan(checked.findings, checked.digest, now)


def journal_check(work: Work, checked: CheckedPlan) -> None:
    """Keep what was found, whether the plan may run or not."""
    body: Mapping[str, Any] = {
        "digest": checked.digest,
        "rejected_with": checked.rejected_with,
        "findings": all_findings(checked),
        "live": [encode_verdict(verdict) for verdict in checked.live],
        "claims": checked.claims,
    }
    work.journal.append(checked.attempt.id, None, [NewEvent("checked", None, body)])
