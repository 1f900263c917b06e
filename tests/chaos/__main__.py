"""`make chaos`: the flagship killed with SIGKILL at each of 50 points, then run again; a sample of them in Postgres.

Then 100 months over each credit system, killed one to three times at the boundaries of `issue_credit`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from tests.support.effects_killed import rounds
from tests.support.flagship import CREDENTIALS, SMALL, TASK
from tests.support.killed import Point, one_home, points, struck
from tests.support.postgres import running

POINTS = 50
IN_POSTGRES = 10
EFFECTS = 100
"""Months whose credits are issued while the process is killed, over each target."""


def main() -> int:
    """How many points were not survived."""
    os.environ.update(CREDENTIALS)
    failed = 0
    with tempfile.TemporaryDirectory() as folder, LocalS3() as s3, running() as postgres:
        seeded = Path(folder) / "seeded"
        DemoWorld(seeded, s3.endpoint).seed()

        def at(place: str, n: int, point: Point) -> int:
            home = Path(folder) / f"{place}{n}"
            os.environ["PLANEXEC_HOME"] = str(home)
            if place == "postgres":
                os.environ["PLANEXEC_JOURNAL_DEFAULT"] = postgres.url(postgres.database())
            began = time.monotonic()
            with one_home(seeded, home, s3.endpoint, SMALL) as world:
                wrong = struck(world, TASK, point)
            os.environ.pop("PLANEXEC_JOURNAL_DEFAULT", None)
            later = f" + {point.later_s * 1000:.1f} ms" if point.later_s else ""
            said = "; ".join(wrong) or "ok"
            took = time.monotonic() - began
            where = f"{place:8} event {point.event:3}{later:12} {point.name:32}"
            print(f"{where} {took:5.1f} s  {said}", flush=True)  # noqa: T201 - this is what it is for
            return bool(wrong)

        os.environ["PLANEXEC_HOME"] = str(Path(folder) / "whole")
        with one_home(seeded, Path(folder) / "whole", s3.endpoint, SMALL) as world:
            chosen = points(world, POINTS)
        failed += sum(at("sqlite", n, point) for n, point in enumerate(chosen))
        failed += sum(at("postgres", n, point) for n, point in enumerate(chosen[:: POINTS // IN_POSTGRES]))
        failed += rounds(Path(folder) / "effects", EFFECTS, told=_say)
    _say(f"{len(chosen)} points in SQLite, {IN_POSTGRES} in Postgres, {EFFECTS} months over each of two targets:")
    _say(f"{failed} not survived")
    return min(failed, 1)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is what it is for


if __name__ == "__main__":
    sys.exit(main())
