"""A continuation that is killed between two lines of what was approved."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from assets.demo.world import DemoWorld
from dagster_planexec.execute.work import Work
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.world.ports import Credit
from tests.support.approvals import MovedClock, Office, asking_task
from tests.support.flagship import SMALL
from tests.support.months import World

ENDED_S = 120


class KilledAfter(DuckDbCredits):
    """Issues so many lines, then its process is gone."""

    left = 0

    def issue(self, credit: Credit) -> None:
        """One line, or the end."""
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        super().issue(credit)


class _World(World):
    """With such a target."""

    lines = 0

    def work(self, **given: object) -> Work:
        work = super().work(**given)  # type: ignore[arg-type]
        paying = KilledAfter(work.ports.warehouse, work.ports.clock)
        paying.left = self.lines
        return replace(work, ports=replace(work.ports, credits=paying))


def _go_on(home: str, endpoint: str, hold_id: str, at: str, lines: int, environ: Mapping[str, str]) -> None:
    os.environ.update(environ)
    clock = MovedClock(datetime.fromisoformat(at))
    world = _World(Path(home), endpoint, SMALL, asking_task(), clock=clock)
    world.lines = lines
    Office(DemoWorld(Path(home), endpoint, period=SMALL), world, clock).go_on(hold_id)


def go_on_and_die(office: Office, hold_id: str, *, after: int) -> None:
    """Continue in a process of its own, which is killed after so many lines."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.approvals_killed"])
    environ = {name: value for name, value in os.environ.items() if name.startswith(("PLANEXEC_", "AWS_"))}
    given = (str(office.demo.home), office.world.endpoint, hold_id, office.clock.at.isoformat(), after, environ)
    process = context.Process(target=_go_on, args=given, daemon=True)
    process.start()
    process.join(ENDED_S)
    assert process.exitcode == -signal.SIGKILL, process.exitcode
