"""A hold for people: what waits, how much of it, what it rests on, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from dagster_planexec.cli.place.home import as_typed_here
from dagster_planexec.cli.printing import STYLES, moment, paper
from dagster_planexec.cli.shown.holds.parts import (
    money,
    of_checks,
    of_decisions,
    of_evidence,
    of_limits,
    of_lines,
    of_plan,
    of_runs,
)
from dagster_planexec.contract.codes import meaning
from dagster_planexec.journal.told.line import one_line

_SAID = frozenset(
    {"id", "task", "period", "attempt", "step", "code", "state", "plan", "opened_at", "expires_at", "closed_at",
     "closed_because", "bound", "shown", "decisions", "count", "amount", "digest", "due_count", "due_amount",
     "due_digest", "issued_count", "issued_amount", "same", "raised", "raised_amount", "lowered", "not_due",
     "over_amount", "delta", "example", "largest", "after_count", "after_amount", "after_digest"}
)  # fmt: skip
MOST_FACTS = 20
_LONGEST_PATH = 1_000
_WAITS = frozenset({"open", "approved"})


def print_hold(held: Mapping[str, Any], *, currency: str, report: str | None) -> None:
    """A line for each thing that a person decides by, then the next commands.

    Args:
        held: The hold as `show --json` has it.
        currency: Of its amount.
        report: Path of the report that was written for its period, if one was.
    """
    out = paper()
    is_open = held["state"] == "open"
    head = Text(f"HELD {held['code']}" if is_open else f"{str(held['state']).upper()} {held['code']}")
    head.stylize(STYLES["held"] if held["state"] in _WAITS else "dim")
    out.print(head, Text(f"{held['id']}, {held['task']} {held['period']}"), soft_wrap=True)
    out.print(Text(f"  {meaning(held['code']).summary}", "italic"), soft_wrap=True)
    for name, said in _lines(held, currency, report):
        out.print(Text(f"  {name:<10}", "dim"), Text(said), soft_wrap=True)
    out.print(Text(f"hint: {as_typed_here(next_of(held, report))}", "italic"), soft_wrap=True)


def _lines(held: Mapping[str, Any], currency: str, report: str | None) -> Iterator[tuple[str, str]]:
    shown: Mapping[str, Any] = held.get("shown") or {}
    yield "state", _state(held)
    if held.get("expires_at") and held["state"] in _WAITS:
        yield "expires", f"{moment(held['expires_at'])}; after that nobody can decide, and nothing of it begins"
    yield "step", one_line(str(held["step"]))
    if shown.get("reason"):
        yield "why", one_line(as_typed_here(str(shown["reason"])), _LONGEST_PATH)
    if "count" in held:
        yield "waits", f"{held['count']:,} credit lines, {money(held.get('amount'))} {currency}"
    yield from of_limits(shown)
    yield from of_lines(shown)
    yield from _against(held, currency)
    facts = [
        (name, value) for name, value in held.items() if name not in _SAID and value and not isinstance(value, list)
    ]
    if facts:
        said = ", ".join(f"{one_line(str(name), 40)} {one_line(str(value), 80)}" for name, value in facts[:MOST_FACTS])
        yield "also", said + (f", and {len(facts) - MOST_FACTS} more" if len(facts) > MOST_FACTS else "")
    yield from of_plan(held)
    yield from of_evidence(shown)
    yield from of_checks(shown)
    yield "report", one_line(report, _LONGEST_PATH) if report else "none was written for this period"
    yield from of_runs(held)
    yield from of_decisions(held)


def _against(held: Mapping[str, Any], currency: str) -> Iterator[tuple[str, str]]:
    """How it differs from what was issued for the period before."""
    if not held.get("issued_count"):
        return
    said = [f"{held['issued_count']:,} lines, {money(held.get('issued_amount'))} {currency} were issued before"]
    if held.get("raised"):
        said.append(f"{held['raised']:,} of them are due with {money(held.get('raised_amount'))} more")
    less = int(held.get("lowered") or 0) + int(held.get("not_due") or 0)
    if less:
        said.append(f"{less:,} with {money(held.get('over_amount'))} less, which is not taken back")
    if held.get("example"):
        said.append(f"first {one_line(str(held['example']), 200)}")
    yield "issued", "; ".join(said)


def _state(held: Mapping[str, Any]) -> str:
    if held["state"] == "open":
        return f"open since {moment(held['opened_at'])}; nothing of it was done"
    if held["state"] == "approved":
        return f"approved, opened {moment(held['opened_at'])}; it is done when the month is continued"
    closed = f" {moment(held['closed_at'])}" if held.get("closed_at") else ""
    because = one_line(str(held.get("closed_because") or "another attempt took its place"), _LONGEST_PATH)
    return f"{held['state']}{closed}, opened {moment(held['opened_at'])}; {because}"


def next_of(held: Mapping[str, Any], report: str | None) -> str:
    """What to do now, with the very commands."""
    month = f"{held['task']} --partition {held['period']}"
    if held["state"] == "approved":
        return f"the approval sensor continues it where Dagster runs; here: `planexec continue {held['id']}`"
    if held["state"] != "open":
        return f"`planexec trace {month}` tells what became of it"
    first = "read the report" if report else f"look at what led to it: `planexec trace {month}`"
    wrong = f"if the delivery is wrong, have it corrected and run the month again: `planexec run {month}`"
    shown: Mapping[str, Any] = held.get("shown") or {}
    decided = {one["by"] for one in held.get("decisions", ())}
    can = [name for name in shown.get("approvers", ()) if name not in decided]
    if held.get("bound") is None or not can:
        why = "nothing says what it would do" if held.get("bound") is None else "the task names no approvers"
        return f"{first}; it cannot be approved, as {why}: settle it by hand; {wrong}"
    said = f'{held["id"]} --by {can[0]} --reason "say why"'
    return f"{first}; `planexec approve {said}` or `planexec reject {said}`; {wrong}"
