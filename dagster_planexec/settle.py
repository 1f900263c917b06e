"""Settling a month: admit, propose, check, run. It knows planner and launcher by their interfaces only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.checks.static.static_check import is_rejected, static_check
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.layout import credit_shape, effect_scope
from dagster_planexec.contract.tool import Admission
from dagster_planexec.contract.verdict import Verdict, first_shut
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import admit_inputs, read_sql
from dagster_planexec.execute.live_check import LiveReport, live_check
from dagster_planexec.execute.observer import DeadlinePassedError, look, within
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission, encode_admission, inputs_digest
from dagster_planexec.journal.encoding import bounded, encode_verdict
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.run_report import RunReport, RunStatus, close_steps, read_steps, save_report
from dagster_planexec.journal.told.line import one_line, shown_side
from dagster_planexec.journal.told.sentence import sentence_of, sentence_of_plan
from dagster_planexec.journal.told.trace import BEGINS
from dagster_planexec.plan.diff import Edit, diff
from dagster_planexec.plan.digest import digest_of, full_digest
from dagster_planexec.plan.model import Plan, parse_plan
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditsIssued

ADMISSION_DEADLINE_S = 900.0
"""Seconds in which the drop, the live tables and the SQL files must have been looked at."""


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan with everything that is known of it before anything runs: what a person can read, and stop."""

    plan: Plan
    digest: str
    attempt: Attempt
    findings: tuple[StaticFinding, ...]
    live: tuple[Verdict, ...]
    edits: tuple[Edit, ...] | None
    """Against the plan of the last settled earlier period; None if there is none."""
    compared_with: str | None
    """That period."""

    @property
    def claims(self) -> int:
        """How many claims the plan's steps and expectations make."""
        return len(self.plan.expects) + sum(len(step.claims) for step in self.plan.steps)

    @property
    def rejected_with(self) -> str | None:
        """The code of the rejection: the first live finding, else PLAN_REJECTED; None if the plan may run."""
        for verdict in self.live:
            if not verdict.opens:
                return verdict.code
        return "PLAN_REJECTED" if is_rejected(self.findings) else None


class Launcher(ABC):
    """Runs an admitted plan and comes back when the run has ended."""

    @abstractmethod
    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period) -> str:
        """The id of the run. How it ended is in the journal.

        Raises:
            PlanexecError: The run could not be started.
        """


@dataclass(frozen=True, slots=True)
class Settling:
    """Who takes part, and who is told."""

    work: Work
    planner: Planner
    launcher: Launcher
    task_run_id: str | None = None
    on_checked: Callable[[CheckedPlan], None] = field(default=lambda _: None)
    """Told before the plan's run starts, whether it may run or not."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A period up to the point where its plan could run."""

    report: RunReport
    """Ended if the plan may not run."""
    attempt: Attempt | None = None
    checked: CheckedPlan | None = None
    """None if there is no plan to check."""

    @property
    def may_run(self) -> bool:
        """Whether the plan was checked and nothing stands against it."""
        return self.checked is not None and self.checked.rejected_with is None


def prepare(settling: Settling, period: Period, *, replan: bool = False) -> Prepared:
    """Admit what is there, have a plan proposed if the attempt has none, and check it. Runs nothing.

    A new run with the same admitted inputs continues the attempt and asks no planner.

    Args:
        settling: The task's work, its planner and launcher.
        period: The month or quarter.
        replan: Open another attempt and ask the planner again, although the inputs are the same.
    """
    work, journal = settling.work, settling.work.journal
    blank = RunReport.blank(work.task, period, task_run_id=settling.task_run_id)
    try:
        admission = within(ADMISSION_DEADLINE_S, lambda: admit_inputs(work, period))
        attempt = _open(settling, period, admission, anew=replan)
    except DeadlinePassedError:
        text = f"what there is could not be looked at within {ADMISSION_DEADLINE_S:g} s"
        return Prepared(blank.ended("error", "TIMEOUT", text))
    except PlanexecError as error:
        return Prepared(blank.ended("error", error.code, error.message, error.hint))
    if settling.task_run_id is not None:
        journal.append(attempt.id, None, [NewEvent(BEGINS, None, {"task_run": settling.task_run_id, "replan": replan})])
    proposal = _propose(settling, period, attempt)
    blank = blank.of_attempt(attempt.id, proposal.provenance(work.task), attempt.revision)
    if proposal.plan is None:
        code = proposal.code or "PLAN_REJECTED"
        journal.close_run(attempt.id, None, "rejected", code)
        return Prepared(blank.ended("rejected", code, proposal.message, proposal.hint), attempt)
    attempt = _adopt(work, attempt, proposal)
    checked = check_plan(work, proposal.plan, attempt, period)
    report = blank.of_plan(proposal.plan, checked.digest, attempt.revision).with_findings(
        _findings(checked), checked.live
    )
    _journal_check(work, checked)
    settling.on_checked(checked)
    if checked.rejected_with is not None:
        journal.close_run(attempt.id, None, "rejected", checked.rejected_with)
        report = report.ended("rejected", checked.rejected_with, _first_text(checked, work.ports.clock.now()))
    return Prepared(report, attempt, checked)


