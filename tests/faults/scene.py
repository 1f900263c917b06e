"""The flagship's month in a world to which one thing happens, at one moment of one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from assets.demo.world import DemoWorld
from dagster_planexec.contract.effects.tally import Tally
from dagster_planexec.contract.outcome import Outcome
from dagster_planexec.contract.tool import Tool, ToolCall, ToolRegistry
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Listener
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.s3_object_store import S3ObjectStore
from dagster_planexec.tools.issue_credit import IssueCredit, IssueCreditResult
from dagster_planexec.world.ports import Credit, CreditLine
from dagster_planexec.world.probe import Probe
from tests.faults.case import Case
from tests.faults.holder import Holder
from tests.faults.ports import FaultyCredits, FaultyWarehouse, JumpingClock, NotedObjects
from tests.support.busy_s3 import BusyS3
from tests.support.months import World

WAIT_S = 0.2
"""For the warehouse file; a deployment waits longer, and no less surely."""
QUIET_S = 2.5
"""Until a read that is not answered has timed out."""


@dataclass
class Scene(World):
    """A month, its parts in wrappers that can be given trouble, and what has been seen of it."""

    busy: BusyS3 = field(default_factory=lambda: BusyS3(""))
    holder: Holder = field(default_factory=Holder)
    client: Any = None
    case: Case | None = None
    kinds: list[tuple[str, str | None]] = field(default_factory=list)
    """Every event of the run, with its step."""
    touched: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Step to the ports that it used."""
    passing: ExitStack = field(default_factory=ExitStack)
    """What ends with the run."""
    after_try: list[Callable[[], None]] = field(default_factory=list)
    """What ends with the step's try."""
    _now: str = "before the plan"
    _struck: int = 0
    _calls: int = 0
    warehouse: FaultyWarehouse = field(init=False)
    credit_system: FaultyCredits = field(init=False)
    time: JumpingClock = field(init=False)

    @property
    def demo(self) -> DemoWorld:
        """Bucket, ledger and folders, for whoever changes them."""
        return DemoWorld(self.home, self.endpoint, period=self.period)

    def work(self, *, listeners: Sequence[Listener] = ()) -> Work:
        """The real parts, each in its wrapper."""
        work = super().work(listeners=[*listeners, self._on_event])
        ports = work.ports
        assert isinstance(ports.warehouse, DuckDbWarehouse)
        ports.warehouse.wait_s = WAIT_S
        self.warehouse = FaultyWarehouse(ports.warehouse, self._note)
        self.credit_system = FaultyCredits(ports.credits, self._note)
        assert isinstance(ports.clock, JumpingClock)
        self.time = ports.clock
        wrapped = replace(
            ports, objects=NotedObjects(S3ObjectStore(self.client), self._note),
            warehouse=self.warehouse, credits=self.credit_system,
        )  # fmt: skip
        tools = ToolRegistry(struck(work.tools[name], self) for name in work.tools)
        return replace(work, ports=wrapped, tools=tools)

    def run(self, case: Case | None = None) -> RunReport:
        """One run of the month, in which a case strikes or nothing does. What passes has passed when it returns."""
        self.case, self._struck, self._calls, self._now = case, 0, 0, "before the plan"
        self.kinds.clear()
        with ExitStack() as self.passing:
            self.strike("before the plan", case.step if case else None)
            return self.settle()

    def strike(self, moment: str, step: str | None) -> None:
        """Let the case's deed happen, if this is its moment and it has not happened yet."""
        case = self.case
        if case is None or case.deed is None or self._struck or (case.when, case.step) != (moment, step):
            return
        self._struck += 1
        case.deed(self)

    def called(self, tool: Tool, args: Any, call: ToolCall) -> Outcome:
        """Call a step's tool, with whatever happens before, meanwhile, and after."""
        self.strike("between judgement and call", call.step)
        if self.case is None or self.case.step != call.step:
            return tool.call(args, call)
        self._calls += 1
        with self.case.around(self, self._calls):
            outcome = tool.call(args, call)
        self.strike("after the call", call.step)
        return outcome

    def begun(self, step: str) -> None:
        """An irreversible step's call begins; it is made of many, each by itself."""
        self.strike("between judgement and call", step)
        if self.case is not None and self.case.step == step:
            self._calls += 1

    def around(self, step: str) -> AbstractContextManager[None]:
        """Whatever happens while one of them is made."""
        if self.case is None or self.case.step != step:
            return nullcontext()
        return self.case.around(self, self._calls)

    def _on_event(self, kind: str, step: str | None) -> None:
        self.kinds.append((kind, step))
        if kind == "step-started":
            self._now = step or ""
            self.strike("before the step", step)
        if kind == "decided" and self.case is not None and step == self.case.step:
            while self.after_try:
                self.after_try.pop()()
        if kind == "step-ended":
            self._now = "after the steps"

    def _note(self, port: str) -> None:
        self.touched[self._now].add(port)


def struck(tool: Tool, scene: Scene) -> Tool:
    """A tool of the project, called in a scene."""
    return StruckCredits(scene) if isinstance(tool, IssueCredit) else StruckTool(tool, scene)


class StruckCredits(IssueCredit):
    """The tool that issues credits: what it asks and what it issues are calls of their own."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def due(self, args: Any, call: ToolCall) -> Sequence[CreditLine]:
        self._scene.begun(call.step)
        with self._scene.around(call.step):
            return super().due(args, call)

    def issue(self, credit: Credit, call: ToolCall) -> None:
        with self._scene.around(call.step):
            super().issue(credit, call)

    def result(self, args: Any, call: ToolCall, tally: Tally) -> IssueCreditResult:
        self._scene.strike("after the call", call.step)
        return super().result(args, call, tally)


class StruckTool(Tool):
    """A tool of the project, called in a scene."""

    def __init__(self, inner: Tool, scene: Scene) -> None:
        self._inner = inner
        self._scene = scene
        self.contract = inner.contract

    def call(self, args: Any, call: ToolCall) -> Outcome:
        return self._scene.called(self._inner, args, call)

    def seal(self, args: Any, result: Any, call: ToolCall) -> Probe:
        return self._inner.seal(args, result, call)

    def measure(self, name: str, args: Any, result: Any, call: ToolCall) -> Probe:
        return self._inner.measure(name, args, result, call)

    def preview(self, args: Any, call: ToolCall) -> Probe | None:
        return self._inner.preview(args, call)
