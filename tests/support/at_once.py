"""Many processes that start the same month at the same time; the one that holds it goes on when the rest stood back."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.settling.parts import Asking
from tests.support.months import World

PATIENCE_S = 240
STARTERS = ("the schedule monthly", "the sensor arrivals", "a person", "the backfill bf1")
TAGS = (
    {"dagster/schedule_name": "monthly"},
    {"dagster/sensor_name": "arrivals", "dagster/run_key": "2026-02-01:set1"},
    {},
    {"dagster/backfill": "bf1"},
)
"""What Dagster puts on a run of each of them."""


@dataclass(frozen=True)
class Ended:
    """What became of one of them."""

    n: int
    status: str
    code: str | None
    text: str
    asked: int
    """How often its planner was asked."""


def _settle(
    home: str, endpoint: str, period: str, environ: dict[str, str], n: int, others: int, between: tuple[Any, Any, Any]
) -> None:
    start, back, out = between
    os.environ.update(environ)
    world = World(Path(home), endpoint, period)
    waited: list[bool] = []

    def wait_for_the_rest(kind: str, _: str | None) -> None:
        if kind == "calling" and not waited:
            waited.append(True)
            for _number in range(others):
                assert back.acquire(timeout=PATIENCE_S)

    start.wait(PATIENCE_S)
    asking = Asking(STARTERS[n % len(STARTERS)])
    report = world.settle(listeners=[wait_for_the_rest], task_run_id=f"task-run-{n}", asking=asking)
    if report.status == "stood-back":
        back.release()
    out.put(Ended(n, report.status, report.code, report.text, world.planner.asked))


def settled_at_once(world: World, count: int) -> Sequence[Ended]:
    """So many processes settle the month; what each of them says."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.at_once"])
    start, back, out = context.Barrier(count), context.Semaphore(0), context.Queue()
    environ = {name: value for name, value in os.environ.items() if name.startswith(("PLANEXEC_", "AWS_"))}
    given = (str(world.home), world.endpoint, world.period, environ)
    processes = [
        context.Process(target=_settle, args=(*given, n, count - 1, (start, back, out)), daemon=True)
        for n in range(count)
    ]
    try:
        for process in processes:
            process.start()
        return [out.get(timeout=PATIENCE_S) for _ in processes]
    finally:
        for process in processes:
            process.join(5)
            process.kill()


def main() -> None:
    """Materialise the month in Dagster as the n-th of so many: `python -m tests.support.at_once N COUNT PERIOD`."""
    import assets.binding
    import definitions

    n, count, period = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    waited: list[bool] = []

    def wait_for_the_rest(kind: str, _: str | None) -> None:
        if kind == "calling" and not waited:
            waited.append(True)
            end = time.monotonic() + PATIENCE_S
            while _stood_back() < count - 1:
                assert time.monotonic() < end, "the rest never came"
                time.sleep(0.05)

    assets.binding.fault_listeners = lambda _task: (wait_for_the_rest,)
    job = definitions.defs.resolve_job_def("vendor_reconciliation__task_run")
    print("ready", flush=True)  # noqa: T201 - whoever started this waits for it
    sys.stdin.readline()
    with dg.DagsterInstance.get() as instance:
        job.execute_in_process(instance=instance, partition_key=period, tags=TAGS[n], raise_on_error=False)


def _stood_back() -> int:
    journal = Journal(looking=True)
    try:
        with journal.reader.connect() as db:
            return db.execute(sa.select(sa.func.count()).select_from(t.stood_back)).scalar_one()
    finally:
        journal.close()


if __name__ == "__main__":
    main()
