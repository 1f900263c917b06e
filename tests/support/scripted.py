"""A tool that fails as a script says before it works, on the bench of `tests.support.bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dagster_planexec.checks.check import Check, Stated, equal
from dagster_planexec.contract.outcome import Failed, Outcome
from dagster_planexec.contract.task import Deliverable, Task
from dagster_planexec.contract.tool import Tool, ToolCall, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Event
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.ports import ObjectFacts, ObjectStore
from dagster_planexec.world.probes.delivery.objects import HeadObject
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


def removed(event: Event) -> dict[str, str]:
    """What a decision could not be, with the rule that forbids it."""
    return {one["strategy"]: one["rule"] for one in event.payload["removed"]}


def plan_of(*steps: dict[str, Any]) -> Plan:
    """A plan with these steps."""
    return Plan.model_validate({"task": "toy", "period": "2026-03", "steps": steps}, strict=False)


def step(step_id: str, tool: str, *needs: str, **args: Any) -> dict[str, Any]:
    """A step that makes a table of three rows, unless it says otherwise."""
    table = {"target": f"staging.{step_id}", "rows": 3}
    return {"id": step_id, "tool": tool, "args": table | args, "depends_on": list(needs)}


BUSY = Failed("UNAVAILABLE", "503")


class ScriptedStore(ObjectStore):
    """A store whose HEAD answers as it is told, and that counts how often its credentials were read anew."""

    def __init__(self, answers: list[Exception | None], *, refreshes: bool = True, broken: bool = False) -> None:
        self._answers = answers
        self._refreshes = refreshes
        self._broken = broken
        self.refreshed = 0

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """The next answer."""
        answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, Exception):
            raise answer
        return ObjectFacts(bucket, key, 1, "e", datetime.now(UTC))

    def list(self, bucket: str, prefix: str) -> Any:
        """Nothing."""
        return iter(())

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> Any:
        """Not asked here."""
        raise AssertionError

    @property
    def can_refresh(self) -> bool:
        """As it was made."""
        return self._refreshes

    def refresh_credentials(self) -> None:
        """Counted."""
        self.refreshed += 1
        if self._broken:
            raise PlanexecError("BAD_CONTRACT", "the variable is not set")


def asks_the_store(scope, phase):
    """A check that needs the store."""
    return (Check("asks_the_store", phase, HeadObject("b", "k"), Stated(1, scope.stated_by_contract("one")),
                  lambda seen, _: equal("OBJECT_CHANGED", 1, seen["size"], what="bytes")),)  # fmt: skip
