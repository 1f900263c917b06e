"""A run for people: one line per step, one line per check that matters, the sentence, the hint."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_COLOURS = {
    "done": "green", "reused": "cyan", "failed": "bold red", "held": "yellow", "not-run": "dim",
    "succeeded": "bold green", "stopped": "bold red", "rejected": "bold red", "error": "bold red",
}  # fmt: skip
_SHUT = {"failed", "errored", "not-evaluated"}


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def progress() -> Console:
    """Where progress goes: standard error, so that standard output stays what was asked for."""
    return Console(stderr=True, highlight=False)


def print_run(document: Mapping[str, Any], *, console: Console | None = None) -> None:
    """A run's document as a table with one-line hints."""
    out = console or Console(highlight=False)
    plan = document["plan"]
    out.print(
        f"[bold]{escape(document['task'])}[/] {document['partition']}   plan {(plan['digest'] or 'none')[:12]} "
        f"by {escape(str(plan['planner']))}: {escape(str(plan['author']))}"
    )
    if document["steps"]:
        out.print(_steps(document["steps"]))
    for finding in document["findings"]:
        where = " ".join(str(part) for part in (finding["step"], finding["field"]) if part)
        out.print(
            Text(f"  {finding['code']} {where}: expected {finding['expected']}; saw {finding['seen']}", "red"
                 if finding.get("severity", "error") == "error" else "yellow")
        )  # fmt: skip
    _figures(out, document)
    status = document["status"]
    code = f" {document['code']}" if document["code"] else ""
    out.print(Text(f"{status.upper()}{code}", _COLOURS[status]), Text(document.get("text") or ""))
    if document["hint"]:
        out.print(Text(f"hint: {document['hint']}", "italic"))
    if document["task_run_id"]:
        out.print(Text(f"runs: task {document['task_run_id']}, plan {document['plan_run_id'] or 'none'}", "dim"))


def _steps(steps: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("step", "tool", "outcome", "tries", "time", "checks", "what was seen", box=None, pad_edge=False)
    for step in steps:
        shut = [c for c in step["checks"] if c["verdict"] in _SHUT]
        seen = shut[0]["text"] if shut else (step["reason"] or "")
        code = f" {step['code']}" if step["code"] else ""
        passed = sum(1 for c in step["checks"] if c["verdict"] not in _SHUT)
        table.add_row(
            Text(step["id"]), Text(step["tool"], "dim"), Text(f"{step['outcome']}{code}", _COLOURS[step["outcome"]]),
            str(step["tries"] or ""), f"{step['duration_s']:.1f} s" if step["tries"] else "",
            f"{passed}/{len(step['checks'])}" if step["checks"] else "", Text(str(seen)[:160]),
        )  # fmt: skip
    return table


def _figures(out: Console, document: Mapping[str, Any]) -> None:
    recon, credits_ = document["reconciliation"], document["credits"]
    counts = {name: value for name, value in recon.items() if name != "sums"}
    if any(counts.values()):
        out.print("  " + ", ".join(f"{escape(name.replace('_', ' '))} {value:,}" for name, value in counts.items()))
    if credits_["issued_count"] or credits_["held_count"]:
        held = f", held {credits_['held_count']:,} ({credits_['held_amount']})" if credits_["held_count"] else ""
        hold = f" as {credits_['hold_id']}" if credits_["hold_id"] else ""
        out.print(f"  credits issued {credits_['issued_count']:,} ({credits_['issued_amount']}){held}{hold}")
    if document["report"]["md"]:
        out.print(f"  report {escape(document['report']['md'])}", soft_wrap=True)
