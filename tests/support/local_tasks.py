"""The examples that need no bucket, settled without Dagster: real files, a real DuckDB file, their own planners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from assets.demo.local import LOCAL_DATA, LocalData
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Event
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Planner
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period
from tests.support.settled import StepLauncher


@dataclass
class LocalPlace:
    """A home with one example's world."""

    data: LocalData
    home: Path
    heard: list[Callable[[str, str | None], None]] = field(default_factory=list)
    """Told of every journalled event of the runs to come."""

    @property
    def files(self) -> Path:
        """The folder of files."""
        return self.home / "files"

    @contextmanager
    def work(self) -> Iterator[Work]:
        """The task's parts, as every run has them."""
        binding = replace(self.data.planned.binding, listeners=lambda: (self._tell,))
        work = work_of(binding)
        try:
            yield work
        finally:
            work.journal.close()

    def settle(self, period: str | None = None, *, planner: Planner | None = None, **changes: Any) -> RunReport:
        """Settle a period by the example's own planner or another; `changes` are of the task."""
        with self.work() as bound:
            work = replace(bound, task=replace(bound.task, **changes))
            settling = Settling(work, planner or self.data.planned.planner(), StepLauncher(work))
            return settle(settling, self.period(period))

    def period(self, text: str | None = None) -> Period:
        """The period of that name, or the example's own."""
        return self.data.period(text)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """What somebody asks the warehouse, or does to it."""
        with self.work() as work, work.ports.warehouse.session() as session:
            return session.rows(statement)

    def events(self, *kinds: str, period: str | None = None) -> list[Event]:
        """The events of those kinds of the newest attempt."""
        with self.work() as work:
            attempt = work.journal.newest_attempt(work.task.name, self.period(period).text)
            return list(work.journal.events(attempt.id, kinds=kinds)) if attempt is not None else []

    def when(self, kind: str, step: str, act: Callable[[], object]) -> None:
        """Do something in the world, once, when the journal hears that event of that step."""
        done: list[bool] = []

        def hear(heard: str, of: str | None) -> None:
            if (heard, of) == (kind, step) and not done:
                done.append(True)
                act()

        self.heard.append(hear)

    def plan(self, *steps: dict[str, Any], expects: tuple[dict[str, Any], ...] = (), period: str | None = None) -> Plan:
        """A plan of the task."""
        data = {"task": self.data.planned.name, "period": self.period(period).text, "steps": list(steps)}
        return Plan.model_validate({**data, "expects": list(expects)})

    def _tell(self, kind: str, step: str | None) -> None:
        for hear in self.heard:
            hear(kind, step)


def place_of(name: str, home: Path, monkeypatch: pytest.MonkeyPatch, *, seed: bool = True) -> LocalPlace:
    """A home with that example's world."""
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    data = LOCAL_DATA[name]
    home.mkdir(parents=True, exist_ok=True)
    if seed:
        data.seed(home)
    return LocalPlace(data, home)


def outcomes(report: RunReport) -> dict[str, str]:
    """Step to what became of it."""
    return {step.id: step.outcome for step in report.steps}
