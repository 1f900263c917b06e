"""One step: observe, judge preconditions, call, observe, judge postconditions, and only then hand on a result.

The one assumption of everything above: no tool is called before its step's claims were judged on fresh observations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.outcome import Done, Failed, Held, Outcome, StepState
from dagster_planexec.contract.tool import AdmittedObject, Tool, ToolCall
from dagster_planexec.contract.verdict import Verdict, first_shut
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.judging import (
    bind,
    changed_inputs,
    judge,
    judge_inputs,
    look_at_inputs,
    names_of,
    still_sealed,
)
from dagster_planexec.execute.observer import DeadlinePassedError, look, within
from dagster_planexec.execute.resolve import Resolved, identity_with, inputs_of, resolve_step, scope_of, seal_digest
from dagster_planexec.execute.work import Run, StepReport, call_of
from dagster_planexec.journal.encoding import bounded, encode, encode_verdict, same_facts
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.results import DoneStep, find_done, open_hold, save_done, save_landing
from dagster_planexec.journal.told.redact import redacted
from dagster_planexec.journal.told.sentence import sentence_of, sentence_of_call
from dagster_planexec.plan.model import Step
from dagster_planexec.recovery.decide import decide
from dagster_planexec.recovery.decision import Decision, Hold, Proceed, Retry, Situation, Stage, Stop
from dagster_planexec.world.observation import Observation

GRACE_S = 5.0
"""A call's own deadline ends it; this much later it is given up from outside."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What one try of a step came to."""

    verdicts: tuple[Verdict, ...]
    stage: Stage
    code: str | None
    text: str
    done: DoneStep | None = None
    call_may_have_happened: bool = False


@dataclass(frozen=True, slots=True)
class _Before:
    """What a try of a step knows when it calls."""

    verdicts: list[Verdict]
    inputs: Mapping[str, Observation]
    tries: int
    started: float


def run_step(run: Run, step_id: str) -> StepReport:
    """Carry out one step of a run, and journal everything about it.

    Returns:
        What became of it. `state` is None if the decision is to try again after a pause.
    """
    step = run.plan.step(step_id)
    started = time.monotonic()
    stopped = stop_of(run)
    if stopped is not None:
        return not_run(run, step, f"the run stopped at {stopped[0]}: {stopped[1]}")
    inputs = inputs_of(run, step)
    if isinstance(inputs, str):
        return not_run(run, step, f"it depends on {inputs}, which is not done")
    tries = 1 + len(run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["step-started"], step=step_id))
    _append(run, NewEvent("step-started", step_id, {"try": tries}))
    resolved = resolve_step(run, step, inputs)
    if isinstance(resolved, Failed):
        tried = _Tried((), "precondition", resolved.code, _trouble(run, step, resolved.code, resolved.message))
        return _finish(run, step, tried, tries, started)
    reused = _reuse(run, step, resolved)
    if reused is not None:
        return _finish(run, step, reused, tries, started, resolved=resolved, state="reused")
    try:
        tried = _try_once(run, step, resolved, tries, started)
    except PlanexecError as error:
        tried = _Tried((), "precondition", error.code, _trouble(run, step, error.code, error.message))
    except Exception as error:  # noqa: BLE001 - a step that cannot be judged stops, whatever it was that could not
        said = f"step {step_id} could not be judged: {type(error).__name__}: {bounded(str(error), 300)}"
        text = _trouble(run, step, "INTERNAL", said)
        tried = _Tried((), "postcondition", "INTERNAL", text, call_may_have_happened=_was_called(run, step_id))
    return _finish(run, step, tried, tries, started, resolved=resolved)


def stop_of(run: Run) -> tuple[str, str] | None:
    """(step, code) of the stop of this run, if it was stopped. A stop reaches every branch."""
    events = run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["stopped"])
    return (events[0].step or "the run", str(events[0].payload["code"])) if events else None


def not_run(run: Run, step: Step, because: str) -> StepReport:
    """Journal that a step does not run, and why."""
    report = StepReport(step.id, step.tool, "not-run", None, because, 0, 0.0, (), Stop(because))
    _append(run, _ended(report))
    return report


def _was_called(run: Run, step_id: str) -> bool:
    return bool(run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["calling"], step=step_id))


def _reuse(run: Run, step: Step, resolved: Resolved) -> _Tried | None:
    """A done step of an earlier run with the same tool, arguments and inputs, if what it left is unchanged."""
    identity = _identity(step, resolved)
    found = find_done(run.work.journal, run.attempt, identity)
    if found is None:
        return None
    seal = still_sealed(run, found)
    if not seal.opens:
        return None
    again = replace(seal, check="result_still_holds")
    return _Tried((again, *found.verdicts), "postcondition", None, "", replace(found, step=step.id, run_id=run.run_id))


def _identity(step: Step, resolved: Resolved) -> str:
    seals = {str(done.result): seal_digest(done) for done in resolved.inputs.values()}
    return identity_with(step, resolved.raw, seals)


