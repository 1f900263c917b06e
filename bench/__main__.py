"""`python -m bench`: the budgets of the design, measured, as one JSON document on standard output.

A full run takes some ten minutes on two quiet cores, the largest size most of it. Whether budgets are kept is said in
the document, and is no exit code: times belong to the machine they were measured on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.catalogue import MEASURES, Sizes
from bench.machine import machine, peers
from bench.timing import Measured
from bench.told.page import page

VERSION = 2


def main(arguments: list[str] | None = None) -> int:
    """Measure what is asked for, print the document, and write what is to be written."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.saved is not None:
        document = json.loads(options.saved.read_text(encoding="utf-8"))
    else:
        document = _measured(options)
        print(json.dumps(document, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.page is not None:
        options.page.write_text(page(document), encoding="utf-8")
    return 0


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    warnings.filterwarnings("ignore", category=UserWarning)  # Dagster's previews, said by the tests
    before, began, load = dict(os.environ), time.monotonic(), os.getloadavg()
    others = peers(options.peers) if options.peers is not None else {}
    names = [name for name in MEASURES if options.only is None or name in options.only]
    left_out = [{"name": name, "why": why} for name in names if (why := MEASURES[name].needs(others))]
    skipped = {entry["name"] for entry in left_out}
    found: list[Measured] = []
    try:
        with tempfile.TemporaryDirectory(prefix="planexec-bench-") as folder:
            sizes = Sizes(Path(folder), options)
            for name in names:
                if name not in skipped:
                    found += _told(name, sizes)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return {
        "version": VERSION,
        "machine": machine() | others,
        "load_average_before": round(load[0], 2),
        "took_s": round(time.monotonic() - began),
        "measured": [one.as_json() for one in found],
        "left_out": left_out,
    }


def _told(name: str, sizes: Sizes) -> Iterable[Measured]:
    print(f"measuring {name}", file=sys.stderr, flush=True)
    began = time.monotonic()
    found = tuple(MEASURES[name].measure(sizes))
    print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[1_000_000, 5_000_000], metavar="N",
        help="rows of each side, one figure for each size (load, reconcile, memory; peers: the first)",
    )  # fmt: skip
    parser.add_argument("--steps", type=int, default=1_000, help="steps of the long plan (check_plan, compile_plan)")
    parser.add_argument("--chain", type=int, default=10, help="steps of the plan that is run (step_cost)")
    parser.add_argument("--step-rows", type=int, default=61_400, help="rows that each of its steps copies (step_cost)")
    parser.add_argument("--keys", type=int, default=100_000, help="keys in the drop (tick)")
    parser.add_argument("--cap-mb", type=int, default=64, help="memory that a warehouse may take (capped_load)")
    parser.add_argument("--cap-times", type=float, default=10, help="so many times as large is its file (capped_load)")
    parser.add_argument("--runs", type=int, default=5, help="rounds, of which the median counts; 3 for large sizes")
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="MEASURE", help=f"any of {', '.join(MEASURES)}")
    parser.add_argument(
        "--peers", type=Path, metavar="PYTHON",
        help="the interpreter of an environment with `.[peers]` in it; without, peers are left out",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the document there, too")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page made of the document there")
    parser.add_argument(
        "--from", dest="saved", type=Path, metavar="FILE", help="take the document from there; nothing is measured"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
