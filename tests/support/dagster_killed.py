"""Materialises one month in Dagster and kills its own process at the n-th journal event: `python -m ... N PERIOD`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import dagster as dg

import assets.binding
from assets.demo.world import DemoWorld
from tests.support.flagship import materialise
from tests.support.killed import Killer, Point


def main() -> None:
    """Does not come back if its point comes."""
    # The task run and the plan run inside it tell the same listener; the binding asks for it by this name.
    killer = Killer(Point(int(sys.argv[1])))
    assets.binding.fault_listeners = lambda _task: (killer,)
    world = DemoWorld(Path(os.environ["PLANEXEC_HOME"]), os.environ["AWS_ENDPOINT_URL"], period=sys.argv[2])
    with dg.DagsterInstance.get() as instance:
        materialise(instance, world)


if __name__ == "__main__":
    main()
