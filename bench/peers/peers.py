"""Beside others who do this: dlt loads the same file, datacompy compares the same sides. Each in its own process.

Peers have their own environment: they pin versions that this project does not use. What each makes is compared with
what this project makes, in every round, before any time counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

from bench.child import Ran, run, spawn
from bench.scene import Scene
from bench.timing import Measured

DLT_FASTER = 3.0
DATACOMPY_FASTER = 5.0
DATACOMPY_LEANER = 1.0
_HERE = Path(__file__).parent
_SIDES = {
    "ledger": "select * exclude (currency) from staging.ledger",
    "vendor": "select * exclude (invoice_line) from staging.vendor",
}


def beside_dlt(on: Scene, python: Path, *, rows: int, runs: int) -> Iterator[Measured]:
    """A load with every check, beside dlt's load without any."""
    file = on.ports.roots.landed_path(on.landed().sha256)
    ran = _rounds(
        {
            "dlt": lambda: spawn([str(python), str(_HERE / "dlt_side.py"), str(file)]),
            "with_every_check": lambda: run("load_with_every_check", on.folder),
        },
        runs,
    )
    seconds = {case: median(one.seconds for one in found) for case, found in ran.items()}
    faster = seconds["dlt"] / seconds["with_every_check"]
    yield Measured("faster_than_dlt", faster, "ratio", DLT_FASTER, seconds, runs, {"rows": rows}, "at least")


def beside_datacompy(on: Scene, python: Path, *, rows: int, runs: int) -> Iterator[Measured]:
    """A reconciliation from tables on disk with everything that follows it, beside a comparison in memory."""
    for side, query in _SIDES.items():
        on.run(f"copy ({query}) to '{on.folder / side}.parquet'")
    script = str(_HERE / "datacompy_side.py")

    def engine(name: str) -> Callable[[], Ran]:
        return lambda: spawn([str(python), script, name, str(on.folder)])

    ran = _rounds(
        {
            "datacompy_pandas": engine("pandas"),
            "datacompy_polars": engine("polars"),
            "join": lambda: run("reconcile_join", on.folder),
            "with_everything": lambda: run("reconcile_with_everything", on.folder),
        },
        runs,
    )
    seconds = {case: median(one.seconds for one in found) for case, found in ran.items()}
    peaks = {case: median(one.peak_mb for one in found) for case, found in ran.items()}
    theirs = [case for case in ran if case.startswith("datacompy")]
    quickest, leanest = min(seconds[case] for case in theirs), min(peaks[case] for case in theirs)
    size = {"rows": rows}
    yield Measured(
        "faster_than_datacompy", quickest / seconds["with_everything"], "ratio", DATACOMPY_FASTER, seconds, runs,
        size, "at least",
    )  # fmt: skip
    yield Measured(
        "leaner_than_datacompy", leanest / peaks["with_everything"], "ratio", DATACOMPY_LEANER, peaks, runs, size,
        "at least", medians_in="MB",
    )  # fmt: skip


def _rounds(cases: Mapping[str, Callable[[], Ran]], runs: int) -> dict[str, list[Ran]]:
    """Every case once per round; the first does not count, it fills the caches of the files."""
    ran: dict[str, list[Ran]] = {case: [] for case in cases}
    for _ in range(1 + runs):
        for case, once in cases.items():
            ran[case].append(once())
        results = {case: found[-1].result for case, found in ran.items()}
        assert len({str(result) for result in results.values()}) == 1, results
    return {case: found[1:] for case, found in ran.items()}
