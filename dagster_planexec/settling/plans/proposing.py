"""Asking for a plan, checking it, and having it repaired once. What comes out may run, or says why nothing may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dagster_planexec.checks.static.edits import mechanical_edits
from dagster_planexec.checks.static.static_check import is_rejected
from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.snapshot import snapshot
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.patterns import patterns_for
from dagster_planexec.journal.run_report import RunReport, RunStatus
from dagster_planexec.plan.diff import Keep, describe
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.plan.sameness import deeds_digest
from dagster_planexec.planner.planner import Proposal
from dagster_planexec.planner.request import PlanRequest, Repair, Revising
from dagster_planexec.planner.seen import seen_of
from dagster_planexec.settling.admitting import take_in_what_is_new
from dagster_planexec.settling.parts import CheckedPlan, Prepared, Settling
from dagster_planexec.settling.plans.asking import ask, both
from dagster_planexec.settling.plans.checking import all_findings, check_plan, first_text, journal_check
from dagster_planexec.world.period import Period


def is_unheard(code: str) -> bool:
    """Whether a code says that nobody could be asked, whatever was asked: it says nothing about a plan."""
    return meaning(code).group in {"transient", "access"}


REFUSED = frozenset({"PLAN_REJECTED", "MODEL_REFUSED", "ANSWER_TRUNCATED", "ANSWER_EMPTY", "ANSWER_INVALID"})
"""Codes of an answer that came, and was no plan. Every other code says that none came: an error, not a rejection."""


def own_plan(settling: Settling, attempt: Attempt) -> Proposal | None:
    """The attempt's plan, if it has one that breaks no rule: then nobody is asked."""
    if attempt.plan_digest is None or _broke_a_rule(settling, attempt):
        return None
    provenance = dict(attempt.provenance)
    planner, author = str(provenance["planner"]), str(provenance["author"])
    try:
        plan = settling.work.journal.load_plan(attempt.plan_digest)
    except PlanexecError as error:
        return Proposal(None, planner, author, model_called=False, code=error.code, message=error.message,
                        hint=error.hint)  # fmt: skip
    return Proposal(plan, planner, author, model_called=False)


def _broke_a_rule(settling: Settling, attempt: Attempt) -> bool:
    """Whether the plan itself was at fault when it was last checked; what the world refused may hold by now."""
    found = settling.work.journal.events(attempt.id, kinds=["checked"])
    last = next((event.payload for event in reversed(found) if event.payload["digest"] == attempt.plan_digest), None)
    return last is not None and last["rejected_with"] == "PLAN_REJECTED"


def request_of(settling: Settling, period: Period, *, revising: Revising | None = None) -> PlanRequest:
    """What the planner is told."""
    work = settling.work
    # Looking costs time, and whoever answers from a file looks at nothing.
    seen = seen_of(snapshot(work, period)) if settling.planner.calls_model else ()
    patterns = patterns_for(work.journal, work.task.name)
    return PlanRequest(work.task, period, work.tools, snapshot=seen, patterns=patterns, revising=revising)


def checked_proposal(
    settling: Settling, period: Period, attempt: Attempt, report: RunReport, *, own: Proposal | None = None,
    revising: Revising | None = None,
) -> Prepared:  # fmt: skip
    """A plan for the attempt that was asked for, checked, if need be repaired once, and adopted.

    Args:
        settling: The task's work, its planner and launcher.
        period: The month or quarter.
        attempt: What was admitted.
        report: What is known of the run so far.
        own: The attempt's own plan, which is only checked again.
        revising: Why another plan is asked for, if it is.
    """
    work = settling.work
    request = request_of(settling, period, revising=revising)
    proposal = own or ask(settling, attempt, request)
    report = report.of_attempt(attempt.id, proposal.provenance(work.task), attempt.revision)
    refused = _no_use(proposal, attempt, report, revising)
    if refused is not None:
        return refused
    proposal, checked = _check(settling, proposal, attempt, period, revising)
    if own is None and settling.planner.revises and _can_be_repaired(checked):
        attempt = _with_what_is_new(settling, attempt, period, checked)
        repaired = _repaired(settling, attempt, request, checked)
        repaired = replace(repaired, usage=both(proposal.usage, repaired.usage))
        if repaired.plan is not None:
            refused = _no_use(repaired, attempt, report, revising)
            if refused is not None:
                return refused
            proposal, checked = _check(settling, repaired, attempt, period, revising)
    if revising is None or checked.rejected_with is None:  # a revision that may not run takes no other's place
        attempt = _adopt(settling, attempt, proposal)
    checked = replace(checked, attempt=attempt)
    report = report.of_attempt(attempt.id, proposal.provenance(work.task), attempt.revision)
    report = report.of_plan(checked.plan, checked.digest, attempt.revision)
    report = report.with_findings(all_findings(checked), checked.live)
    report = report.with_changes([describe(edit) for edit in checked.revises or () if not isinstance(edit, Keep)])
    journal_check(work, checked)
    settling.on_checked(checked)
    if checked.rejected_with is not None:
        report = report.ended("rejected", checked.rejected_with, first_text(checked, work.ports.clock.now()))
    return Prepared(report, attempt, checked)


