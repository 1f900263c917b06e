"""Whatever order holders come, go, fall silent and wake up in: one holds the month, and only it writes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.money.lease.leases import Lease, Standing
from tests.support.leases import PERIOD, TASK, row_of, silent_for, someone, taken

RUNS = st.integers(0, 4)


def _code(act: Callable[[], Any]) -> str | None:
    """The code that it was refused with."""
    try:
        act()
    except PlanexecError as error:
        return error.code
    return None


@dataclass
class Asker:
    """One run with a journal of its own, and every lease that it ever got."""

    journal: Journal
    leases: list[Lease] = field(default_factory=list)


class Months(RuleBasedStateMachine):
    """Five runs and one month."""

    @initialize()
    def open(self) -> None:
        """An empty journal."""
        self.folder = tempfile.TemporaryDirectory()
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("PLANEXEC_HOME", self.folder.name)
        self.runs = [Asker(Journal()) for _ in range(5)]
        self.tokens: list[int] = []
        self.current: tuple[int, int] | None = None
        """Run and token that hold the month, by the rules as this machine knows them."""
        self.silent = False
        self.allowed: list[str] = []
        attempt, _ = self.runs[0].journal.open_attempt(
            task=TASK, version="1", period=PERIOD, inputs_digest="i", admission={}
        )
        self.attempt = attempt.id

    @rule(n=RUNS, ended=st.booleans())
    def ask(self, n: int, ended: bool) -> None:
        """A run asks for the month; perhaps it is known that the holder's has ended."""
        found = taken(self.runs[n].journal, someone(n), has_ended=lambda _: ended)
        free = self.current is None or self.silent or ended
        assert isinstance(found, Lease) is free
        if isinstance(found, Standing):
            assert self.current is not None
            assert (found.token, found.holder.run_id) == (self.current[1], f"run-{self.current[0]}")
            return
        assert found.token > max(self.tokens, default=0)
        self.tokens.append(found.token)
        self.runs[n].leases.append(found)
        self.current, self.silent = (n, found.token), False

    @rule()
    def fall_silent(self) -> None:
        """The holder is stopped, or cut off."""
        if self.current is not None:
            silent_for(self.runs[0].journal, 601)
            self.silent = True

    @rule(n=RUNS, which=st.integers(0, 5))
    def give_back(self, n: int, which: int) -> None:
        """A run gives back a lease it has, or has had."""
        if self.runs[n].leases:
            lease = self.runs[n].leases[which % len(self.runs[n].leases)]
            lease.release()
            if self.current == (n, lease.token):
                self.current, self.silent = None, False

    @rule(n=RUNS, which=st.integers(0, 5))
    def write(self, n: int, which: int) -> None:
        """A run writes under a lease it has, or has had; a zombie does not know which."""
        run = self.runs[n]
        if not run.leases:
            return
        lease = run.leases[which % len(run.leases)]
        run.journal.fence = lease.require
        step = f"{n}.{lease.token}.{len(self.allowed)}"
        refused = _code(lambda: run.journal.append(self.attempt, f"run-{n}", [NewEvent("calling", step, {})]))
        assert refused == (None if self.current == (n, lease.token) else "LEASE_LOST")
        if refused is None:
            self.allowed.append(step)

    @invariant()
    def one_holds_and_only_it_has_written(self) -> None:
        """At most one token is good, it is the newest, and what is written is what was allowed."""
        if not hasattr(self, "runs"):
            return
        good = []
        for n, run in enumerate(self.runs):
            for lease in run.leases:
                run.journal.fence = lease.require
                refused = _code(run.journal.require_held)
                assert refused in {None, "LEASE_LOST"}
                if refused is None:
                    good.append((n, lease.token))
        assert good == ([self.current] if self.current else [])
        assert self.tokens == sorted(set(self.tokens))
        if self.tokens:
            assert row_of(self.runs[0].journal).token == self.tokens[-1]
        written = [event.step for event in self.runs[0].journal.events(self.attempt, kinds=["calling"])]
        assert written == self.allowed

    def teardown(self) -> None:
        """Close everything."""
        if hasattr(self, "runs"):
            for run in self.runs:
                for lease in run.leases:
                    lease.release()
                run.journal.close()
            self.patch.undo()
            self.folder.cleanup()


Months.TestCase.settings = settings(
    max_examples=20, stateful_step_count=25, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
TestMonths = Months.TestCase
