"""What `import dagster_planexec` costs beside `import dagster`, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from bench.timing import Measured, medians

BUDGET = 1.15
_IMPORTS = {
    "interpreter": "pass",
    "dagster": "import dagster",
    "planexec": "import dagster_planexec",
    "both": "import dagster, dagster_planexec",
}


def import_cost(*, runs: int) -> Measured:
    """The costlier of `import dagster_planexec` alone and after `import dagster`, against `import dagster`.

    Alone it may be far cheaper than Dagster, because it imports nothing before it is used; beside Dagster it must
    add next to nothing. Counted is the time the processor spent: an import waits for nothing, but for its turn.
    """
    found = medians({name: partial(_run, code) for name, code in _IMPORTS.items()}, runs, clock=_spent_by_children)
    ours = max(found["planexec"], found["both"])
    return Measured("import_cost", ours / found["dagster"], "ratio", BUDGET, found, runs)


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _spent_by_children() -> float:
    times = os.times()
    return times.children_user + times.children_system
