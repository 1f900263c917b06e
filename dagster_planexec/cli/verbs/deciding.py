"""The verbs of people who decide: list what waits, approve or reject it, make a key, continue a month."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.place.home import as_typed_here, made, remembered
from dagster_planexec.cli.printing import STYLES, moment, paper, print_json, progress
from dagster_planexec.cli.shown.holds.document import document_of, line_of
from dagster_planexec.cli.shown.holds.hold import next_of
from dagster_planexec.cli.shown.holds.parts import money
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import decisions_of, record
from dagster_planexec.journal.money.approvals.holds import WAITING, HoldRecord, hold, holds_of, lines_under
from dagster_planexec.journal.money.approvals.keys import keys_for, new_key
from dagster_planexec.journal.money.approvals.signing import Word, sign
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.settling.continuing import lines_now

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask

COLUMNS = ("hold", "task", "period", "state", "code", "credits", "amount", "opened", "expires", "decided")


def list_holds(folder: ProjectFolder, task: str | None, *, everything: bool, as_json: bool) -> None:
    """Print what waits for a person, of a task or of all; with `everything`, also what is closed."""
    names = {folder.task(task).name: folder.task(task)} if task is not None else folder.tasks()
    found: list[dict[str, Any]] = []
    for journal, of in _by_journal(names).items():
        with remembered(journal) as opened:
            held = holds_of(opened, task, states=() if everything else WAITING) if opened is not None else ()
            held = tuple(one for one in held if one.task in of)
            said = decisions_of(opened, [one.id for one in held]) if opened is not None else {}
            found += [line_of(one, said[one.id]) for one in held]
    if as_json:
        print_json({"version": 1, "holds": found})
        return
    if not found:
        paper().print(Text("nothing waits for a person" if not everything else "there has been no hold", "dim"))
        return
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for one in found:
        table.add_row(*_cells(one))
    paper().print(table)
    paper().print(Text(as_typed_here("`planexec show HOLD` shows one with all that it rests on"), "dim"))


def _cells(one: Mapping[str, Any]) -> Iterator[Text]:
    decided = ", ".join(f"{d['decision']} by {one_line(d['by'], 40)}" for d in one["decisions"])
    amount = f"{money(one['amount'])} {one['currency'] or ''}".strip() if one["amount"] is not None else ""
    style = STYLES["held"] if one["state"] in WAITING else "dim"
    opened, expires = (moment(one[name])[:10] if one[name] else "" for name in ("opened_at", "expires_at"))
    cells = (one["id"], one["task"], one["period"], one["state"], one["code"], str(one["count"] or ""), amount, opened,
             expires, decided)  # fmt: skip
    for name, cell in zip(COLUMNS, cells, strict=True):
        yield Text(str(cell), style if name == "state" else "", no_wrap=name in {"hold", "period"})


def decide_about(
    folder: ProjectFolder, hold_id: str, decision: Word, *, by: str, reason: str, sign_only: bool, as_json: bool
) -> None:
    """Sign a decision with the person's key, and record it, or only print it.

    Raises:
        PlanexecError: As `record` of `journal.money.decisions`.
    """
    planned, held = _held(folder, hold_id)
    task, now = planned.binding.task, planned.binding.resources.clock.now()
    if by not in task.approval.approvers:
        listed = ", ".join(task.approval.approvers) or "nobody"
        raise PlanexecError(
            "DECISION_REFUSED", f"{by[:60]!r} may not decide about {task.name}; its task names {listed}"
        )
    # Everybody's keys: what others have decided before is verified again.
    keys = keys_for(task.approval.approvers)
    signed = sign(held, decision=decision, by=by, reason=reason, key=keys.key(by), now=now)
    if sign_only:
        if as_json:
            print_json({"version": 1, "hold": held.id, "decision": decision, "by": by, "signed": signed.text()})
        else:
            sys.stdout.write(signed.text() + "\n")
        return
    with _writing(planned) as journal:
        after = record(journal, task, signed, keys, now)
        document = document_of(after, decisions_of(journal, [after.id])[after.id])
        issued, begun = lines_under(journal, after.id)
    if as_json:
        print_json({"version": 1, **document, "lines_issued": issued, "lines_begun": begun})
        return
    out = paper()
    done = {"approve": "approved", "reject": "rejected"}[decision]
    out.print(Text(f"{done.upper()} by {by}", STYLES["done"]), Text(f"{after.id}, {after.task} {after.period}"))
    if begun:
        rest = "nothing more of it is begun" if after.state == "rejected" else "the rest is issued when it is continued"
        out.print(Text(f"  {issued:,} of {begun:,} lines were issued under it already; {rest}"))
    left = task.approval.needed - len(document["decisions"])
    if after.state == "open":
        out.print(Text(f"  {left} more must approve it: {', '.join(_others(task.approval.approvers, document))}"))
    out.print(Text(f"hint: {as_typed_here(next_of(document, None))}", "italic"), soft_wrap=True)


def _others(approvers: tuple[str, ...], document: Mapping[str, Any]) -> list[str]:
    decided = {one["by"] for one in document["decisions"]}
    return [name for name in approvers if name not in decided]


def show_lines(folder: ProjectFolder, hold_id: str, *, as_json: bool) -> None:
    """Print every credit line of a hold, read now, and whether they are those that it is about.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE; the lines cannot be read.
    """
    planned, held = _held(folder, hold_id)
    work = work_of(planned.binding)
    try:
        work = replace(work, ports=work.ports.looking())
        lines, same = lines_now(work, held, planned.binding.task.period(held.period))
    finally:
        work.journal.close()
    if as_json:
        listed = [{"key": line.key, "amount": str(line.amount)} for line in lines]
        print_json({"version": 1, "hold": held.id, "same": same, "lines": listed})
        return
    out = paper()
    for line in lines:
        out.print(Text(f"{one_line(line.key, 200)}  {line.amount:,}"), soft_wrap=True)
    total = sum((line.amount for line in lines), Decimal(0))
    said = "exactly those that it was opened on" if same else "not those that it was opened on: it cannot be approved"
    out.print(Text(f"{len(lines):,} lines, {total:,}; {said}", "dim" if same else "bold red"), soft_wrap=True)


def make_key(name: str, *, show: bool, as_json: bool) -> None:
    """Make a person's key and say where it is; the key itself only if it was asked for. Raises as `new_key`."""
    key, file = new_key(name)
    if as_json:
        print_json(
            {"version": 1, "name": name, "key_id": key.id, "file": str(file), **({"key": key.text} if show else {})}
        )
        return
    out = paper()
    out.print(Text(f"key {key.id} is in {file}"), soft_wrap=True)
    if show:
        out.print(Text(key.text), soft_wrap=True)
    out.print(Text("whoever has it signs as this person; a worker needs it to verify what they signed", "dim"))


