"""`python -m bench`: the budgets of the design, measured, as one JSON document on standard output."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.measures.check_plan import check_plan
from bench.measures.compile_plan import compile_plan
from bench.measures.import_cost import import_cost
from bench.measures.load import load
from bench.measures.reconcile import reconcile
from bench.measures.step_cost import step_cost
from bench.scene import scene
from bench.timing import Measured

Measure = Callable[[argparse.Namespace, Path], tuple[Measured, ...]]

MEASURES: dict[str, Measure] = {
    "check_plan": lambda o, at: (check_plan(scene(at, rows=10, max_steps=o.steps), steps=o.steps, runs=o.runs),),
    "compile_plan": lambda o, at: (compile_plan(scene(at, rows=10, max_steps=o.steps), steps=o.steps, runs=o.runs),),
    "import_cost": lambda o, _: (import_cost(runs=o.runs),),
    "step_cost": lambda o, at: (step_cost(scene(at, rows=o.step_rows), steps=o.chain, rows=o.step_rows, runs=o.runs),),
    "load": lambda o, at: (load(scene(at, rows=o.rows), rows=o.rows, runs=o.runs),),
    "reconcile": lambda o, at: reconcile(scene(at, rows=o.rows), rows=o.rows, runs=o.runs),
}
"""By name, in the order in which they are run; what is quick comes first."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what is asked for and print the document. Whether a budget is kept is said, and no exit code."""
    options = _parser().parse_args(arguments)
    warnings.filterwarnings("ignore", category=UserWarning)  # Dagster's previews, said by the tests
    before = dict(os.environ)
    try:
        measured = [one.as_json() for name in options.only or MEASURES for one in _measure(name, options)]
    finally:
        os.environ.clear()
        os.environ.update(before)
    print(json.dumps({"version": 1, "machine": _machine(), "runs": options.runs, "measured": measured}, indent=2))
    return 0


def _measure(name: str, options: argparse.Namespace) -> Iterator[Measured]:
    print(f"measuring {name}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="planexec-bench-") as folder:
        yield from MEASURES[name](options, Path(folder))


def _machine() -> dict[str, Any]:
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("dagster", "dagster-planexec", "duckdb", "pyarrow")},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each side (load, reconcile)")
    parser.add_argument("--steps", type=int, default=1_000, help="steps of the long plan (check_plan, compile_plan)")
    parser.add_argument("--chain", type=int, default=10, help="steps of the plan that is run (step_cost)")
    parser.add_argument("--step-rows", type=int, default=61_400, help="rows that each of its steps copies (step_cost)")
    parser.add_argument("--runs", type=int, default=5, help="rounds; the median counts")
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="MEASURE", help=f"any of {', '.join(MEASURES)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