def _try_once(run: Run, step: Step, resolved: Resolved, tries: int, started: float) -> _Tried:
    tool = run.work.tools[step.tool]
    asked = scope_of(run, step, resolved)
    added = [name for name in names_of(run, step, "post") if name not in tool.contract.postconditions]
    bind(run, added, asked, "post")  # a claim that does not fit its step is met before the call, not after it
    with run.work.ports.warehouse.together():
        inputs = look_at_inputs(run, resolved)
        before = judge_inputs(run, resolved, inputs)
        before += judge(run, bind(run, names_of(run, step, "pre"), asked, "pre"))
        shown = _preview(run, step, resolved)
    _append(run, NewEvent("judged", step.id, {"phase": "pre", "verdicts": [encode_verdict(v) for v in before]}))
    shut = first_shut(before)
    if shut is not None:
        return _Tried(tuple(before), "precondition", shut.code, sentence_of(shut, step=step.id))

    call = replace(call_of(run, step.id, tool.contract), preview=shown)
    # The seal is of what was judged: while the block lasts, no other process gets at an embedded warehouse.
    with run.work.ports.warehouse.together():
        return _call_and_judge(run, step, resolved, call, _Before(before, inputs, tries, started))


def _call_and_judge(run: Run, step: Step, resolved: Resolved, call: ToolCall, so_far: _Before) -> _Tried:
    """Call, and judge what the call left."""
    tool = run.work.tools[step.tool]
    before, inputs = so_far.verdicts, so_far.inputs
    outcome, unknown = _call(run, step, tool, resolved, call)
    match outcome:
        case Failed():
            text = _trouble(run, step, outcome.code, outcome.message)
            return _Tried(tuple(before), "call", outcome.code, text, call_may_have_happened=unknown)
        case Held():
            text = _trouble(run, step, outcome.code, outcome.message)
            return _Tried(tuple(before), "precondition", outcome.code, text)
        case Done():
            pass
    witnessed = tuple(call.witnessed)
    scope = scope_of(run, step, resolved, outcome.result, witnessed=witnessed)
    probe = tool.seal(resolved.args, outcome.result, call)
    left = look(probe, run.work.ports)
    after = changed_inputs(run, resolved, inputs, look_at_inputs(run, resolved))
    # A check that asks what the seal asks is answered with what was just seen, as any two checks of a phase are.
    after += judge(run, bind(run, names_of(run, step, "post"), scope, "post"), seen={probe: left})
    _append(run, NewEvent("judged", step.id, {"phase": "post", "verdicts": [encode_verdict(v) for v in after]}))
    verdicts = (*before, *after)
    shut = first_shut(after)
    if shut is not None:
        text = sentence_of(shut, step=step.id)
        return _Tried(verdicts, "postcondition", shut.code, text, call_may_have_happened=True)
    seal = look(probe, run.work.ports)
    if seal.state == "seen" and not same_facts(left, seal):
        text = _trouble(run, step, "EXPECTATION_FAILED", f"what step {step.id!r} left changed while it was judged")
        return _Tried(verdicts, "postcondition", "EXPECTATION_FAILED", text, call_may_have_happened=True)
    if seal.state != "seen":
        code = seal.code or "EXPECTATION_FAILED"
        said = f"what step {step.id!r} left could not be sealed: {seal.message or seal.state}"
        text = _trouble(run, step, code, said)
        return _Tried(verdicts, "postcondition", code, text, call_may_have_happened=True)
    done = DoneStep(
        _identity(step, resolved), step.id, step.tool, run.run_id, resolved.raw, outcome.result.model_dump(mode="json"),
        seal, witnessed, verdicts, so_far.tries, time.monotonic() - so_far.started,
    )  # fmt: skip
    return _Tried(verdicts, "postcondition", None, "", done)


def _preview(run: Run, step: Step, resolved: Resolved) -> Observation | None:
    """What the call is about to do, as it was when its preconditions were judged."""
    tool = run.work.tools[step.tool]
    probe = tool.preview(resolved.args, call_of(run, step.id, tool.contract))
    return look(probe, run.work.ports) if probe is not None else None


def _call(run: Run, step: Step, tool: Tool, resolved: Resolved, call: ToolCall) -> tuple[Outcome, bool]:
    """The call's outcome, and whether it may have happened although it failed."""
    contract = tool.contract
    _append(run, NewEvent("calling", step.id, {"tool": step.tool, "args": redacted(encode(dict(resolved.raw)))}))
    began = time.monotonic()
    unknown = False
    outcome: Outcome
    try:
        outcome = within(contract.deadline_s + GRACE_S, lambda: tool.call(resolved.args, call))
    except DeadlinePassedError:
        outcome = Failed("TIMEOUT", f"{step.tool} did not come back within its {contract.deadline_s:g} s")
        unknown = True
    except PortError as error:
        outcome = Failed(error.code, error.message)
        unknown = error.code in {"TIMEOUT", "UNAVAILABLE", "EFFECT_UNKNOWN", "INTERNAL"}
    except Exception as error:  # noqa: BLE001 - a tool that raises is a failed call, whatever it raised
        outcome = Failed("INTERNAL", f"{step.tool} raised {type(error).__name__}: {bounded(str(error), 300)}")
        unknown = True
    answered: object = outcome  # what a tool promises and what it does are two things
    if not isinstance(answered, Done | Failed | Held):
        outcome, unknown = Failed("INTERNAL", f"{step.tool} returned no outcome"), True
    said: dict[str, Any] = {"outcome": type(outcome).__name__.lower(), "ms": int((time.monotonic() - began) * 1000)}
    if isinstance(outcome, Done):
        said["result"] = encode(outcome.result.model_dump(mode="json"))
    else:
        said |= {"code": outcome.code, "message": bounded(outcome.message), "facts": encode(outcome.facts)}
    _append(run, NewEvent("called", step.id, redacted(said)))
    return outcome, unknown