def go_on(folder: ProjectFolder, hold_id: str, home: Path) -> dict[str, Any]:
    """Continue the month that was approved, by the job that the approval sensor starts, and return its document.

    Nothing is made in the home before the hold is found.
    """
    from dagster_planexec.cli.verbs.running import continue_task  # noqa: PLC0415 - Dagster, only where it is needed

    planned, held = _held(folder, hold_id)
    return continue_task(folder, planned, held, made(home), progress())


def _held(folder: ProjectFolder, hold_id: str) -> tuple[PlannedTask, HoldRecord]:
    """The hold, and the task that it is of.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if no journal of the project has it, or its task is not of the project.
    """
    tasks = folder.tasks()
    for name in _by_journal(tasks):
        with remembered(name) as journal:
            found = hold(journal, hold_id) if journal is not None else None
        if found is not None and found.task in tasks:
            return tasks[found.task], found
    raise PlanexecError("UNKNOWN_REFERENCE", f"there is no hold {hold_id[:60]!r}", hint="`planexec holds` lists them")


def _by_journal(tasks: Mapping[str, PlannedTask]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, planned in tasks.items():
        found.setdefault(planned.binding.journal, set()).add(name)
    return found


@contextmanager
def _writing(planned: PlannedTask) -> Iterator[Journal]:
    journal = Journal(planned.binding.journal)
    try:
        yield journal
    finally:
        journal.close()


def shown_hold(journal: Journal, hold_id: str) -> dict[str, Any] | None:
    """The document of a hold, or None."""
    found = hold(journal, hold_id)
    return None if found is None else document_of(found, decisions_of(journal, [found.id])[found.id])
