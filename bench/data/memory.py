"""How much memory a load and a reconciliation hold at most, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench.child import Ran, run
from bench.scene import Scene
from bench.timing import Measured

CAP_TIMES = 10
"""A file so many times as large as the warehouse's memory cap loads."""
_JOBS = {
    "load_memory": {"duckdb": "load_duckdb", "with_every_check": "load_with_every_check"},
    "reconcile_memory": {"join": "reconcile_join", "with_everything": "reconcile_with_everything"},
}


def memory(on: Scene, *, rows: int, runs: int) -> Iterator[Measured]:
    """The peak with every check; beside it that of the bare work. DuckDB may take what it likes."""
    for name, jobs in _JOBS.items():
        ran: dict[str, list[Ran]] = {case: [] for case in jobs}
        for _ in range(runs):
            for case, job in jobs.items():
                ran[case].append(run(job, on.folder))
        results = {str(one.result) for found in ran.values() for one in found}
        assert len(results) == 1, results
        peaks = {case: median(one.peak_mb for one in found) for case, found in ran.items()}
        value = list(peaks.values())[-1]
        yield Measured(name, value, "MB", None, peaks, runs, {"rows": rows}, medians_in="MB")


def capped_load(on: Scene, *, rows: int, cap_mb: int, times: float) -> Measured:
    """The peak of a load whose warehouse may take so much memory, of a file that is so many times as large.

    The process may hold twice the cap and 200 MB: the interpreter with all its libraries takes some 150 MB before it
    has loaded anything.
    """
    landed = on.landed()
    assert landed.facts.size >= cap_mb * 1_000_000 * times, landed.facts.size
    ran = run("load_with_every_check", on.folder, memory_limit=f"{cap_mb}MB")
    (expected,) = on.run("select count(*), sum(amount) from staging.vendor")
    assert [expected[0], str(expected[1])] == ran.result, ran.result
    return Measured(
        "capped_load_memory",
        ran.peak_mb,
        "MB",
        2 * cap_mb + 200,
        {"with_every_check": ran.peak_mb},
        1,
        {"rows": rows, "file_mb": landed.facts.size // 1_000_000, "cap_mb": cap_mb},
        medians_in="MB",
    )
