"""Settling a month: admit, propose, check, run, and maybe again. It knows planner and launcher by interface only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from dagster_planexec.contract.layout import credit_shape, effect_scope
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.money.approvals.decisions import hold_or_refuse
from dagster_planexec.journal.money.lease.leases import Lease, Standing
from dagster_planexec.journal.patterns import note_failures, note_resolution
from dagster_planexec.journal.run_report import RunReport, RunStatus, close_steps, read_steps, save_report
from dagster_planexec.journal.told.trace import BEGINS
from dagster_planexec.settling.admitting import open_attempt, take_in_what_is_new
from dagster_planexec.settling.continuing import approval_holds, prepared_again
from dagster_planexec.settling.holding import holding, stood_back
from dagster_planexec.settling.parts import Prepared, Settling
from dagster_planexec.settling.plans.proposing import checked_proposal, own_plan
from dagster_planexec.settling.plans.revising import Wanted, facts_for, journal_replan, wanted_in, why_not
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditsIssued


def prepare(settling: Settling, period: Period, *, replan: bool = False) -> Prepared:
    """Admit what is there, have a plan proposed if the attempt has none, and check it. Runs nothing.

    A new run with the same admitted inputs continues the attempt and asks no planner. The month is held meanwhile; if
    another run holds it, nothing is done, and the report says who.

    Args:
        settling: The task's work, its planner and launcher.
        period: The month or quarter.
        replan: Open another attempt and ask the planner again, although the inputs are the same.
    """
    try:
        with holding(settling, period) as held:
            if isinstance(held, Standing):
                return Prepared(stood_back(_blank(settling, period), held))
            return _prepared(settling, period, replan=replan)
    except PlanexecError as error:
        if error.code != "LEASE_LOST":
            raise
        return Prepared(_blank(settling, period).ended("stopped", error.code, error.message, error.hint))


def _blank(settling: Settling, period: Period) -> RunReport:
    return RunReport.blank(settling.work.task, period, task_run_id=settling.task_run_id)


def _prepared(settling: Settling, period: Period, *, replan: bool) -> Prepared:
    journal, blank = settling.work.journal, _blank(settling, period)
    try:
        attempt = open_attempt(settling, period, anew=replan)
    except PlanexecError as error:
        if error.code == "LEASE_LOST":
            raise
        return Prepared(blank.ended("error", error.code, error.message, error.hint))
    if settling.task_run_id is not None:
        journal.append(attempt.id, None, [NewEvent(BEGINS, None, {"task_run": settling.task_run_id, "replan": replan})])
    prepared = checked_proposal(settling, period, attempt, blank, own=own_plan(settling, attempt))
    if not prepared.may_run:
        journal.close_run(attempt.id, None, prepared.report.status, prepared.report.code)
    return prepared


def settle(settling: Settling, period: Period, *, replan: bool = False) -> RunReport:
    """Do the task for one period, as far as the world lets it, and report. One run at a time does so.

    Every end is a report; nothing that the world, the planner or the journal can do raises. Arguments as of `prepare`.
    """
    return _reported(settling, period, lambda lease: _settled(settling, period, lease, replan=replan))


def continue_month(settling: Settling, hold_id: str) -> RunReport:
    """Finish the undone steps of a month that people have approved, under the approved plan, and report.

    Nothing is admitted anew and no planner is asked. Before anything runs, every signature is verified and everything
    that was approved is read again. Every end is a report, as of `settle`.

    Args:
        settling: The task's work and its launcher.
        hold_id: The hold that was approved.
    """
    work = settling.work
    try:
        held = hold_or_refuse(work.journal, hold_id, of=work.task.name)
        period = work.task.period(held.period)
    except PlanexecError as error:
        blank = RunReport.blank(work.task, work.task.period(work.task.first_period), task_run_id=settling.task_run_id)
        return blank.ended("error", error.code, error.message, error.hint)
    return _reported(settling, period, lambda lease: _continued(settling, hold_id, period, lease))


def _reported(settling: Settling, period: Period, do: Callable[[Lease], RunReport]) -> RunReport:
    """The report of what is done while the month is held, kept under the task run if there is one."""
    try:
        with holding(settling, period) as found:
            if isinstance(found, Lease):
                report = do(found)
                _keep(settling, report)
                return report
            report = stood_back(_blank(settling, period), found)
    except PlanexecError as error:  # the journal could not be read or written; what is in it stays, a later run goes on
        status: RunStatus = "stopped" if error.code == "LEASE_LOST" else "error"
        report = _blank(settling, period).ended(status, error.code, error.message, error.hint)
    with suppress(PlanexecError):  # a journal that takes nothing takes no report; whoever called has it
        _keep(settling, report)
    return report


def _keep(settling: Settling, report: RunReport) -> None:
    if settling.task_run_id is not None:
        save_report(settling.work.journal, settling.task_run_id, report)


def _continued(settling: Settling, hold_id: str, period: Period, lease: Lease) -> RunReport:
    work, journal = settling.work, settling.work.journal
    held = hold_or_refuse(journal, hold_id, of=work.task.name)  # as it is now that nobody else runs the month
    if held.state != "approved":  # there is nothing to continue: it is no run of the month, and leaves it as it stands
        return _with_standing(work, prepared_again(settling, held, period).report)
    said = {"task_run": settling.task_run_id, "replan": False, "continues": held.id}
    journal.append(held.attempt, None, [NewEvent(BEGINS, None, said)])
    prepared = prepared_again(settling, held, period)
    if not prepared.may_run:
        journal.close_run(held.attempt, None, prepared.report.status, prepared.report.code)
        return _with_standing(work, prepared.report)
    report, wanted = _run(settling, prepared, period, lease)
    if wanted is not None:  # another plan is another question: nobody has approved it
        journal.close_run(held.attempt, wanted.run_id, report.status, report.code)
    return _with_standing(work, report)


def _settled(settling: Settling, period: Period, lease: Lease, *, replan: bool) -> RunReport:
    work = settling.work
    prepared = _prepared(settling, period, replan=replan)
    if prepared.may_run:
        prepared = approval_holds(settling, prepared, period)
        if not prepared.may_run and prepared.attempt is not None:
            work.journal.close_run(prepared.attempt.id, None, prepared.report.status, prepared.report.code)
    report = prepared.report
    while prepared.may_run:
        report, wanted = _run(settling, prepared, period, lease)
        if wanted is None:
            break
        prepared = _revise(settling, period, prepared, report, wanted)
        report = prepared.report
        if not prepared.may_run:
            assert prepared.attempt is not None  # noqa: S101 - of a run that has been
            work.journal.close_run(prepared.attempt.id, wanted.run_id, report.status, report.code)
    return _with_standing(work, report)


def _with_standing(work: Work, report: RunReport) -> RunReport:
    """The report with what the credit system holds for the period, whatever this run added to it.

    A credit system that does not answer leaves it out; the check that needed the answer has said so.
    """
    if work.task.irreversible is None:
        return report
    scope, _ = effect_scope(work.task)
    seen = look(CreditsIssued(scope, report.period.text, credit_shape(work.task).scale), work.ports)
    return report.with_standing(seen.facts) if seen.state == "seen" else report


def _run(settling: Settling, prepared: Prepared, period: Period, lease: Lease) -> tuple[RunReport, Wanted | None]:
    """Run the plan, and say how it ended, or for what reason another plan is wanted."""
    journal = settling.work.journal
    attempt, checked = prepared.attempt, prepared.checked
    assert attempt is not None and checked is not None  # noqa: S101, PT018 - it may run
    journal.append(attempt.id, None, [NewEvent("admitted", None, {"plan": checked.digest})])
    try:
        run_id = settling.launcher.launch(
            attempt=attempt, plan_digest=checked.digest, period=period, lease_token=lease.token
        )
    except PlanexecError as error:
        journal.close_run(attempt.id, None, "error", error.code)
        return prepared.report.ended("error", error.code, error.message, error.hint), None
    tools = settling.work.tools
    irreversible = [name for name in tools if tools[name].contract.effect == "irreversible"]
    close_steps(journal, attempt.id, run_id, checked.plan, irreversible=irreversible)
    note_failures(journal, attempt.id, run_id, checked.plan)
    steps = read_steps(journal, attempt.id, run_id, checked.plan)
    report = prepared.report.of_run(run_id, steps, reports=settling.work.ports.roots.reports)
    wanted = wanted_in(settling.work, attempt, run_id)
    if wanted is not None:
        return report.ended("stopped", wanted.code, wanted.reason), wanted
    stops = journal.events(attempt.id, run_id=run_id, kinds=["stopped"])
    status, code, text = _end(steps, cancelled=any(stop.payload["code"] == "CANCELLED" for stop in stops))
    journal.close_run(attempt.id, run_id, {"succeeded": "settled"}.get(status, status), code)
    if status == "succeeded":
        note_resolution(journal, attempt.id, run_id)
    return report.ended(status, code, text), None


def _revise(settling: Settling, period: Period, before: Prepared, stopped: RunReport, wanted: Wanted) -> Prepared:
    """Another plan for what is left, or the end: no planner that could, the cap, no progress, nothing new."""
    work, attempt, checked = settling.work, before.attempt, before.checked
    assert attempt is not None and checked is not None  # noqa: S101, PT018 - of a run that has been
    if not settling.planner.revises:
        code = wanted.code or "REPLAN_EXHAUSTED"
        return Prepared(stopped.ended("stopped", code, f"{wanted.reason}{_NOBODY}"), attempt)
    enough = why_not(work, attempt, wanted)
    if enough is not None:
        return Prepared(stopped.caused_by(wanted.code).ended("stopped", *enough), attempt)
    journal_replan(work, attempt, wanted)
    try:
        taken = take_in_what_is_new(settling, attempt, period)
    except PlanexecError as error:
        return Prepared(stopped.caused_by(wanted.code).ended("stopped", error.code, error.message, error.hint), attempt)
    if taken.changed is not None:
        text = f"{wanted.reason}; and {taken.changed} since: no new plan for inputs that what is done does not rest on"
        hint = "run the month again: what is there now is admitted as a new attempt"
        return Prepared(stopped.ended("stopped", wanted.code or "EXPECTATION_FAILED", text, hint), attempt)
    attempt = taken.attempt
    revising = facts_for(work, attempt, wanted, checked.plan, period)
    report = RunReport.blank(work.task, period, task_run_id=settling.task_run_id).after(stopped, wanted.trigger)
    prepared = checked_proposal(settling, period, attempt, report, revising=revising)
    if prepared.may_run:
        return prepared
    # What is shown is the run that stopped, and why it went no further.
    said = prepared.report
    shown = stopped.caused_by(wanted.code).with_findings(said.findings, said.live or stopped.live)
    return Prepared(shown.ended("stopped", said.code or "PLAN_REJECTED", said.text, said.hint or ""), attempt)


_NOBODY = "; the planner writes no second plan"


def _end(steps: Sequence[Any], *, cancelled: bool) -> tuple[RunStatus, str | None, str]:
    """How a run ended, from how its steps did: a failure outweighs a hold, and only all steps done is success."""
    failed = next((s for s in steps if s.outcome == "failed"), None)
    if failed is not None:
        return "stopped", failed.code, failed.reason
    held = next((s for s in steps if s.outcome == "held"), None)
    if held is not None:
        return "held", held.code, held.reason
    waits = next((s for s in steps if s.outcome == "waiting"), None)
    if waits is not None:
        return "waiting", waits.code, waits.reason
    # One that is not run and has a code was left out because of it, by a rule: nothing needs it.
    left = next((s for s in steps if s.outcome == "not-run" and s.code is None), None)
    if left is not None:
        code = "CANCELLED" if cancelled else "INTERNAL"
        return "error", code, f"the run ended before step {left.id}; its log says why"
    return "succeeded", None, ""
