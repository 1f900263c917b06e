"""A month that waits for a person, and people with keys of their own."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.task import Task
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import decide
from dagster_planexec.journal.money.approvals.holds import HoldRecord, holds_of
from dagster_planexec.journal.money.approvals.keys import keys_for, variable_of
from dagster_planexec.journal.money.approvals.signing import Word
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.settle import continue_month
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.ports import Clock
from tests.support.flagship import SMALL, world_of
from tests.support.months import Loop, World, calls_by_run

PEOPLE = ("ada", "grace", "linus")
"""Each has a key; `mallory` has one too, and is on nobody's list."""
FRIDAY = datetime(2026, 3, 6, 17, 0, tzinfo=UTC)
_runs = itertools.count(1)


class MovedClock(Clock):
    """Stands still until somebody moves it."""

    def __init__(self, at: datetime = FRIDAY) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def policy(**changes: Any) -> ApprovalPolicy:
    """Ada and Grace may decide; one is enough."""
    return ApprovalPolicy(**{"approvers": ("ada", "grace"), **changes})


def asking_task(*, approval: ApprovalPolicy | None = None, **limits: Any) -> Task:
    """The flagship with a cap that every month exceeds."""
    bounds = replace(TASK.limits, **{"credit_cap": Decimal("1.00"), **limits})
    return replace(TASK, limits=bounds, approval=approval or policy())


@dataclass
class Office:
    """A seeded world in which months are held and people decide."""

    demo: DemoWorld
    world: World
    clock: MovedClock = field(default_factory=MovedClock)

    def settle(self, **more: Any) -> RunReport:
        """One run of the month, as a process of its own would make it."""
        return self.world.settle(**more)

    def go_on(self, hold_id: str) -> RunReport:
        """Continue the month, with a journal that is opened for it."""
        work = self.world.work()
        try:
            return continue_month(Settling(work, self.world.planner, Loop(work), f"go-on-{next(_runs)}"), hold_id)
        finally:
            work.journal.close()

    def decide(self, hold_id: str, by: str, decision: Word = "approve", reason: str = "looked at it") -> HoldRecord:
        """A person's decision."""
        with self.journal() as journal:
            return decide(
                journal, self.world.task, hold_id, decision=decision, by=by, reason=reason,
                keys=keys_for((*PEOPLE, "mallory")),
                now=self.clock.now(),
            )  # fmt: skip

    def held(self) -> HoldRecord:
        """Settle the month; the hold that this opens."""
        report = self.settle()
        assert report.status == "held", (report.status, report.code, report.text)
        (found,) = [one for one in self.holds("open") if one.period == self.world.period]
        return found

    def approved(self) -> HoldRecord:
        """A hold of the month that Ada has approved."""
        return self.decide(self.held().id, "ada")

    def holds(self, *states: str) -> tuple[HoldRecord, ...]:
        """The holds in these states, newest first."""
        with self.journal() as journal:
            return holds_of(journal, self.world.task.name, states=states)

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """The journal, opened anew."""
        journal = Journal()
        try:
            yield journal
        finally:
            journal.close()

    def meddle(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """What somebody with the journal's file does to it, past every trigger."""
        with self.journal() as journal, journal.engine.begin() as db:
            names = db.execute(sa.text("select name from sqlite_master where type = 'trigger'")).scalars().all()
            for name in names:
                db.exec_driver_sql(f"drop trigger {name}")
            assert db.execute(sa.text(statement), values or {}).rowcount > 0

    def sql(self, statement: str) -> None:
        """What somebody does to the warehouse."""
        with self.demo.connection() as warehouse:
            warehouse.execute(statement)

    @property
    def landed(self) -> Path:
        """The landed copy of the month's delivery."""
        (path,) = [p for p in (self.demo.home / "landing").rglob("*") if p.is_file() and len(p.name) == 64]
        return path


@pytest.fixture
def office(seeded: Path, tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """An office on Friday afternoon."""
    for name in (*PEOPLE, "mallory"):
        monkeypatch.setenv(variable_of(name), f"{name}-" * 12)
    clock = MovedClock()
    with world_of(seeded, tmp_path / "home", endpoint) as demo:
        yield Office(demo, World(demo.home, endpoint, SMALL, asking_task(), clock=clock), clock)


def _go_on_elsewhere() -> None:
    """`python -m tests.support.approvals HOME ENDPOINT HOLD AT [BY]`: a process that knows nothing of the first."""
    home, endpoint, hold_id, at, *by = sys.argv[1:]
    clock = MovedClock(datetime.fromisoformat(at))
    world = World(Path(home), endpoint, SMALL, asking_task(), clock=clock)
    here = Office(DemoWorld(Path(home), endpoint, period=SMALL), world, clock)
    for name in by:
        here.decide(hold_id, name)
    report = here.go_on(hold_id)
    calls = {}
    with here.journal() as journal:
        assert report.attempt is not None
        calls = dict(calls_by_run(journal, report.attempt))
    json.dump(
        {
            "status": report.status, "code": report.code, "text": report.text, "credits": len(world.credits()),
            "calls": calls.get(str(report.plan_run_id), []), "outcomes": [s.outcome for s in report.steps],
        },
        sys.stdout,
    )  # fmt: skip


if __name__ == "__main__":
    _go_on_elsewhere()
