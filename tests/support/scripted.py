"""A tool that fails as a script says before it works, on the bench of `tests.support.bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dagster_planexec.contract.outcome import Failed, Outcome
from dagster_planexec.contract.task import Deliverable, Task
from dagster_planexec.contract.tool import Tool, ToolCall, ToolRegistry
from dagster_planexec.journal.journal import Event
from tests.support.bench import Bench, TableTool

Act = Failed | Exception | Callable[[Any, ToolCall], Outcome | None] | None
"""What a call does: fails, raises, or something of its own first; None works."""


class Scripted(TableTool):
    """Each call takes the next act; when there is none left, it works."""

    def __init__(self, name: str, calls: list[str], acts: Sequence[Act] = (), **given: Any) -> None:
        super().__init__(name, calls, **given)
        self._acts = list(acts)
        self._name = name

    def call(self, args: Any, call: ToolCall) -> Outcome:
        """The next act, then what the tool is for."""
        act = self._acts.pop(0) if self._acts else None
        self._calls.append(f"{call.step} by {self._name}")
        if isinstance(act, Failed):
            return act
        if isinstance(act, Exception):
            raise act
        if act is not None:
            said = act(args, call)
            if said is not None:
                return said
        outcome = super().call(args, call)
        self._calls.pop()  # counted above
        return outcome


def with_tools(bench: Bench, *tools: Tool, task: Task | None = None, **work: Any) -> Bench:
    """The bench with these tools, each of which makes a deliverable of the task unless the task is given."""
    made = task or replace(
        bench.work.task, deliverables=tuple(Deliverable(t.contract.name, (t.contract.name,)) for t in tools)
    )
    return Bench(replace(bench.work, tools=ToolRegistry(tools), task=made, **work), bench.attempt, bench.calls)


def decided(bench: Bench, step: str | None = None) -> list[Event]:
    """The decisions in the journal."""
    return list(bench.work.journal.events(bench.attempt, kinds=["decided"], step=step))
