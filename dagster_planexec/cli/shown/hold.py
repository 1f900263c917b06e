"""A hold for people: what waits, how much of it, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from rich.text import Text

from dagster_planexec.cli.home import as_typed_here
from dagster_planexec.cli.printing import STYLES, moment, paper
from dagster_planexec.contract.codes import meaning
from dagster_planexec.journal.told.line import one_line

_SAID = frozenset({"id", "task", "period", "step", "code", "state", "plan", "opened_at", "count", "amount", "digest"})
MOST_FACTS = 20
_LONGEST_PATH = 1_000


def print_hold(held: Mapping[str, Any], *, currency: str, report: str | None) -> None:
    """A line for each thing that a person decides by, then the next command.

    Args:
        held: The hold as `show --json` has it.
        currency: Of its amount.
        report: Path of the report that was written for its period, if one was.
    """
    out = paper()
    is_open = held["state"] == "open"
    head = Text(f"HELD {held['code']}" if is_open else f"{str(held['state']).upper()} {held['code']}")
    head.stylize(STYLES["held"] if is_open else "dim")
    out.print(head, Text(f"{held['id']}, {held['task']} {held['period']}"), soft_wrap=True)
    out.print(Text(f"  {meaning(held['code']).summary}", "italic"), soft_wrap=True)
    for name, said in _lines(held, currency, report):
        out.print(Text(f"  {name:<9}", "dim"), Text(said), soft_wrap=True)
    out.print(Text(f"hint: {as_typed_here(_next(held, report))}", "italic"), soft_wrap=True)


def _lines(held: Mapping[str, Any], currency: str, report: str | None) -> Iterator[tuple[str, str]]:
    waits = "nothing of it was done" if held["state"] == "open" else "another attempt took its place"
    yield "state", f"{held['state']} since {moment(held['opened_at'])}; {waits}"
    yield "step", one_line(str(held["step"]))
    if "count" in held:
        yield "waits", f"{held['count']:,} credit lines, {_money(held.get('amount'))} {currency}"
    facts = [(name, value) for name, value in held.items() if name not in _SAID and value]
    if facts:
        shown = ", ".join(f"{one_line(str(name), 40)} {one_line(str(value), 80)}" for name, value in facts[:MOST_FACTS])
        yield "also", shown + (f", and {len(facts) - MOST_FACTS} more" if len(facts) > MOST_FACTS else "")
    yield "plan", str(held["plan"])[:12]
    yield "report", one_line(report, _LONGEST_PATH) if report else "none was written for this period"


def _money(amount: object) -> str:
    try:
        return f"{Decimal(str(amount)):,}"
    except InvalidOperation:
        return "an unknown amount of"


def _next(held: Mapping[str, Any], report: str | None) -> str:
    month = f"{held['task']} --partition {held['period']}"
    if held["state"] != "open":
        return f"`planexec trace {month}` tells what took its place"
    first = "read the report" if report else f"look at what led to it: `planexec trace {month}`"
    return (f"{first}; if the lines are right, settle them by hand, as a hold cannot be approved yet; if the delivery "
            f"is wrong, have it corrected and run the month again: `planexec run {month}`")  # fmt: skip
