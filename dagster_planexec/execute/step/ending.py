"""The end of one try of a step: what is decided, journalled, and handed on."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any, assert_never

from dagster_planexec.contract.outcome import StepState
from dagster_planexec.contract.strategies import RELEASABLE
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.effect.approval.asking import ask
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.step.call import preview
from dagster_planexec.execute.step.choosing import chosen
from dagster_planexec.execute.step.facing import claim_of, situation_of
from dagster_planexec.execute.step.tried import Tried, append, ended
from dagster_planexec.execute.work import Run, StepReport
from dagster_planexec.journal.attempts.waits import waits
from dagster_planexec.journal.encoding import bounded, encode
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.money.approvals.holds import close_hold
from dagster_planexec.journal.results import DoneStep, save_done, save_landing
from dagster_planexec.plan.model import Step
from dagster_planexec.recovery.decide import Weighed, weigh
from dagster_planexec.recovery.decision import (
    Decision,
    Hold,
    Proceed,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Situation,
    Skip,
    Stop,
    UseFallback,
    word_of,
)
from dagster_planexec.recovery.situations import encode_situation


def finish(
    run: Run, step: Step, tried: Tried, tries: int, started: float,
    *, resolved: Resolved | None = None, state: StepState = "done",
) -> StepReport:  # fmt: skip
    """Decide, journal, and report."""
    situation = situation_of(run, step, tried, tries, resolved)
    weighed = chosen(run, step, situation, weigh(situation))
    decision = weighed.decision
    report = StepReport(
        step.id,
        step.tool,
        _state_of(decision, state, is_done=tried.done is not None),
        tried.code,
        _reason(decision),
        tries,
        time.monotonic() - started,
        tried.verdicts,
        decision,
    )
    events = [NewEvent("decided", step.id, _said(step, tried, situation, weighed))]
    if isinstance(decision, Hold):
        report, decision = _hold(run, step, resolved, report, decision)
    if isinstance(decision, RetryAfter):
        until = run.work.ports.clock.now() + timedelta(seconds=decision.after_s)
        report = replace(report, reason=bounded(f"{decision.reason}; it waits until {until:%Y-%m-%d %H:%M:%S} UTC"))
        events.append(waits(step.id, tried.code, until, backfill=run.backfill))
    if tried.done is not None:
        save_done(run.work.journal, run.attempt, tried.done)
        if tried.hold_id is not None:
            used = f"what was approved is done, in plan run {run.run_id}"
            close_hold(run.work.journal, tried.hold_id, "used", used, now=run.work.ports.clock.now())
        _remember_landing(run, tried.done, fresh=state == "done")
        report = replace(report, facts={**tried.done.result, "sealed": encode(tried.done.seal.facts)})
    if isinstance(decision, Replan):
        said = {"code": tried.code, "reason": bounded(decision.reason), "replan": True, "stage": tried.stage}
        events.append(NewEvent("stopped", step.id, said))
    if isinstance(decision, Stop):
        events.append(NewEvent("stopped", step.id, {"code": report.code, "reason": bounded(decision.reason)}))
    if report.state is not None:
        events.append(ended(report))
    if report.state in {"done", "reused"}:
        events.append(NewEvent("step-done", step.id))
    append(run, *events)
    return report


def _said(step: Step, tried: Tried, situation: Situation, weighed: Weighed) -> dict[str, Any]:
    """The decision with everything that went into it: read back, it can be made again and compared."""
    decision = weighed.decision
    said: dict[str, Any] = {
        "decision": word_of(decision),
        "rule": weighed.rule,
        "code": tried.code,
        "reason": _reason(decision),
        "situation": {**encode_situation(situation), "text": bounded(situation.text)},
    }
    if isinstance(decision, Retry | RetryAfter):
        said["after_s"] = decision.after_s
    if isinstance(decision, UseFallback):
        said["fallback"] = decision.tool
    if tried.code is not None:
        said |= {
            "tool": step.tool, "claim": claim_of(tried), "strategy": weighed.strategy, "viable": list(weighed.viable),
            # As pairs: under its own name, what is said of a strategy about credentials would be taken for one.
            "removed": [{"strategy": one, "rule": rule} for one, rule in weighed.removed.items()],
        }  # fmt: skip
    return said


def _state_of(decision: Decision, done: StepState, *, is_done: bool) -> StepState | None:
    match decision:
        case Proceed():
            return done
        case Retry() | RefreshCredentials() | RetryCorrected() | UseFallback():
            return None
        case RetryAfter():
            return "waiting"
        case Skip():
            return "not-run"
        case Replan():
            return done if is_done else "failed"
        case Hold():
            return "held"
        case Stop():
            return "failed"
        case _:
            assert_never(decision)


def _reason(decision: Decision) -> str:
    return "" if isinstance(decision, Proceed) else bounded(decision.reason)


def _hold(
    run: Run, step: Step, resolved: Resolved | None, report: StepReport, decision: Hold
) -> tuple[StepReport, Decision]:
    """Record what waits for a person, and what a decision is bound to; a question that nobody may put stops."""
    codes = {report.code, *(v.code for v in report.verdicts if not v.opens)} & RELEASABLE
    try:
        shown = preview(run, step, resolved) if resolved is not None else None
        record = ask(run, step, resolved, report, [code for code in codes if code], shown)
    except PlanexecError as error:
        stop = Stop(bounded(f"{report.reason}; and nobody can be asked: {error.code}: {error.message}"))
        return replace(report, state="failed", code=error.code, reason=stop.reason, decision=stop), stop
    # The hint was written before the hold had a name.
    reason = report.reason.replace("`planexec show HOLD`", f"`planexec show {record.id}`")
    return replace(report, hold_id=record.id, facts=record.facts, reason=reason), decision


def _remember_landing(run: Run, done: DoneStep, *, fresh: bool) -> None:
    """A landed copy stands for its object when the drop has expired."""
    landed = done.result.get("landed")
    admitted = run.admission.object(str(done.args.get("bucket")), str(done.args.get("key")))
    if fresh and isinstance(landed, str) and admitted is not None and not admitted.from_landing:
        save_landing(
            run.work.journal, task=run.work.task.name, period=run.period.text, attempt_id=run.attempt,
            admitted=AdmittedObject(admitted.facts, landed),
        )  # fmt: skip