def _trouble(run: Run, step: Step, code: str, message: str) -> str:
    """The sentence of a failure that no check has seen."""
    return sentence_of_call(step.tool, code, message, run.work.ports.clock.now(), step=step.id)


def _finish(
    run: Run, step: Step, tried: _Tried, tries: int, started: float,
    *, resolved: Resolved | None = None, state: StepState = "done",
) -> StepReport:  # fmt: skip
    """Decide, journal, and report."""
    contract = run.work.tools[step.tool].contract
    situation = Situation(
        tried.code, tried.stage, contract.effect, contract.idempotent, tries, contract.max_tries, tried.text,
        tried.call_may_have_happened,
    )  # fmt: skip
    decision, rule = decide(situation)
    took = time.monotonic() - started
    report = StepReport(
        step.id,
        step.tool,
        _state_of(decision, state),
        tried.code,
        _reason(decision),
        tries,
        took,
        tried.verdicts,
        decision,
    )
    said: dict[str, Any] = {
        "decision": type(decision).__name__.lower(),
        "rule": rule,
        "code": tried.code,
        "reason": _reason(decision),
    }
    if isinstance(decision, Retry):
        said["after_s"] = decision.after_s
    events = [NewEvent("decided", step.id, said)]
    if isinstance(decision, Hold):
        report = _hold(run, step, resolved, report)
    if tried.done is not None:
        save_done(run.work.journal, run.attempt, tried.done)
        _remember_landing(run, tried.done, fresh=state == "done")
        report = replace(report, facts={**tried.done.result, "sealed": encode(tried.done.seal.facts)})
    if isinstance(decision, Stop):
        events.append(NewEvent("stopped", step.id, {"code": tried.code, "reason": bounded(decision.reason)}))
    if report.state is not None:
        events.append(_ended(report))
    if report.state in {"done", "reused"}:
        events.append(NewEvent("step-done", step.id))
    _append(run, *events)
    return report


def _state_of(decision: Decision, done: StepState) -> StepState | None:
    match decision:
        case Proceed():
            return done
        case Retry():
            return None
        case Hold():
            return "held"
        case Stop():
            return "failed"


def _reason(decision: Decision) -> str:
    return "" if isinstance(decision, Proceed) else bounded(decision.reason)


def _hold(run: Run, step: Step, resolved: Resolved | None, report: StepReport) -> StepReport:
    """Record what waits for a person: the code, and what the call would do."""
    tool = run.work.tools[step.tool]
    facts: dict[str, Any] = {}
    probe = tool.preview(resolved.args, call_of(run, step.id, tool.contract)) if resolved is not None else None
    if probe is not None:
        facts = dict(encode(look(probe, run.work.ports).facts))
    record = open_hold(
        run.work.journal, attempt_id=run.attempt, task=run.work.task.name, period=run.period.text, step=step.id,
        code=report.code or "INTERNAL", plan_digest=run.plan_digest, facts=facts,
    )  # fmt: skip
    # The hint was written before the hold had a name.
    reason = report.reason.replace("`planexec show HOLD`", f"`planexec show {record.id}`")
    return replace(report, hold_id=record.id, facts=facts, reason=reason)


def _remember_landing(run: Run, done: DoneStep, *, fresh: bool) -> None:
    """A landed copy stands for its object when the drop has expired."""
    landed = done.result.get("landed")
    admitted = run.admission.object(str(done.args.get("bucket")), str(done.args.get("key")))
    if fresh and isinstance(landed, str) and admitted is not None and not admitted.from_landing:
        save_landing(
            run.work.journal, task=run.work.task.name, period=run.period.text, attempt_id=run.attempt,
            admitted=AdmittedObject(admitted.facts, landed),
        )  # fmt: skip


def _ended(report: StepReport) -> NewEvent:
    hint = meaning(report.code).hint if report.code else None
    return NewEvent(
        "step-ended", report.step,
        {
            "tool": report.tool, "state": report.state, "code": report.code, "reason": report.reason,
            "tries": report.tries, "duration_ms": int(report.duration_s * 1000), "hint": hint,
            "hold_id": report.hold_id,
            "verdicts": [encode_verdict(verdict) for verdict in report.verdicts], "facts": encode(dict(report.facts)),
        },
    )  # fmt: skip


def _append(run: Run, *events: NewEvent) -> None:
    run.work.journal.append(run.attempt, run.run_id, events)
