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

_ENDS = {"failed", "held"}
_COLOURS = {
    "done": "green", "reused": "cyan", "failed": "bold red", "held": "yellow", "not-run": "dim",
    "succeeded": "bold green", "stopped": "bold red", "rejected": "bold red", "error": "bold red",
}  # fmt: skip
WIDTH = 140
NARROW = 110
"""Columns below which tool, tries and time make room for what was seen."""
_COLUMNS = ("step", "tool", "outcome", "tries", "time", "checks", "what was seen")
_SEEN = 160
_SHUT = {"failed", "errored", "not-evaluated"}


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def progress() -> Console:
    """Where progress goes: standard error, so that standard output stays what was asked for."""
    # The stream itself and not its name: a run redirects the name to a file.
    return Console(file=sys.stderr, highlight=False)


def paper() -> Console:
    """Where answers for people go: as wide as the terminal, and wide enough for a table where there is none."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=WIDTH)


def print_run(document: Mapping[str, Any], *, console: Console | None = None) -> None:
    """A run's document: its plan, a line per step, what was found, how it ended, and the next thing to do."""
    out = console or paper()
    plan = document["plan"]
    if plan["planner"]:
        said = "" if plan["model_called"] else "; no model was called"
        named = f"plan {(plan['digest'] or 'none')[:12]} by {plan['planner']}: {plan['author']}{said}"
        out.print(Text(f"{document['task']} {document['partition']}", "bold"), Text(named), soft_wrap=True)
    if document["steps"]:
        out.print(_steps(document["steps"], narrow=out.width < NARROW))
    for finding in document["findings"]:
        _finding(out, finding)
    _figures(out, document)
    _end(out, document)


def _finding(out: Console, finding: Mapping[str, Any]) -> None:
    where = " ".join(str(part) for part in (finding["step"], finding["field"]) if part)
    colour = "red" if finding.get("severity", "error") == "error" else "yellow"
    both = f"expected {finding['expected']}; saw {finding['seen']}"
    out.print(Text(f"  {finding['code']} {where}: {both}", colour), soft_wrap=True)
    if finding["hint"]:
        out.print(Text(f"    {finding['hint']}", "italic"), soft_wrap=True)


def _end(out: Console, document: Mapping[str, Any]) -> None:
    status = document["status"]
    code = f" {document['code']}" if document["code"] else ""
    shut = next((c for s in document["steps"] for c in s["checks"] if c["verdict"] in _SHUT), None)
    said = document["text"] or ""
    if shut is not None and status != "succeeded":
        said = f"{shut['check']}: {shut['text']}"
    out.print(Text(f"{status.upper()}{code}", _COLOURS[status]), Text(said), soft_wrap=True)
    if shut is not None and status != "succeeded":
        for side, words in (("expected", shut["expected"]), ("saw", shut["observed"])):
            value = Text(f"  {side} {str(words['value'])[:200]}", "bold")
            out.print(value, Text(f"from {words['source']}", "dim"), soft_wrap=True)
    if document["hint"]:
        hint = document["hint"].replace("HOLD`", f"{document['credits']['hold_id'] or 'HOLD'}`")
        out.print(Text(f"hint: {hint}", "italic"), soft_wrap=True)
    if document["task_run_id"]:
        runs = f"runs: task {document['task_run_id']}, plan {document['plan_run_id'] or 'none'}"
        out.print(Text(runs, "dim"), soft_wrap=True)


def _steps(steps: Sequence[Mapping[str, Any]], *, narrow: bool) -> Table:
    names = ("step", "outcome", "checks", "what was seen") if narrow else _COLUMNS
    table = Table(*names, box=None, pad_edge=False)
    for step in steps:
        shut = [c for c in step["checks"] if c["verdict"] in _SHUT]
        said = step["reason"] or "" if step["outcome"] in _ENDS else ""
        seen = str(shut[0]["text"] if shut else said)
        code = f" {step['code']}" if step["code"] else ""
        passed = sum(1 for c in step["checks"] if c["verdict"] not in _SHUT)
        cells: dict[str, str | Text] = {
            "step": Text(step["id"], no_wrap=True),
            "tool": Text(step["tool"], "dim", no_wrap=True),
            "outcome": Text(f"{step['outcome']}{code}", _COLOURS[step["outcome"]], no_wrap=True),
            "tries": str(step["tries"] or ""),
            "time": f"{step['duration_s']:.1f} s" if step["tries"] else "",
            "checks": f"{passed}/{len(step['checks'])}" if step["checks"] else "",
            "what was seen": Text(seen if len(seen) <= _SEEN else f"{seen[:_SEEN]}..."),
        }
        table.add_row(*(cells[name] for name in names))
    return table


def _figures(out: Console, document: Mapping[str, Any]) -> None:
    recon, credits_ = document["reconciliation"], document["credits"]
    names = sorted((name for name in recon if name != "sums"), key=lambda name: not name.endswith("_rows"))
    counts = {name: recon[name] for name in names}
    if any(counts.values()):
        out.print("  " + ", ".join(f"{escape(name.replace('_', ' '))} {value:,}" for name, value in counts.items()))
    if credits_["issued_count"] or credits_["held_count"]:
        held = f", held {credits_['held_count']:,} ({credits_['held_amount']})" if credits_["held_count"] else ""
        hold = f" as {credits_['hold_id']}" if credits_["hold_id"] else ""
        money = f" {credits_['currency']}" if credits_["currency"] else ""
        out.print(f"  credits issued {credits_['issued_count']:,} ({credits_['issued_amount']}{money}){held}{hold}")
    if document["report"]["md"]:
        out.print(f"  report {escape(document['report']['md'])}", soft_wrap=True)