def _check(
    settling: Settling, proposal: Proposal, attempt: Attempt, period: Period, revising: Revising | None
) -> tuple[Proposal, CheckedPlan]:
    """The plan with what is found in it. What code can correct without changing its meaning costs no repair turn."""
    work, plan = settling.work, proposal.plan
    assert plan is not None  # noqa: S101 - narrowed by the callers
    earlier = revising.earlier if revising else ()
    more = revising.replans_left if revising else work.task.limits.max_replans
    checked = check_plan(work, plan, attempt, period, earlier=earlier, replans_left=more)
    corrected, edits = mechanical_edits(checked.findings, plan)
    if not edits:
        return proposal, checked
    journal_check(work, checked)
    said = [describe(edit) for edit in edits]
    work.journal.append(attempt.id, None, [NewEvent("edited", None, {"digest": checked.digest, "edits": said})])
    proposal = replace(proposal, plan=corrected, more={**proposal.more, "edited": said})
    return proposal, check_plan(work, corrected, attempt, period, earlier=earlier, replans_left=more)


def _can_be_repaired(checked: CheckedPlan) -> bool:
    """Whether something speaks against the plan that another plan could avoid: no network and no key are not."""
    shut = [v.code or "INTERNAL" for v in checked.live if not v.opens]
    return is_rejected(checked.findings) or any(not is_unheard(code) for code in shut)


def _with_what_is_new(settling: Settling, attempt: Attempt, period: Period, checked: CheckedPlan) -> Attempt:
    """What has arrived while the plan was written is admitted too, if the world has refused it: its repair may use it.

    Where the inputs cannot be looked at, or something else changed, the attempt stays as it is, and the checks say so.
    """
    if all(verdict.opens for verdict in checked.live):
        return attempt
    try:
        return take_in_what_is_new(settling, attempt, period).attempt
    except PlanexecError:
        return attempt


def _repaired(settling: Settling, attempt: Attempt, request: PlanRequest, checked: CheckedPlan) -> Proposal:
    """One more proposal, with everything that was found. One without a plan leaves the refused one as it is."""
    journal_check(settling.work, checked)
    repair = Repair(checked.plan, tuple(all_findings(checked)))
    return ask(settling, attempt, replace(request, repair=repair))


def _adopt(settling: Settling, attempt: Attempt, proposal: Proposal) -> Attempt:
    journal = settling.work.journal
    assert proposal.plan is not None  # noqa: S101 - narrowed by the caller
    digest = full_digest(proposal.plan)
    if attempt.plan_digest != digest:
        journal.save_plan(proposal.plan)
        journal.adopt_plan(attempt.id, digest, proposal.provenance(settling.work.task))
    return journal.attempt(attempt.id)


def _no_use(proposal: Proposal, attempt: Attempt, report: RunReport, revising: Revising | None) -> Prepared | None:
    """The end, if what was proposed is no plan, or what an earlier revision did already."""
    if proposal.plan is None:
        code = proposal.code or "PLAN_REJECTED"
        status: RunStatus = "rejected" if code in REFUSED else "error"
        return Prepared(report.ended(status, code, proposal.message, proposal.hint), attempt)
    same = repeated_revision(revising.earlier, proposal.plan) if revising is not None else None
    if same is None:
        return None
    text = f"the new plan does what revision {same} did"
    return Prepared(report.ended("stopped", "REPLAN_UNCHANGED", text), attempt)


def repeated_revision(earlier: Sequence[Plan], plan: Plan) -> int | None:
    """The number of the revision that did the same, or None. Ids, listed order and words are no difference."""
    deeds = deeds_digest(plan)
    return next((number for number, before in enumerate(earlier, 1) if deeds_digest(before) == deeds), None)
