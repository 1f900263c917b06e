"""A task with two approvers, a journal of its own, and holds that were opened for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.definitions.planned_task import PlannedTask
from dagster_planexec.journal.encoding import encode
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.holds import HoldRecord, open_hold
from dagster_planexec.journal.money.approvals.keys import keys_for
from dagster_planexec.journal.money.approvals.signing import sign
from dagster_planexec.world.ports import Clock
from tests.support.approving import with_keys

NOW = datetime(2026, 4, 3, 9, 0, tzinfo=UTC)


class DeskClock(Clock):
    """Shows the time that it is set to."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """That time."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Nobody waits here."""
        raise AssertionError(seconds)


@dataclass
class Desk:
    """Where decisions are made."""

    planned: PlannedTask
    journal: Journal
    clock: DeskClock
    instance: dg.DagsterInstance

    @property
    def task(self) -> Any:
        """The task."""
        return self.planned.binding.task

    def opened(self, period: str = "2026-03", **other: Any) -> HoldRecord:
        """A hold of an attempt of its own, which is bound to something."""
        attempt, _ = self.journal.open_attempt(
            task=self.task.name, version="1", period=period, inputs_digest=str(other.pop("inputs", "i")), admission={}
        )
        asked = {"step": "issue_credit", "code": "CAP_EXCEEDED", "plan_digest": "d" * 64, **other}
        bound = {"task": self.task.name, "period": period, "attempt": attempt.id, "plan": "d" * 64,
                 "step": "issue_credit", "evidence": "e" * 64}  # fmt: skip
        now = self.clock.now()
        return open_hold(
            self.journal, attempt_id=attempt.id, task=self.task.name, period=period, bound=bound,
            facts=dict(encode({"count": 30, "amount": Decimal("1234.50")})), now=now,
            expires_at=now + timedelta(seconds=self.task.approval.expires_after_s), **asked,
        )  # fmt: skip

    def signed(self, held: HoldRecord, by: str, decision: str = "approve", reason: str = "seen") -> str:
        """The line that a person pastes."""
        key = keys_for(self.task.approval.approvers).key(by)
        return sign(held, decision=decision, by=by, reason=reason, key=key, now=self.clock.now()).text()  # type: ignore[arg-type]


MakeDesk = Callable[..., Desk]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeDesk]:
    """Makes desks with a policy."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    (tmp_path / "dagster").mkdir()
    made: list[Journal] = []
    with (
        with_keys("ada", "grace"),
        dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides={"telemetry": {"enabled": False}}) as inst,
    ):

        def make(**policy: Any) -> Desk:
            clock = DeskClock(NOW)
            binding = VENDOR_RECONCILIATION.binding
            task = replace(binding.task, approval=ApprovalPolicy(approvers=("ada", "grace"), **policy))
            resources = replace(binding.resources, clock=clock)
            planned = PlannedTask(replace(binding, task=task, resources=resources), VENDOR_RECONCILIATION.planner)
            journal = Journal()
            made.append(journal)
            return Desk(planned, journal, clock, inst)

        yield make
        for journal in made:
            journal.close()
