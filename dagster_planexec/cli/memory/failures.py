"""The `failures` verb: how tasks have failed, what helped, and what their failures suggest."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.memory.journals import must_be_known, opened
from dagster_planexec.cli.printing import moment, paper, print_json
from dagster_planexec.journal.told.line import one_line

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder

MOST = 200
"""Patterns of a task that are shown."""
_COLUMNS = ("times", "code", "tool", "check", "plan shape", "last seen", "what resolved it")


def failures(folder: ProjectFolder, task: str | None, home: Path, *, as_json: bool) -> None:
    """Print the patterns of a task, or of every task of the project. Raises what `must_be_known` raises."""
    tasks = folder.tasks()
    found: list[dict[str, Any]] = []
    for name in [task] if task is not None else list(tasks):
        journal = tasks[name].binding.journal if name in tasks else "default"
        found.append(_of(folder, name, journal, home))
    if as_json:
        print_json({"version": 1, "tasks": found})
        return
    for one in found:
        _print(one)


def _of(folder: ProjectFolder, task: str, name: str, home: Path) -> dict[str, Any]:
    from dagster_planexec.journal.lasting.proposed_rules import proposed_rules  # noqa: PLC0415 - SQLAlchemy
    from dagster_planexec.journal.patterns import patterns_for  # noqa: PLC0415 - SQLAlchemy
    from dagster_planexec.journal.store.migrate import NEWEST  # noqa: PLC0415 - SQLAlchemy

    with opened(name, looking=True) as journal:
        must_be_known(folder, journal, task, home)
        patterns = [asdict(pattern) for pattern in patterns_for(journal, task, MOST)] if journal else []
        rules = [rule.as_json() for rule in proposed_rules(journal, task)] if journal else []
        old = journal is not None and journal.version < NEWEST
    note = "its journal is of an older version, in which nothing is learnt; the next run brings it up" if old else None
    return {"task": task, "patterns": patterns, "proposed_rules": rules, "note": note}


def _print(found: dict[str, Any]) -> None:
    out = paper()
    if not found["patterns"]:
        out.print(Text(found["task"], "bold"), Text(found["note"] or "no step of it has failed yet"), soft_wrap=True)
        return
    out.print(Text(found["task"], "bold"))
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    for p in found["patterns"]:
        cells = (str(p["count"]), p["code"], p["tool"], p["check"] or "the call itself", p["shape"],
                 moment(p["last_seen"]), p["resolved_by"] or "nothing yet")  # fmt: skip
        table.add_row(*(Text(one_line(cell, 80)) for cell in cells))
    out.print(table)
    for rule in found["proposed_rules"]:
        out.print(Text("  proposed:", "yellow"), Text(one_line(rule["text"], 500)), soft_wrap=True)
    if found["proposed_rules"]:
        out.print(Text("  nothing of this is applied by itself: change the task, and have the change reviewed", "dim"))
