"""What a hold rests on, in lines for people: its credit lines, plan, evidence, verdicts and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_planexec.cli.printing import moment
from dagster_planexec.journal.told.line import one_line

FIRST_LINES = 10
"""Credit lines that are printed; `--json` has more, `--lines` reads them all."""
_SHUT = frozenset({"failed", "errored", "not-evaluated"})
_LONGEST = 200

Named = tuple[str, str]


def money(amount: object) -> str:
    """An amount with its thousands apart."""
    try:
        return f"{Decimal(str(amount)):,}"
    except InvalidOperation:
        return "an unknown amount of"


def of_lines(shown: Mapping[str, Any]) -> Iterator[Named]:
    """The first credit lines, and what all of them hash to."""
    lines = shown.get("lines")
    if not lines:
        return
    first = lines["first"][:FIRST_LINES]
    for one in first:
        yield "line", f"{one_line(str(one['key']), 120)}  {money(one['amount'])}"
    left = int(lines["count"]) - len(first)
    more = f"{left:,} more; " if left else ""
    yield "lines", f"{more}all {int(lines['count']):,} have digest {str(lines['digest'])[:12]}; --lines reads them all"


def of_plan(held: Mapping[str, Any]) -> Iterator[Named]:
    """The plan's steps, and how it differs from the last one that was settled with."""
    shown = held.get("shown") or {}
    yield "plan", str(held["plan"])[:12]
    for one in shown.get("plan", ()):
        args = ", ".join(f"{one_line(str(n), 40)} {one_line(str(v), 80)}" for n, v in one["args"].items())
        yield "", f"{one_line(str(one['id']), 60)}: {one_line(str(one['tool']), 60)} {args}".rstrip()
    before = shown.get("compared")
    if before is None:
        if shown:
            yield "before", "no earlier period has settled that it could be compared with"
    elif before["same"]:
        yield "before", f"it does what the plan of {before['period']} did ({str(before['plan'])[:12]})"
    else:
        yield "before", f"it is not the plan of {before['period']} ({str(before['plan'])[:12]})"
        for edit in before["edits"]:
            yield "", one_line(str(edit), _LONGEST)


def of_evidence(shown: Mapping[str, Any]) -> Iterator[Named]:
    """What was read from the world, part by part."""
    for part in shown.get("evidence", ()):
        said = f"{one_line(str(part['part']), _LONGEST)}: {one_line(str(part['says']), _LONGEST)}"
        yield "rests on", f"{said}, {str(part['digest'])[:12]}"


def of_checks(shown: Mapping[str, Any]) -> Iterator[Named]:
    """How many verdicts there are, and those that ask for a person."""
    checks: Sequence[Mapping[str, Any]] = shown.get("checks", ())
    if not checks:
        return
    shut = [one for one in checks if one["status"] in _SHUT]
    yield "checks", f"{len(checks) - len(shut)} of {len(checks)} passed"
    for one in shut:
        yield "", f"{one['check']} {one['code']}: {one_line(str(one['text']), _LONGEST)}"


def of_limits(shown: Mapping[str, Any]) -> Iterator[Named]:
    """What no person is asked for."""
    limits = shown.get("limits")
    if limits:
        yield "limits", (f"without a person at most {limits['threshold']} lines and {money(limits['cap'])} "
                         f"{limits['currency']}")  # fmt: skip


def of_decisions(held: Mapping[str, Any]) -> Iterator[Named]:
    """Who decided what, and who may."""
    shown = held.get("shown") or {}
    for one in held.get("decisions", ()):
        said = one_line(str(one["reason"]), _LONGEST)
        yield "decided", f"{one['decision']} by {one_line(str(one['by']), 60)} at {moment(one['at'])}: {said}"
    approvers = shown.get("approvers")
    if approvers:
        needed = "two of them" if shown.get("needed") == 2 else "one of them"  # noqa: PLR2004 - four eyes
        yield "may decide", f"{', '.join(approvers)}; {needed} must approve, one who rejects is enough"
    elif shown:
        yield "may decide", "nobody: the task names no approvers"


def of_runs(held: Mapping[str, Any]) -> Iterator[Named]:
    """Where it came from."""
    shown = held.get("shown") or {}
    if shown:
        yield "runs", f"attempt {held['attempt']}, task {shown.get('task_run') or 'none'}, plan {shown.get('plan_run')}"
    if shown.get("supersedes"):
        yield "before it", f"{shown['supersedes']} asked about this period; this one took its place"