def settle(settling: Settling, period: Period, *, replan: bool = False) -> RunReport:
    """Do the task for one period, as far as the world lets it, and report.

    Every end is a report; nothing that the world can do raises. Arguments as of `prepare`.
    """
    prepared = prepare(settling, period, replan=replan)
    report = prepared.report
    if prepared.may_run:
        assert prepared.attempt is not None and prepared.checked is not None  # noqa: S101, PT018 - may_run
        admitted = NewEvent("admitted", None, {"plan": prepared.checked.digest})
        settling.work.journal.append(prepared.attempt.id, None, [admitted])
        report = _run(settling, report, prepared.attempt, prepared.checked, period)
    report = _with_standing(settling.work, report)
    if settling.task_run_id is not None:
        save_report(settling.work.journal, settling.task_run_id, report)
    return report


def _with_standing(work: Work, report: RunReport) -> RunReport:
    """The report with what the credit system holds for the period, whatever this run added to it.

    A credit system that does not answer leaves it out; the check that needed the answer has said so.
    """
    if work.task.irreversible is None:
        return report
    scope, _ = effect_scope(work.task)
    seen = look(CreditsIssued(scope, report.period.text, credit_shape(work.task).scale), work.ports)
    return report.with_standing(seen.facts) if seen.state == "seen" else report


def _open(settling: Settling, period: Period, admission: Admission, *, anew: bool) -> Attempt:
    task = settling.work.task
    recipe = {
        "planner": settling.planner.recipe,
        # The content and not the version: an edit that forgot to raise it is news all the same.
        "contracts": {name: digest_of(contract.model_dump(mode="json")) for name, contract in task.contracts.items()},
    }
    attempt, _ = settling.work.journal.open_attempt(
        task=task.name, version=task.version, period=period.text, inputs_digest=inputs_digest(admission, recipe=recipe),
        admission=encode_admission(admission), anew=anew,
    )  # fmt: skip
    # What was admitted now replaces the older record: same content, but ETags and places may have moved on.
    return replace(attempt, admission=settling.work.journal.readmit(attempt.id, encode_admission(admission)))


def _propose(settling: Settling, period: Period, attempt: Attempt) -> Proposal:
    """The attempt's plan if it has one that breaks no rule, else a new proposal."""
    broken = (attempt.status, attempt.code) == ("rejected", "PLAN_REJECTED")
    if attempt.plan_digest is not None and not broken:
        provenance = dict(attempt.provenance)
        try:
            plan = settling.work.journal.load_plan(attempt.plan_digest)
        except PlanexecError as error:
            return Proposal(None, str(provenance["planner"]), str(provenance["author"]), model_called=False,
                            code=error.code, message=error.message)  # fmt: skip
        return Proposal(plan, str(provenance["planner"]), str(provenance["author"]), model_called=False)
    request = PlanRequest(settling.work.task, period, settling.work.tools)
    proposal = settling.planner.propose(request)
    said = {"planner": proposal.planner, "author": proposal.author, "model_called": proposal.model_called,
            "code": proposal.code, "message": bounded(proposal.message)}  # fmt: skip
    settling.work.journal.append(attempt.id, None, [NewEvent("proposed", None, said)])
    return proposal


def _adopt(work: Work, attempt: Attempt, proposal: Proposal) -> Attempt:
    assert proposal.plan is not None  # noqa: S101 - narrowed by the caller
    digest = work.journal.save_plan(proposal.plan)
    if attempt.plan_digest != digest:
        work.journal.adopt_plan(attempt.id, digest, proposal.provenance(work.task))
    return work.journal.attempt(attempt.id)


