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
    """A run's document as a table with one-line hints."""
    out = console or paper()
    plan = document["plan"]
    out.print(
        f"[bold]{escape(document['task'])}[/] {document['partition']}   plan {(plan['digest'] or 'none')[:12]} "
        f"by {escape(str(plan['planner']))}: {escape(str(plan['author']))}"
        + ("" if plan.get("model_called") else "; no model was called")
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
    shut = next((c for s in document["steps"] for c in s["checks"] if c["verdict"] in _SHUT), None)
    said = document.get("text") or ""
    if shut is not None and status != "succeeded":
        said = f"{shut['check']}: {shut['text']}"
    out.print(Text(f"{status.upper()}{code}", _COLOURS[status]), Text(said))
    if shut is not None and status != "succeeded":
        for side, words in (("expected", shut["expected"]), ("saw", shut["observed"])):
            out.print(Text(f"  {side} {str(words['value'])[:200]}", "bold"), Text(f"from {words['source']}", "dim"))
    if document["hint"]:
        out.print(Text(f"hint: {document['hint']}", "italic"))
    if document["task_run_id"]:
        out.print(Text(f"runs: task {document['task_run_id']}, plan {document['plan_run_id'] or 'none'}", "dim"))


def _steps(steps: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("step", "tool", "outcome", "tries", "time", "checks", "what was seen", box=None, pad_edge=False)
    for step in steps:
        shut = [c for c in step["checks"] if c["verdict"] in _SHUT]
        said = step["reason"] or "" if step["outcome"] in _ENDS else ""
        seen = shut[0]["text"] if shut else said
        code = f" {step['code']}" if step["code"] else ""
        passed = sum(1 for c in step["checks"] if c["verdict"] not in _SHUT)
        outcome = Text(f"{step['outcome']}{code}", _COLOURS[step["outcome"]], no_wrap=True)
        table.add_row(
            Text(step["id"], no_wrap=True), Text(step["tool"], "dim", no_wrap=True), outcome,
            str(step["tries"] or ""), f"{step['duration_s']:.1f} s" if step["tries"] else "",
            f"{passed}/{len(step['checks'])}" if step["checks"] else "", Text(str(seen)[:160]),
        )  # fmt: skip
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
        out.print(f"  credits issued {credits_['issued_count']:,} ({credits_['issued_amount']}){held}{hold}")
    if document["report"]["md"]:
        out.print(f"  report {escape(document['report']['md'])}", soft_wrap=True)
