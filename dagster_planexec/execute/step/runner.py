"""One step: observe, judge preconditions, call, observe, judge postconditions, and only then hand on a result.

The one assumption of everything above: no tool is called before its step's claims were judged on fresh observations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from dagster_planexec.checks.live.expectations_of_the_plan import expectations_of_step
from dagster_planexec.contract.outcome import Done, Failed, Held, StepState
from dagster_planexec.contract.tool import Tool, ToolCall
from dagster_planexec.contract.verdict import Verdict, first_shut
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.effect.gate import Gated, gate
from dagster_planexec.execute.effect.not_due import why_not_due
from dagster_planexec.execute.judging import (
    bind,
    changed_inputs,
    judge,
    judge_inputs,
    look_at_inputs,
    names_of,
    still_sealed,
)
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.resolve import (
    Resolved,
    Unfit,
    identity_with,
    inputs_of,
    resolve_step,
    scope_of,
    seal_digest,
)
from dagster_planexec.execute.step.call import args_for, as_result_of, make_call, preview
from dagster_planexec.execute.step.ending import finish
from dagster_planexec.execute.step.facing import fallback_of, last_strategy, was_corrected
from dagster_planexec.execute.step.respelt import respelt
from dagster_planexec.execute.step.tried import Tried, append, ended, trouble
from dagster_planexec.execute.work import Run, StepReport, call_of
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import bounded, encode_verdict, same_facts
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.results import DoneStep, find_done
from dagster_planexec.journal.told.sentence import sentence_of
from dagster_planexec.plan.model import Step
from dagster_planexec.recovery.decision import (
    Hold,
    Proceed,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Skip,
    Stop,
    UseFallback,
)
from dagster_planexec.world.observation import Observation


@dataclass(frozen=True, slots=True)
class _Before:
    """What a try of a step knows when it calls."""

    verdicts: list[Verdict]
    inputs: Mapping[str, Observation]
    tries: int
    started: float
    by: Tool
    """Who makes the call: the step's tool, or its fallback."""


def run_step(run: Run, step_id: str) -> StepReport:
    """Carry out one step of a run, and journal everything about it.

    What can go on at once does so here: with credentials read anew, arguments respelt, or the fallback. Each of them
    happens once per step and run at most, so this ends.

    Returns:
        What became of it. `state` is None if the decision is to try again after a pause. Once another run holds the
        month, it has failed with LEASE_LOST, and nothing of it is journalled: not that it was called, not how it ended.
    """
    try:
        return _tried_step(run, step_id)
    except PlanexecError as error:
        if error.code != "LEASE_LOST":
            raise
        step = run.plan.step(step_id)
        text = trouble(run, step, error.code, error.message)
        return StepReport(step.id, step.tool, "failed", error.code, text, 0, 0.0, (), Stop(text))


def _tried_step(run: Run, step_id: str) -> StepReport:
    while True:
        report = _try_step(run, step_id)
        match report.decision:
            case RefreshCredentials():
                refresh_credentials(run, step_id)
            case RetryCorrected() | UseFallback():
                pass  # the next try reads from the journal what was decided
            case Proceed() | Retry() | RetryAfter() | Skip() | Replan() | Hold() | Stop():
                return report
            case _:
                assert_never(report.decision)


def _try_step(run: Run, step_id: str) -> StepReport:
    step = run.plan.step(step_id)
    started = time.monotonic()
    stopped = stop_of(run)
    if stopped is not None:
        return not_run(run, step, f"the run stopped at {stopped[0]}: {stopped[1]}")
    inputs = inputs_of(run, step)
    if isinstance(inputs, str):
        return not_run(run, step, f"it depends on {inputs}, which is not done")
    tries = 1 + len(run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["step-started"], step=step_id))
    append(run, NewEvent("step-started", step_id, {"try": tries}))
    contract = run.work.tools[step.tool].contract
    not_due = why_not_due(run, contract)
    if not_due is not None:
        return not_run(run, step, not_due, code="EFFECTS_NOT_DUE")
    respell = (lambda raw: respelt(raw, contract)) if was_corrected(run, step) else None
    resolved = resolve_step(run, step, inputs, respell=respell)
    if isinstance(resolved, Unfit):
        text = trouble(run, step, resolved.failed.code, resolved.failed.message)
        tried = Tried((), "precondition", resolved.failed.code, text, raw=resolved.raw)
        return finish(run, step, tried, tries, started)
    state: StepState = "reused"
    try:
        reused = _reuse(run, step, resolved)
        if reused is None:
            state = "done"
        tried = _with_surprises(run, step, resolved, reused or _try_once(run, step, resolved, tries, started))
    except PlanexecError as error:
        if error.code == "LEASE_LOST":
            raise  # there is nothing to decide, and nobody to tell
        text = trouble(run, step, error.code, error.message)
        after_s = error.retry_after_s if isinstance(error, PortError) else None
        tried = Tried((), "precondition", error.code, text, retry_after_s=after_s)
    except Exception as error:  # noqa: BLE001 - a step that cannot be judged stops, whatever it was that could not
        said = f"step {step_id} could not be judged: {type(error).__name__}: {bounded(str(error), 300)}"
        text = trouble(run, step, "INTERNAL", said)
        tried = Tried((), "postcondition", "INTERNAL", text, call_may_have_happened=_was_called(run, step_id))
    return finish(run, step, tried, tries, started, resolved=resolved, state=state)


