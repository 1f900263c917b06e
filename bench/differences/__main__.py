"""`python -m bench.differences --peers PYTHON`: writes docs/datacompy.md from what both comparers answer now.

PYTHON is an interpreter that has datacompy with its Polars engine; it pins versions that this project does not use.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.differences.cases import CASES, Case
from dagster_planexec.cli.trying.bench import bench
from dagster_planexec.cli.trying.compared import compared_document
from dagster_planexec.cli.trying.sides import load_try_spec, try_sides

PAGE = Path(__file__).resolve().parents[2] / "docs" / "datacompy.md"
_CONTRACT = """name: lines
version: "1"
columns:
  - {name: key, type: text}
  - {name: amount, type: decimal, precision: 20, scale: 2}
key: [key]
amount: amount
date: null
currency: USD
min_rows: 0
"""
_WORDS = ("identical", "amount_differs", "ledger_only", "vendor_only", "duplicate_key", "null_key")


def ours(case: Case) -> str:
    """What `planexec reconcile` answers, in a few words."""
    with tempfile.TemporaryDirectory() as scratch, bench() as here:
        folder = Path(scratch)
        for side, rows in (("ledger", case.ledger), ("vendor", case.vendor)):
            text = "key,amount\n" + "".join(f"{key},{amount}\n" for key, amount in rows)
            (folder / f"{side}.csv").write_text(text)
        unique = "" if case.match == "one-to-one" else "unique_key: false\n"
        (folder / "contract.yaml").write_text(_CONTRACT + unique)
        tolerance = f', "tolerance": {{"absolute": "{case.tolerance}"}}' if case.tolerance else ""
        (folder / "spec.yaml").write_text(
            f'vendor: contract.yaml\nledger: contract.yaml\nreconcile: {{"match": "{case.match}"{tolerance}}}\n'
        )
        spec, vendor, ledger = load_try_spec(folder / "spec.yaml")
        files = {side: folder / f"{side}.csv" for side in ("vendor", "ledger")}
        document = compared_document(here, try_sides(here, spec, vendor, ledger, files, None))
    counts = [f"{document['statuses'][word]['lines']} {word}" for word in _WORDS
              if document["statuses"].get(word, {}).get("lines")]  # fmt: skip
    if document["outcome"] == "accept":
        return ", ".join(counts)
    side = f" ({document['side']})" if document["side"] else ""
    return f"**{document['code']}**{side}" + (f"; {', '.join(counts)}" if counts else "")


def theirs(answer: Mapping[str, Any]) -> str:
    """One answer of datacompy, in the same words."""
    if "raises" in answer:
        return f"raises {answer['raises']}"
    words = {"equal": "identical", "unequal": "amount_differs"}
    counts = [f"{answer[k]} {words.get(k, k)}" for k in ("equal", "unequal", "ledger_only", "vendor_only") if answer[k]]
    return ("match" if answer["matches"] else "no match") + (f"; {', '.join(counts)}" if counts else "; no rows")


def page(answers: Mapping[str, Any], version: str) -> str:
    """The page."""
    lines = [
        "# Beside datacompy",
        "",
        f"<!-- Made by `python -m bench.differences --peers PYTHON` with datacompy {version}; do not edit. -->",
        "",
        f"What datacompy {version} and `planexec reconcile` say of the same small files. Both engines of datacompy",
        "were asked, once as they type a CSV by themselves (*sniffed*), and once with keys as text and amounts as",
        "exact decimals (*declared*). Where both engines agree they share a line.",
        "",
        "datacompy compares two frames, and says how they differ. Whether the frames are what was delivered is not its",
        "business: an empty side, a repeated key, a line without a key come out as differences, or as agreement.",
        "`planexec reconcile` loads both files by their contracts first, and refuses what cannot be compared before it",
        "counts anything.",
        "",
    ]
    for case in CASES:
        found = answers[case.name]
        lines += [f"## {case.name[0].upper()}{case.name[1:]}", "", case.why, "", *_table(case, found), ""]
    lines += [
        "## Where the two agree",
        "",
        "On unique keys declared as text and amounts declared as decimals both count the same lines; the benchmark in",
        "[performance.md](performance.md) compares their results before it compares their times.",
        "",
    ]
    return "\n".join(lines)


def _table(case: Case, found: Mapping[str, Any]) -> list[str]:
    rows = ["| who | answer |", "|---|---|", f"| `planexec reconcile` | {ours(case)} |"]
    for reading in ("sniffed", "declared"):
        told = {engine: theirs(found[engine][reading]) for engine in found}
        if len(set(told.values())) == 1:
            rows.append(f"| datacompy, {reading} | {next(iter(told.values()))} |")
        else:
            rows += [f"| datacompy on {engine}, {reading} | {text} |" for engine, text in told.items()]
    return rows


def main() -> None:
    """Ask both, write the page."""
    if sys.argv[1:2] != ["--peers"] or len(sys.argv) != 3:  # noqa: PLR2004 - the option and its value
        sys.exit("usage: python -m bench.differences --peers PYTHON")
    cases = [{"name": c.name, "ledger": c.ledger, "vendor": c.vendor, "tolerance": c.tolerance} for c in CASES]
    script = Path(__file__).with_name("datacompy_side.py")
    done = subprocess.run(
        [sys.argv[2], str(script)], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    PAGE.write_text(page(found["answers"], found["version"]), encoding="utf-8")


if __name__ == "__main__":
    main()
