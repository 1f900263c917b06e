"""A run for people: one line per step, one line per check that matters, the sentence, the hint."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import islice
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.place.home import as_typed_here
from dagster_planexec.journal.told.line import cut, one_line
from dagster_planexec.journal.told.sentence import LONGEST_TOLD

_ENDS = {"failed", "held", "waiting"}
STYLES = {
    "done": "green", "reused": "cyan", "failed": "bold red", "held": "yellow", "waiting": "yellow", "not-run": "dim",
    "succeeded": "bold green", "settled": "green", "stopped": "bold red", "rejected": "bold red", "error": "bold red",
    "stood-back": "yellow",
    "unchanged": "green", "changed": "bold red", "gone": "bold red", "new": "yellow", "not observed": "yellow",
}  # fmt: skip
WIDTH = 140
NARROW = 110
"""Columns below which tool, tries and time make room for what was seen."""
_COLUMNS = ("step", "tool", "outcome", "tries", "time", "checks", "what was seen")
_SEEN = 400
MOST_LINES = 400
"""Lines of JSON that people are shown."""
_LONGEST_FINDING = 1_000
_LONGEST_TEXT, _MOST, _DEEPEST = 200, 100, 7
_BLANKS = re.compile(r"[ ]+$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_SAID = frozenset({"text", "hint"})
_SHUT = {"failed", "errored", "not-evaluated"}


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON document on standard output, and nothing else there."""
    said = with_commands(document) if isinstance(document, Mapping) else document
    sys.stdout.write(json.dumps(said, indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def with_commands(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with commands that work as they stand: what it says and what to do, of the run and of findings."""
    said = {name: as_typed_here(v) if name in _SAID and isinstance(v, str) else v for name, v in document.items()}
    findings = said.get("findings")
    return said | {"findings": [with_commands(one) for one in findings]} if isinstance(findings, list) else said


def print_cut(value: Mapping[str, Any]) -> None:
    """A value for people as JSON of bounded size: long texts, long lists and what lies deep are cut, and say so."""
    console = paper()
    lines = json.dumps(_cut(value), indent=2, ensure_ascii=False).splitlines()
    for line in lines[:MOST_LINES]:
        console.print(Text(line), soft_wrap=True)
    if len(lines) > MOST_LINES:
        console.print(Text(f"… {len(lines) - MOST_LINES} more lines; --json has everything", "dim"))


def _cut(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return one_line(value, _LONGEST_TEXT)
    if isinstance(value, Mapping | list) and value and depth == _DEEPEST:
        return f"… ({len(value)} entries)"
    if isinstance(value, Mapping):
        kept = {one_line(str(k), _LONGEST_TEXT): _cut(v, depth + 1) for k, v in islice(value.items(), _MOST)}
        return kept if len(value) <= _MOST else {**kept, "…": f"{len(value) - _MOST} more; --json has them"}
    if isinstance(value, list):
        first = [_cut(child, depth + 1) for child in value[:_MOST]]
        return first if len(value) <= _MOST else [*first, f"… {len(value) - _MOST} more; --json has them"]
    return value


def progress() -> Console:
    """Where progress goes: standard error, so that standard output stays what was asked for."""
    # The stream itself and not its name: a run redirects the name to a file.
    return _Inert(file=sys.stderr, highlight=False)


def paper() -> Console:
    """Where answers for people go: as wide as the terminal, and wide enough for a table where there is none."""
    out = _Inert(highlight=False)
    return out if out.is_terminal else _Inert(highlight=False, width=WIDTH, file=_Trimmed())


def inert(text: str) -> str:
    """The text without what a terminal obeys or what turns the direction of reading around; line ends stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


class _Inert(Console):
    """A console whose texts cannot move the cursor, change colours or set a title: only its own styles do."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:  # noqa: ANN401 - whatever rich takes
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else inert(text), style, control)


class _Trimmed(StringIO):
    """Standard output without the blanks that fill a table's last column: they are no part of the answer."""

    def write(self, text: str) -> int:
        sys.stdout.write(_BLANKS.sub("", text))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()


def moment(at: str) -> str:
    """An instant of the journal to the second: `2026-03-07 09:12:04 UTC`."""
    return f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def print_run(document: Mapping[str, Any], *, console: Console | None = None) -> None:
    """A run's document: its plan, a line per step, what was found, how it ended, and the next thing to do."""
    out = console or paper()
    plan = document["plan"]
    if plan["planner"]:
        usage = plan.get("usage") or {}
        cost = f", {usage['cost']} USD" if usage.get("cost") else ""
        spent = f"; {usage['tokens_in'] + usage['tokens_out']:,} tokens{cost}" if usage else ""
        said = spent if plan["model_called"] else "; no model was called"
        named = f"plan {(plan['digest'] or 'none')[:12]} by {plan['planner']}: {plan['author']}{said}"
        out.print(Text(f"{document['task']} {document['partition']}", "bold"), Text(named), soft_wrap=True)
    elif document["task_run_id"]:
        # It ended before there was a plan; whose run it was is all the more to be said.
        out.print(Text(f"{document['task']} {document['partition']}", "bold"), Text("no plan"), soft_wrap=True)
    for one in document.get("revisions", ()):
        why = one["text"] or one["trigger"]
        said = f"revision {one['revision']}, plan {one['plan_digest'][:12]}, ended at {one['step']}: {why}"
        out.print(Text(one_line(said, LONGEST_TOLD), "yellow"), soft_wrap=True)
        for change in one.get("changes", ()):
            out.print(Text(f"  {one_line(change, _SEEN)}", "yellow"), soft_wrap=True)
    if document["steps"]:
        out.print(_steps(document["steps"], narrow=out.width < NARROW))
    for finding in document["findings"]:
        if not _is_said(finding, document):
            print_finding(out, finding)
    _figures(out, document)
    _end(out, document)


def print_finding(out: Console, finding: Mapping[str, Any]) -> None:
    """Code, step and field, what was expected and seen, and the remedy."""
    where = " ".join(str(part) for part in (finding["code"], finding["step"], finding["field"]) if part)
    colour = "red" if finding.get("severity", "error") == "error" else "yellow"
    both = f"expected {finding['expected']}; saw {finding['seen']}"
    out.print(Text(f"  {where}: {one_line(both, _LONGEST_FINDING)}", colour), soft_wrap=True)
    if finding["hint"]:
        hint = one_line(as_typed_here(finding["hint"]), _LONGEST_FINDING)
        out.print(Text(f"    {hint}", "italic"), soft_wrap=True)


def _is_said(finding: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether the sentence at the end is about this very finding."""
    return str(document["text"]).startswith(f"{finding['code']}: {finding['field']} ")


def _end(out: Console, document: Mapping[str, Any]) -> None:
    status, code = document["status"], document["code"] or ""
    hint = document["hint"] or ""
    # What to do gets a line of its own, where the eye finds it.
    said = one_line(document["text"] or "", LONGEST_TOLD).removesuffix(f"; {hint}")
    print_end(out, Text(head_of(status, code, said), STYLES[status]), said, hint)
    if document.get("cause") and document["cause"] != code:
        out.print(Text(f"cause: {document['cause']}", "yellow"), soft_wrap=True)
    if document["task_run_id"]:
        ended = f", ended {moment(document['ended_at'])}" if document.get("ended_at") else ""
        runs = f"runs: task {document['task_run_id']}, plan {document['plan_run_id'] or 'none'}{ended}"
        out.print(Text(runs, "dim"), soft_wrap=True)


def head_of(status: str, code: str | None, said: str) -> str:
    """Status and code: the one sentence starts with its code already; other words do not."""
    return status.upper() if not code or said.startswith(f"{code}: ") else f"{status.upper()} {code}"


def print_end(out: Console, head: Text, said: str, hint: str) -> None:
    """How something ended, in one sentence, and what to do next."""
    words = (head, Text(as_typed_here(said))) if said else (head,)
    out.print(*words, soft_wrap=True)
    if hint:
        out.print(Text(f"hint: {as_typed_here(hint)}", "italic"), soft_wrap=True)


def _steps(steps: Sequence[Mapping[str, Any]], *, narrow: bool) -> Table:
    names = ("step", "outcome", "checks", "what was seen") if narrow else _COLUMNS
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")  # names and keys go on in the next line rather than being cut
    for step in steps:
        shut = [c for c in step["checks"] if c["verdict"] in _SHUT]
        said = step["reason"] or "" if step["outcome"] in _ENDS else ""
        seen = str(shut[0]["text"] if shut else said)
        code = f" {step['code']}" if step["code"] else ""
        passed = sum(1 for c in step["checks"] if c["verdict"] not in _SHUT)
        cells: dict[str, str | Text] = {
            "step": Text(step["id"], no_wrap=True),
            "tool": Text(step["tool"], "dim", no_wrap=True),
            "outcome": Text(f"{step['outcome']}{code}", STYLES[step["outcome"]], no_wrap=True),
            "tries": str(step["tries"] or ""),
            "time": f"{step['duration_s']:.1f} s" if step["tries"] else "",
            "checks": f"{passed}/{len(step['checks'])}" if step["checks"] else "",
            "what was seen": Text(cut(seen, _SEEN)),
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