def stop_of(run: Run) -> tuple[str, str] | None:
    """(step, code) of the stop of this run, if it was stopped. A stop reaches every branch."""
    events = run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["stopped"])
    return (events[0].step or "the run", str(events[0].payload["code"])) if events else None


def not_run(run: Run, step: Step, because: str, *, code: str | None = None) -> StepReport:
    """Journal that a step does not run, and why; with a code if a rule says so, and the run is whole without it."""
    report = StepReport(step.id, step.tool, "not-run", code, because, 0, 0.0, (), Stop(because))
    append(run, ended(report))
    return report


def refresh_credentials(run: Run, step_id: str) -> None:
    """Have the ports read their credentials anew. If they cannot, the next try meets the old ones, and stops."""
    try:
        run.work.ports.refresh_credentials()
        said = {"ok": True, "message": ""}
    except PlanexecError as error:
        said = {"ok": False, "message": bounded(f"{error.code}: {error.message}")}
    append(run, NewEvent("credentials-refreshed", step_id, redacted(said)))


def _was_called(run: Run, step_id: str) -> bool:
    return bool(run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["calling"], step=step_id))


def _reuse(run: Run, step: Step, resolved: Resolved) -> Tried | None:
    """A done step of an earlier run with the same tool, arguments and inputs, if what it left is unchanged."""
    identity = _identity(step, resolved)
    found = find_done(run.work.journal, run.attempt, identity)
    if found is None:
        return None
    seal = still_sealed(run, found)
    if not seal.opens:
        return None
    again = replace(seal, check="result_still_holds")
    return Tried((again, *found.verdicts), "postcondition", None, "", replace(found, step=step.id, run_id=run.run_id))


def _with_surprises(run: Run, step: Step, resolved: Resolved, tried: Tried) -> Tried:
    """What a done step shows about the rest of the plan; asked again when it is reused, for the plan may be another."""
    if tried.code is not None or tried.done is None:
        return tried
    tool = run.work.tools[step.tool]
    result = tool.contract.result.model_validate(tried.done.result)
    scope = scope_of(run, step, resolved, result, witnessed=tried.done.witnessed)
    call = call_of(run, step.id, tool.contract)
    asked = [
        *bind(run, tool.contract.surprises, scope, "post"),
        *expectations_of_step(step.id, run.plan.expects, lambda name: tool.measure(name, scope.args, result, call)),
    ]
    if not asked:
        return tried
    found = judge(run, asked)
    append(run, NewEvent("judged", step.id, {"phase": "surprise", "verdicts": [encode_verdict(v) for v in found]}))
    verdicts = (*tried.verdicts, *found)
    shut = first_shut(found)
    if shut is None:
        return replace(tried, verdicts=verdicts)
    return Tried(verdicts, "surprise", shut.code, sentence_of(shut, step=step.id), tried.done)


def _identity(step: Step, resolved: Resolved) -> str:
    seals = {str(done.result): seal_digest(done) for done in resolved.inputs.values()}
    return identity_with(step, resolved.raw, seals)


