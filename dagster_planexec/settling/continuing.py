"""Continuing a month that people have approved: nothing is admitted anew, and nothing runs before all is read again."""

from __future__ import annotations

from dataclasses import replace

from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.effect.approval.release import release
from dagster_planexec.execute.effect.evidence import LINES, digest_of_credits, lines_of
from dagster_planexec.execute.resolve import Resolved, Unfit, inputs_of, resolve_step
from dagster_planexec.execute.step.call import preview
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.money.approvals.decisions import code_of_closed
from dagster_planexec.journal.money.approvals.holds import HoldRecord, approved_hold, close_hold, hold
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.model import Plan
from dagster_planexec.settling.parts import CheckedPlan, Prepared, Settling
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import CreditLine


def prepared_again(settling: Settling, held: HoldRecord, period: Period) -> Prepared:
    """The month as it was held, if what was approved is still what would be done; else the end, with the reason.

    The plan is the one that was approved, in the attempt that it was approved in, on what was admitted then: an object
    that has expired since is not asked for.
    """
    work = settling.work
    report = RunReport.blank(work.task, period, task_run_id=settling.task_run_id)
    attempt = work.journal.attempt(held.attempt)
    report = report.of_attempt(attempt.id, attempt.provenance, attempt.revision)
    against = what_stands_against(work, held, period, attempt)
    if against is not None:
        return Prepared(report.ended("stopped", *against, _again(held)), attempt)
    plan = work.journal.load_plan(held.plan_digest)
    checked = CheckedPlan(plan, held.plan_digest, attempt, (), (), None, None)
    return Prepared(report.of_plan(plan, held.plan_digest, attempt.revision), attempt, checked)


def approval_holds(settling: Settling, prepared: Prepared, period: Period) -> Prepared:
    """A plain run of a month that people have approved: the same look before anything runs.

    An approval that has expired holds nothing back: the run asks anew, if there is still something to ask.
    """
    work, attempt = settling.work, prepared.attempt
    held = approved_hold(work.journal, work.task.name, period.text)
    if not prepared.may_run or held is None or attempt is None or held.attempt != attempt.id:
        return prepared
    against = what_stands_against(work, held, period, attempt)
    if against is None or against[0] == "HOLD_EXPIRED":
        return prepared
    return replace(prepared, report=prepared.report.ended("stopped", *against, _again(held)), checked=None)


def what_stands_against(work: Work, held: HoldRecord, period: Period, attempt: Attempt) -> tuple[str, str] | None:
    """(code, text) of why the hold releases nothing now, or None. What speaks against it for good closes it.

    It looks at the very results that the hold was opened on, so that nothing that changed is made anew unseen.
    """
    if held.state != "approved":
        because = f": {held.closed_because}" if held.closed_because else ""
        return code_of_closed(held), f"{held.id} is {held.state}{because}"
    if attempt.status == "superseded":
        return "HOLD_SUPERSEDED", f"a later attempt of {held.period} took the place of the one that {held.id} is of"
    if attempt.plan_digest != held.plan_digest:
        now = (attempt.plan_digest or "none")[:12]
        return _stale(work, held, f"the plan: approved {held.plan_digest[:12]}, now {now}")
    try:
        plan = work.journal.load_plan(held.plan_digest)
        step = plan.step(held.step)
    except KeyError:
        return _stale(work, held, f"the approved plan has no step {held.step!r}")
    except PlanexecError as error:
        return _stale(work, held, error.message)
    run = _run_of(work, held, plan, period, attempt)
    try:
        inputs = inputs_of(run, step)
        if isinstance(inputs, str):
            return _stale(work, held, f"the result of step {inputs!r} that it rests on is not in the journal any more")
        resolved = resolve_step(run, step, inputs)
        if isinstance(resolved, Unfit):
            return _stale(work, held, f"its arguments are none any more: {resolved.failed.message}")
        shown = preview(run, step, resolved)
        if shown is not None and shown.state == "errored":
            return shown.code or "INTERNAL", shown.message
        found = release(run, step, resolved, shown, ())
    except PlanexecError as error:
        return error.code, f"what {held.id} rests on cannot be read: {error.message}"
    if found is not None and found.approval is not None:
        return None
    if found is None:  # decided or closed by somebody since it was read
        closed = hold(work.journal, held.id) or held
        said = closed.closed_because or "somebody closed it just now"
        return code_of_closed(closed), f"{held.id} is {closed.state}: {said}"
    return found.verdict.code or "APPROVAL_STALE", found.verdict.text


def lines_now(work: Work, held: HoldRecord, period: Period) -> tuple[tuple[CreditLine, ...], bool]:
    """Every credit line of a hold as it is now, and whether they are, to the cent, those that it was opened on.

    Raises:
        PlanexecError: They cannot be read, or nothing says where they are.
    """
    attempt = work.journal.attempt(held.attempt)
    run = _run_of(work, held, work.journal.load_plan(held.plan_digest), period, attempt)
    step = run.plan.step(held.step)
    inputs = inputs_of(run, step)
    resolved = resolve_step(run, step, inputs) if not isinstance(inputs, str) else None
    lines = lines_of(run, resolved) if isinstance(resolved, Resolved) else None
    if lines is None:
        raise PlanexecError("UNKNOWN_REFERENCE", f"nothing says which lines {held.id} is about", hint=_again(held))
    bound = ((held.bound or {}).get("evidence") or {}).get("parts") or {}
    return tuple(lines), bound.get(LINES) == digest_of_credits(run, lines)


def _run_of(work: Work, held: HoldRecord, plan: Plan, period: Period, attempt: Attempt) -> Run:
    """The run that the hold was opened in, with what its steps left."""
    run_id = str(held.shown.get("plan_run"))
    return Run(work, attempt.id, plan, held.plan_digest, period, decode_admission(attempt.admission), run_id)


def _stale(work: Work, held: HoldRecord, what: str) -> tuple[str, str]:
    text = f"what was approved under {held.id} is not what would be done now: {what}"
    close_hold(work.journal, held.id, "stale", text, now=work.ports.clock.now())
    return "APPROVAL_STALE", text


def _again(held: HoldRecord) -> str:
    if held.state == "open":
        return (
            f"`planexec show {held.id}` says who may decide; then `planexec approve {held.id} --by NAME --reason TEXT`"
        )
    return f"look at it: `planexec show {held.id}`; `planexec run {held.task} --partition {held.period}` asks anew"
