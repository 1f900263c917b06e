"""What became of a line whose call broke off: the target is asked by key, and nothing is sent meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from threading import Event

from dagster_planexec.contract.tool import EffectTool, ToolCall
from dagster_planexec.errors import PortError
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.world.ports import Credit

PAUSES_S = (0.2, 0.6, 1.2)
"""Before each further look: a target may need a moment to know what it has done."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a target says of one key."""

    credit: Credit | None
    """What it holds, if it said so."""
    trouble: str = ""
    """Why it could not say; empty if it could."""


def fresh(call: ToolCall) -> ToolCall:
    """The same call, with the whole of its deadline before it, for one more line."""
    return replace(call, began=time.monotonic(), given_up=Event())


def ask(tool: EffectTool, credit: Credit, call: ToolCall, *, grace_s: float) -> Found:
    """Ask once."""
    call = fresh(call)
    try:
        return Found(within(call.deadline_s + grace_s, lambda: tool.find(credit, call)))
    except DeadlinePassedError:
        call.given_up.set()
        return Found(None, f"TIMEOUT: it did not answer within {call.deadline_s:g} s")
    except PortError as error:
        return Found(None, f"{error.code}: {error.message[:200]}")
    except Exception as error:  # noqa: BLE001 - whoever raises has said nothing
        return Found(None, f"INTERNAL: {type(error).__name__}: {str(error)[:200]}")


def look_up(tool: EffectTool, credit: Credit, call: ToolCall, *, grace_s: float) -> Found:
    """Ask until the target knows the line, a few times and no longer than one call may last."""
    began = time.monotonic()
    found = ask(tool, credit, call, grace_s=grace_s)
    for pause in PAUSES_S:
        if found.credit is not None or time.monotonic() - began + pause > call.deadline_s:
            return found
        call.ports.clock.sleep(pause)
        found = ask(tool, credit, call, grace_s=grace_s)
    return found
