"""Asking for a plan, checking it, and having it repaired once. What comes out may run, or says why nothing may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from dagster_planexec.checks.static.edits import mechanical_edits
from dagster_planexec.checks.static.static_check import is_rejected
from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.attempts.budget import left, spent
from dagster_planexec.journal.encoding import bounded
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.run_report import RunReport, RunStatus
from dagster_planexec.plan.diff import describe
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.plan.sameness import deeds_digest
from dagster_planexec.planner.planner import Proposal
from dagster_planexec.planner.request import PlanRequest, Repair, Revising
from dagster_planexec.settling.checking import all_findings, check_plan, first_text, journal_check
from dagster_planexec.settling.parts import CheckedPlan, Prepared, Settling
from dagster_planexec.world.period import Period


def is_unheard(code: str) -> bool:
    """Whether a code says that nobody could be asked, whatever was asked: it says nothing about a plan."""
    return meaning(code).group in {"transient", "access"}


REFUSED = frozenset({"PLAN_REJECTED"})
"""Codes of a proposal that came, and was none. Every other code says that none came: an error, not a rejection."""


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
    return PlanRequest(work.task, period, work.tools, revising=revising)


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
        repaired = _repaired(settling, attempt, request, checked)
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
    journal_check(work, checked)
    settling.on_checked(checked)
    if checked.rejected_with is not None:
        report = report.ended("rejected", checked.rejected_with, first_text(checked, work.ports.clock.now()))
    return Prepared(report, attempt, checked)


def ask(settling: Settling, attempt: Attempt, request: PlanRequest) -> Proposal:
    """What the planner answers. It is journalled with what it cost, whether it is a plan or not."""
    proposal = _used_up(settling, attempt) or settling.planner.propose(request)
    said: dict[str, Any] = {
        "planner": proposal.planner, "author": proposal.author, "model_called": proposal.model_called,
        "code": proposal.code, "message": bounded(proposal.message), "for": _purpose(request),
        "usage": asdict(proposal.usage) if proposal.usage else None,
    }  # fmt: skip
    settling.work.journal.append(attempt.id, None, [NewEvent("proposed", None, said)])
    return proposal


def _used_up(settling: Settling, attempt: Attempt) -> Proposal | None:
    """What is answered where the attempt may call no model any more: the budget outlives runs and retries."""
    planner, limits = settling.planner, settling.work.task.limits
    if not planner.calls_model:
        return None
    used = spent(settling.work.journal, attempt.id)
    if left(limits, used).model_may_be_called:
        return None
    text = (
        f"{used.model_calls} of {limits.max_model_calls} model calls and {used.tokens} of {limits.max_tokens} tokens "
        "of this attempt are spent"
    )
    return Proposal(None, planner.name, planner.name, model_called=False, code="BUDGET_EXHAUSTED", message=text)


def _purpose(request: PlanRequest) -> str:
    if request.repair is not None:
        return "a repair"
    return f"revision {request.revising.revision}" if request.revising is not None else "a plan"


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
