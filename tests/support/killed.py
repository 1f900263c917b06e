"""A month whose process is killed in the middle, and what must be true of it afterwards. No part of it is simulated."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assets.demo.saturday import month
from assets.demo.world import DemoWorld
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.results import tools_done
from dagster_planexec.journal.run_report import RunReport
from tests.support.months import World

ENDED_S = 120
_PARTS = (0.3, 0.8)
"""How far into a call a process is killed."""


@dataclass(frozen=True)
class Point:
    """When a process is killed: so many events after its start, and so much later."""

    event: int
    """Counted from 1; the event is in the journal when the process dies."""
    later_s: float = 0.0
    name: str = ""
    """What the event was in a run that nobody killed."""


class Killer:
    """A listener that kills its own process at its point, as `kill -9` does."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._told = 0

    def __call__(self, kind: str, step: str | None) -> None:
        """Count, and perhaps die."""
        self._told += 1
        if self._told == self._point.event:
            if self._point.later_s == 0.0:
                _die()
            threading.Timer(self._point.later_s, _die).start()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _settle(home: str, endpoint: str, period: str, environ: dict[str, str], point: Point) -> None:
    os.environ.update(environ)
    World(Path(home), endpoint, period).settle(listeners=[Killer(point)])


def start_and_kill(world: World, point: Point) -> bool:
    """Run the month in a process of its own; whether it was killed, or ended before its point came."""
    # Forked from a process that has imported everything and runs no thread: a second each, instead of five.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.killed"])
    environ = {name: value for name, value in os.environ.items() if name.startswith(("PLANEXEC_", "AWS_"))}
    process = context.Process(
        target=_settle, args=(str(world.home), world.endpoint, world.period, environ, point), daemon=True
    )
    process.start()
    process.join(ENDED_S)
    if process.is_alive():
        process.kill()
        raise TimeoutError(f"{point} has not ended after {ENDED_S} s")
    if process.exitcode not in {0, -signal.SIGKILL}:
        raise AssertionError(f"{point} ended with {process.exitcode}")
    return process.exitcode != 0


@dataclass
class Watch:
    """What is compared: the calls of the second run with what the first one left."""

    done: dict[str, str]
    """Step to tool, of what was done when the process was killed."""
    asked: bool
    """Whether a plan had been adopted."""
    credits: Sequence[tuple[str, str]]
    complaints: list[str] = field(default_factory=list)


def look(world: World, task: str) -> Watch:
    """What a killed run has left."""
    journal = Journal()
    try:
        attempt = journal.newest_attempt(task, world.period)
        done = tools_done(journal, attempt.id) if attempt else ()
        adopted = attempt is not None and attempt.plan_digest is not None
        return Watch({d.step: d.tool for d in done}, adopted, world.credits())
    finally:
        journal.close()


def complaints(world: World, before: Watch, report: RunReport, calls: Sequence[str], asked: int) -> list[str]:
    """What is wrong after the second run; empty if nothing is."""
    due = sorted((key, str(amount)) for key, amount in month(world.period).truth.credits.items())
    issued = list(world.credits())
    found = []
    if report.status != "succeeded":
        found.append(f"ended {report.status} {report.code}: {report.text}")
    found += [f"{step} was done and is called again" for step in calls if step in before.done]
    found += [f"{step} is called twice" for step in sorted({s for s in calls if calls.count(s) > 1})]
    if asked != (0 if before.asked else 1):
        found.append(f"the planner was asked {asked} times, with a plan adopted: {before.asked}")
    if issued != due:
        twice = len(issued) - len(dict(issued))
        found.append(f"{len(issued)} credits are issued, {len(due)} are due, {twice} twice")
    if set(before.credits) - set(due):
        found.append("a credit that is not due was issued before it was killed")
    return found


@contextlib.contextmanager
def one_home(seeded: Path, home: Path, endpoint: str, period: str) -> Iterator[World]:
    """A copy of a seeded home, gone afterwards."""
    shutil.copytree(seeded, home)
    DemoWorld(home, endpoint, period=period).seed_drop()
    try:
        yield World(home, endpoint, period)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def struck(world: World, task: str, point: Point) -> list[str]:
    """Kill a run at a point, run the same partition again, and say what is wrong with that."""
    if not start_and_kill(world, point):
        return ["it ended before its point came"]
    before = look(world, task)
    calls: list[str] = []
    report = world.settle(listeners=[lambda kind, step: calls.append(str(step)) if kind == "calling" else None])
    return complaints(world, before, report, calls, world.planner.asked)


def points(world: World, count: int) -> list[Point]:
    """So many points: two inside every call, the rest spread over all events of a run that nobody kills."""
    told: list[str] = []
    report = world.settle(listeners=[lambda kind, step: told.append(f"{kind} {step or ''}".strip())])
    assert report.status == "succeeded", report.text
    journal = Journal()
    took = {e.step: e.payload["ms"] / 1000 for e in journal.events(report.attempt or "", kinds=["called"])}
    journal.close()
    calling = [(n, name.removeprefix("calling ")) for n, name in enumerate(told, 1) if name.startswith("calling ")]
    inside = [
        Point(n, round(took[step] * part + 0.0005, 4), f"inside {step}") for n, step in calling for part in _PARTS
    ]
    left = max(count - len(inside), 1)
    numbers = sorted({1 + round(k * (len(told) - 1) / max(left - 1, 1)) for k in range(left)})
    return [*(Point(n, 0.0, told[n - 1]) for n in numbers), *inside][:count]
