"""`python -m bench.child JOB FOLDER`: one job over a scene in a process of its own; its time and peak memory as JSON.

What is imported, and what was read to prepare, is in the peak and not in the time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Ran:
    """What one process did."""

    seconds: float
    peak_mb: float
    result: Any
    """What came out of it, for comparison."""


def run(job: str, folder: Path, *, memory_limit: str | None = None, keys: int | None = None) -> Ran:
    """Run a job of this project in a fresh process.

    Args:
        job: A name of `JOBS`.
        folder: The folder of a scene.
        memory_limit: The warehouse's.
        keys: Keys in the drop.
    """
    more = [] if memory_limit is None else ["--memory-limit", memory_limit]
    more += [] if keys is None else ["--keys", str(keys)]
    return spawn([sys.executable, "-m", "bench.child", job, str(folder), *more])


def spawn(command: list[str]) -> Ran:
    """Run a command that prints `seconds`, `peak_mb` and `result` as JSON in its last line."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=os.environ)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:3])} ended with {done.returncode}: {done.stderr[-2000:]}")
    return Ran(**json.loads(done.stdout.splitlines()[-1]))


def peak_mb() -> float:
    """The most memory that this process has held, in units of 1,000,000 bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` says there was handed down by the parent, and may be the parent's
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def main(arguments: list[str] | None = None) -> int:
    """Prepare, run, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.child", description=__doc__)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory-limit")
    parser.add_argument("--keys", type=int)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=UserWarning)
    job, result = JOBS[options.job](options)
    began = time.perf_counter()
    job()
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "result": result()}))
    return 0


_Job = tuple[Callable[[], object], Callable[[], object]]
"""The job, and what says its result."""
_Prepare = Callable[[argparse.Namespace], _Job]


def _load(way: str) -> _Prepare:
    def prepare(options: argparse.Namespace) -> _Job:
        import pyarrow.csv  # noqa: F401, PLC0415 - not to be timed

        from bench.data.load import Load  # noqa: PLC0415 - each job loads what it needs
        from bench.scene import opened  # noqa: PLC0415

        made = Load(opened(options.folder, memory_limit=options.memory_limit))
        made.make_table()
        return getattr(made, way), made.loaded

    return prepare


def _reconcile(way: str) -> _Prepare:
    def prepare(options: argparse.Namespace) -> _Job:
        from bench.data.reconcile import Reconcile  # noqa: PLC0415 - each job loads what it needs
        from bench.scene import opened  # noqa: PLC0415

        made = Reconcile(opened(options.folder, memory_limit=options.memory_limit))
        made.prepare()
        return getattr(made, way), made.found

    return prepare


def _ticks(options: argparse.Namespace) -> _Job:
    from bench.arrivals.tick import two_ticks  # noqa: PLC0415 - each job loads what it needs

    found: list[int] = []
    return lambda: found.extend(two_ticks(options.folder, options.keys)), lambda: found


JOBS = {
    "load_duckdb": _load("duckdb"),
    "load_with_every_check": _load("with_every_check"),
    "reconcile_join": _reconcile("join"),
    "reconcile_with_everything": _reconcile("everything"),
    "ticks": _ticks,
}

if __name__ == "__main__":
    sys.exit(main())
