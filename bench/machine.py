"""What the figures were measured on, in general words: no name and no path of a machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

_OURS = ("dagster", "dagster-planexec", "duckdb", "pyarrow")
_PEERS = ("datacompy", "dlt", "pandas", "polars")
_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "found = {d.name.lower(): d.version for d in m.distributions()}\n"
    "print(json.dumps({name: found[name] for name in sys.argv[1:] if name in found}))"
)


def machine() -> dict[str, Any]:
    """Cores, memory, system and versions."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} on {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in _OURS},
    }


def peers(python: Path) -> dict[str, str]:
    """Which peers that interpreter has, with their versions."""
    done = subprocess.run([str(python), "-c", _ASK, *_PEERS], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))
