"""The year's task with its parts. A run waits at a step for as long as a test wants it to."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from assets.binding import bind
from assets.vendor_reconciliation.task import FOLDER
from dagster_planexec import PlannedTask
from tests.projects.year.task import TASK

WAIT_S = 0.05


def waiting_room(home: Path, step: str) -> Path:
    """While this file exists, whichever run comes to the step waits there. Its `.reached` says that one does."""
    return home / "waiting" / step


def _wait(kind: str, step: str | None) -> None:
    """A slow step, made of nothing but the time it takes."""
    if kind != "step-started" or step is None:
        return
    room = waiting_room(Path(os.environ["PLANEXEC_HOME"]), step)
    while room.exists():
        room.with_suffix(".reached").touch()
        time.sleep(WAIT_S)


def _bound() -> PlannedTask:
    planned = bind(TASK, ref="tests.projects.year.binding:YEAR", folder=FOLDER)
    return PlannedTask(replace(planned.binding, listeners=lambda: (_wait,)), planned.planner)


YEAR = _bound()