def check_plan(work: Work, plan: Plan, attempt: Attempt, period: Period) -> CheckedPlan:
    """Every static and live finding of a plan, in one pass, and its diff to the last settled period's plan."""
    findings = static_check(
        plan, work.task, work.tools, known_checks=work.checks, sql_texts=read_sql(work.ports.roots.sql), period=period
    )
    admission = decode_admission(attempt.admission)
    run = Run(work, attempt.id, plan, full_digest(plan), period, admission, "live-check")
    # A step that breaks a rule asks nothing of the world: its arguments may name what the task does not open to it.
    refused = frozenset(f.step for f in findings if f.severity == "error" and f.step is not None)
    live: LiveReport = live_check(run, leave_out=refused)
    edits, compared_with = _compared(work, plan, period)
    return CheckedPlan(plan, full_digest(plan), attempt, findings, live.verdicts, edits, compared_with)


def _compared(work: Work, plan: Plan, period: Period) -> tuple[tuple[Edit, ...] | None, str | None]:
    earlier = [
        a for a in work.journal.newest_attempts(work.task.name)
        if a.status == "settled" and a.plan_digest and a.period < period.text
    ]  # fmt: skip
    if not earlier:
        return None, None
    last = earlier[-1]
    assert last.plan_digest is not None  # noqa: S101 - filtered above
    try:
        before = work.journal.load_plan(last.plan_digest)
        return diff(_as_of(before, work.task.period(last.period), period), plan), last.period
    except PlanexecError:
        return None, None  # an altered old plan is refused where it would run; here there is nothing to compare with


def _as_of(plan: Plan, then: Period, now: Period) -> Plan:
    """An earlier period's plan with this period's texts: that the month moved on is no difference."""
    text = plan.model_dump_json().replace(then.text, now.text).replace(then.compact, now.compact)
    return parse_plan(text)


def _findings(checked: CheckedPlan) -> list[dict[str, Any]]:
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


def _first_text(checked: CheckedPlan, now: datetime) -> str:
    """The sentence of what stands against the plan: a live verdict, else the first rule that it breaks."""
    shut = first_shut(checked.live)
    return sentence_of(shut) if shut else sentence_of_plan(checked.findings, checked.digest, now)


def _journal_check(work: Work, checked: CheckedPlan) -> None:
    body: Mapping[str, Any] = {
        "digest": checked.digest,
        "rejected_with": checked.rejected_with,
        "findings": _findings(checked),
        "live": [encode_verdict(verdict) for verdict in checked.live],
        "claims": checked.claims,
    }
    work.journal.append(checked.attempt.id, None, [NewEvent("checked", None, body)])


def _run(settling: Settling, blank: RunReport, attempt: Attempt, checked: CheckedPlan, period: Period) -> RunReport:
    journal = settling.work.journal
    try:
        run_id = settling.launcher.launch(attempt=attempt, plan_digest=checked.digest, period=period)
    except PlanexecError as error:
        journal.close_run(attempt.id, None, "error", error.code)
        return blank.ended("error", error.code, error.message, error.hint)
    tools = settling.work.tools
    irreversible = [name for name in tools if tools[name].contract.effect == "irreversible"]
    close_steps(journal, attempt.id, run_id, checked.plan, irreversible=irreversible)
    steps = read_steps(journal, attempt.id, run_id, checked.plan)
    stops = journal.events(attempt.id, run_id=run_id, kinds=["stopped"])
    status, code, text = _end(steps, cancelled=any(stop.payload["code"] == "CANCELLED" for stop in stops))
    journal.close_run(attempt.id, run_id, {"succeeded": "settled"}.get(status, status), code)
    return blank.of_run(run_id, steps, reports=settling.work.ports.roots.reports).ended(status, code, text)


def _end(steps: Sequence[Any], *, cancelled: bool) -> tuple[RunStatus, str | None, str]:
    """How a run ended, from how its steps did: a failure outweighs a hold, and only all steps done is success."""
    failed = next((s for s in steps if s.outcome == "failed"), None)
    if failed is not None:
        return "stopped", failed.code, failed.reason
    held = next((s for s in steps if s.outcome == "held"), None)
    if held is not None:
        return "held", held.code, held.reason
    left = next((s for s in steps if s.outcome == "not-run"), None)
    if left is not None:
        code = "CANCELLED" if cancelled else "INTERNAL"
        return "error", code, f"the run ended before step {left.id}; its log says why"
    return "succeeded", None, ""
