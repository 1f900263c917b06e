"""Calling a step's tool: journalled before and after, ended by a deadline, and never raising."""

from __future__ import annotations

import time
from typing import Any

from dagster_planexec.contract.outcome import Done, Failed, Held, Outcome
from dagster_planexec.contract.tool import Tool, ToolCall
from dagster_planexec.errors import PortError
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


def make_call(run: Run, step: Step, tool: Tool, resolved: Resolved, call: ToolCall) -> tuple[Outcome, bool]:
    """The call's outcome, and whether it may have happened although it failed."""
    contract = tool.contract
    append(run, NewEvent("calling", step.id, {"tool": step.tool, "args": redacted(encode(dict(resolved.raw)))}))
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
    append(run, NewEvent("called", step.id, redacted(said)))
    return outcome, unknown
