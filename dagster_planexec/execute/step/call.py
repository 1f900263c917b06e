"""Calling a step's tool: journalled before and after, ended by a deadline, and never raising."""

from __future__ import annotations

import time
from typing import Any

from pydantic import ValidationError

from dagster_planexec.contract.outcome import Done, Failed, Held, Outcome
from dagster_planexec.contract.tool import EffectTool, Model, Tool, ToolCall
from dagster_planexec.errors import PortError
from dagster_planexec.execute.effect.carry_out import carry_out
from dagster_planexec.execute.observer import DeadlinePassedError, look, within
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.step.tried import append
from dagster_planexec.execute.work import Run, call_of
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import bounded, encode
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation

GRACE_S = 5.0
"""A call's own deadline ends it; this much later it is given up from outside."""


def preview(run: Run, step: Step, resolved: Resolved) -> Observation | None:
    """What the call is about to do, as it was when its preconditions were judged."""
    tool = run.work.tools[step.tool]
    probe = tool.preview(resolved.args, call_of(run, step.id, tool.contract))
    return look(probe, run.work.ports) if probe is not None else None


OPEN_ENDED = frozenset({"TIMEOUT", "UNAVAILABLE", "EFFECT_UNKNOWN", "INTERNAL", "TRUNCATED_STREAM"})
"""Codes with which a call may end after it has done its work."""


def make_call(run: Run, step: Step, tool: Tool, resolved: Resolved, call: ToolCall) -> tuple[Outcome, bool]:
    """The call's outcome, and whether it may have happened although it failed.

    The tool is the step's own, or the fallback that makes the call in its stead. A call that does not come back is
    given up and told so: what it still does must ask `ToolCall.require_wanted` first, or ends with its session.
    One that cannot be undone is carried out line by line, see `execute.effect.carry_out`.
    """
    contract = tool.contract
    said: dict[str, Any] = {"tool": contract.name, "args": redacted(encode(dict(resolved.raw)))}
    if contract.name != step.tool:
        said["instead_of"] = step.tool
    append(run, NewEvent("calling", step.id, said))
    began = time.monotonic()
    if isinstance(tool, EffectTool):
        outcome, unknown = carry_out(run, tool, resolved.args, call, grace_s=GRACE_S)
    else:
        outcome = _called(tool, resolved, call)
        unknown = isinstance(outcome, Failed) and outcome.code in OPEN_ENDED
    said = {"outcome": type(outcome).__name__.lower(), "ms": int((time.monotonic() - began) * 1000)}
    if isinstance(outcome, Done):
        said["result"] = encode(outcome.result.model_dump(mode="json"))
    else:
        said |= {"code": outcome.code, "message": bounded(outcome.message), "facts": encode(outcome.facts)}
    append(run, NewEvent("called", step.id, redacted(said)))
    return outcome, unknown


def _called(tool: Tool, resolved: Resolved, call: ToolCall) -> Outcome:
    """The outcome of a call that is made as a whole; it never raises."""
    contract = tool.contract
    outcome: Outcome
    try:
        outcome = within(contract.deadline_s + GRACE_S, lambda: tool.call(resolved.args, call))
    except DeadlinePassedError:
        call.given_up.set()
        outcome = Failed("TIMEOUT", f"{contract.name} did not come back within its {contract.deadline_s:g} s")
    except PortError as error:
        outcome = Failed(error.code, error.message, retry_after_s=error.retry_after_s)
    except Exception as error:  # noqa: BLE001 - a tool that raises is a failed call, whatever it raised
        outcome = Failed("INTERNAL", f"{contract.name} raised {type(error).__name__}: {bounded(str(error), 300)}")
    answered: object = outcome  # what a tool promises and what it does are two things
    if not isinstance(answered, Done | Failed | Held):
        outcome = Failed("INTERNAL", f"{contract.name} returned no outcome")
    return outcome


def args_for(fallback: Tool, step: Step, resolved: Resolved) -> Model | Failed:
    """The step's arguments as the fallback takes them: the same ones, or none."""
    try:
        return fallback.contract.args.model_validate(dict(resolved.raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        name = fallback.contract.name
        return Failed(
            "VALIDATION_ERROR", f"step {step.id!r}: the fallback {name} does not take argument {where}: {first['msg']}"
        )


def as_result_of(tool: Tool, outcome: Outcome) -> Outcome:
    """What a fallback gave, in the words of the tool it stands for: later steps refer to those."""
    if not isinstance(outcome, Done):
        return outcome
    try:
        return Done(tool.contract.result.model_validate(outcome.result.model_dump(mode="json")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        text = f"the fallback of {tool.contract.name} gave another result, {where}: {first['msg']}"
        return Failed("VALIDATION_ERROR", text)
