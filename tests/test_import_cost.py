"""`import dagster_planexec` stays cheap: what is heavy is imported where it is needed, when it is."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "boto3",
    "duckdb",
    "great_expectations",
    "matplotlib",
    "moto",
    "openai",
    "pandas",
    "pyarrow",
    "sqlglot",
)
IMPORTED = "import json, sys; import dagster_planexec; print(json.dumps(sorted(sys.modules)))"


def test_import_of_the_package_brings_nothing_heavy():
    # A fresh interpreter: other tests have imported all of these into this one.
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"`import dagster_planexec` failed:\n{done.stderr}"

    found = sorted(set(HEAVY) & set(json.loads(done.stdout)))

    assert found == [], (
        f"`import dagster_planexec` imports {', '.join(found)}; it must import none of {', '.join(HEAVY)}\n\n"
        f"hint: python -c \"import sys; sys.modules['{found[0]}'] = None; import dagster_planexec\"\n"
        "      fails where the import is made; move it into the function that needs it"
    )
