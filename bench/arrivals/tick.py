"""How long a tick of the arrival sensor takes over a large drop, and whether its memory grows with the drop."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from bench.arrivals.many_keys import Watch
from bench.child import run
from bench.timing import Measured, medians

BUDGET_S = 5.0
FLAT = 1.1
_FEWER = 10


def tick(folder: Path, *, keys: int, runs: int) -> Iterator[Measured]:
    """The slower of the first tick, which writes every key down, and a later one; then the peaks of both sizes."""
    home = folder / "home"
    with _instance(folder / "dagster") as instance:
        watch = Watch(folder, instance, keys)

        def anew() -> None:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            os.environ["PLANEXEC_HOME"] = str(home)

        found = medians({"first": watch.tick, "later": watch.tick}, runs, before={"first": anew})
    size = {"keys": keys}
    yield Measured("tick", max(found.values()), "s", BUDGET_S, found, runs, size)
    peaks = {f"{count}_keys": _peak(folder / f"of-{count}", count) for count in (keys // _FEWER, keys)}
    few, many = peaks.values()
    yield Measured("tick_memory", many / few, "ratio", FLAT, peaks, 1, size, medians_in="MB")


def _peak(folder: Path, keys: int) -> float:
    folder.mkdir()
    os.environ["PLANEXEC_HOME"] = str(folder)
    return run("ticks", folder, keys=keys).peak_mb


def two_ticks(folder: Path, keys: int) -> list[int]:
    """The first and a later one; how many runs each asks for."""
    with _instance(folder / "dagster") as instance:
        watch = Watch(folder, instance, keys)
        return [len(watch.tick().run_requests or []) for _ in range(2)]


def _instance(folder: Path) -> dg.DagsterInstance:
    folder.mkdir()
    return dg.DagsterInstance.local_temp(str(folder), overrides={"telemetry": {"enabled": False}})