def _try_once(run: Run, step: Step, resolved: Resolved, tries: int, started: float) -> Tried:
    tool = run.work.tools[step.tool]
    fallback = fallback_of(run, step) if last_strategy(run, step) == "use-fallback" else None
    asked = scope_of(run, step, resolved)
    added = [name for name in names_of(run, step, "post") if name not in tool.contract.postconditions]
    bind(run, added, asked, "post")  # a claim that does not fit its step is met before the call, not after it
    with run.work.ports.warehouse.together():
        inputs = look_at_inputs(run, resolved)
        before = judge_inputs(run, resolved, inputs)
        # What must hold before the call is said by whoever makes it.
        names = names_of(run, step, "pre") if fallback is None else fallback.contract.preconditions
        before += judge(run, bind(run, names, asked, "pre"))
        shown = preview(run, step, resolved)
        gated = Gated(tuple(before))
        if tool.contract.effect == "irreversible":
            gated = gate(run, step, resolved, before, shown)
            before = list(gated.verdicts)
    append(run, NewEvent("judged", step.id, {"phase": "pre", "verdicts": [encode_verdict(v) for v in before]}))
    shut = first_shut(before)
    if shut is not None:
        text = sentence_of(shut, step=step.id)
        return Tried(tuple(before), "precondition", shut.code, text, retry_after_s=shut.retry_after_s)

    by = fallback or tool
    if fallback is not None:
        taken = args_for(fallback, step, resolved)
        if isinstance(taken, Failed):
            text = trouble(run, step, taken.code, taken.message)
            return Tried(tuple(before), "precondition", taken.code, text)
        resolved = replace(resolved, args=taken)
    call = replace(
        call_of(run, step.id, by.contract), preview=shown, released=gated.released, hold_id=gated.hold_id,
        approved=gated.approved,
    )  # fmt: skip
    # The seal is of what was judged: while the block lasts, no other process gets at an embedded warehouse.
    with run.work.ports.warehouse.together():
        tried = _call_and_judge(run, step, resolved, call, _Before(before, inputs, tries, started, by))
    return replace(tried, hold_id=gated.hold_id)


def _call_and_judge(run: Run, step: Step, resolved: Resolved, call: ToolCall, so_far: _Before) -> Tried:
    """Call, and judge what the call left: by the step's own checks, whoever made it."""
    tool = run.work.tools[step.tool]
    before, inputs = so_far.verdicts, so_far.inputs
    outcome, unknown = make_call(run, step, so_far.by, resolved, call)
    if so_far.by is not tool:
        outcome = as_result_of(tool, outcome)
        resolved = replace(resolved, args=tool.contract.args.model_validate(resolved.raw))
    match outcome:
        case Failed():
            text = trouble(run, step, outcome.code, outcome.message)
            return Tried(
                tuple(before), "call", outcome.code, text, call_may_have_happened=unknown,
                retry_after_s=outcome.retry_after_s,
            )  # fmt: skip
        case Held():
            text = trouble(run, step, outcome.code, outcome.message)
            return Tried(tuple(before), "precondition", outcome.code, text)
        case Done():
            pass
    witnessed = tuple(call.witnessed)
    scope = scope_of(run, step, resolved, outcome.result, witnessed=witnessed, preview=call.preview)
    probe = tool.seal(resolved.args, outcome.result, call)
    left = look(probe, run.work.ports)
    after = changed_inputs(run, resolved, inputs, look_at_inputs(run, resolved))
    # A check that asks what the seal asks is answered with what was just seen, as any two checks of a phase are.
    after += judge(run, bind(run, names_of(run, step, "post"), scope, "post"), seen={probe: left})
    append(run, NewEvent("judged", step.id, {"phase": "post", "verdicts": [encode_verdict(v) for v in after]}))
    verdicts = (*before, *after)
    shut = first_shut(after)
    if shut is not None:
        text = sentence_of(shut, step=step.id)
        return Tried(
            verdicts, "postcondition", shut.code, text, call_may_have_happened=True, retry_after_s=shut.retry_after_s
        )
    seal = look(probe, run.work.ports)
    if seal.state == "seen" and not same_facts(left, seal):
        text = trouble(run, step, "EXPECTATION_FAILED", f"what step {step.id!r} left changed while it was judged")
        return Tried(verdicts, "postcondition", "EXPECTATION_FAILED", text, call_may_have_happened=True)
    if seal.state != "seen":
        code = seal.code or "EXPECTATION_FAILED"
        said = f"what step {step.id!r} left could not be sealed: {seal.message or seal.state}"
        text = trouble(run, step, code, said)
        return Tried(verdicts, "postcondition", code, text, call_may_have_happened=True)
    done = DoneStep(
        _identity(step, resolved), step.id, step.tool, run.run_id, resolved.raw, outcome.result.model_dump(mode="json"),
        seal, witnessed, verdicts, so_far.tries, time.monotonic() - so_far.started,
    )  # fmt: skip
    return Tried(verdicts, "postcondition", None, "", done)
