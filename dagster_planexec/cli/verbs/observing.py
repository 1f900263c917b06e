"""The `observe` verb: what a period relies on, seen again. Runs no plan, writes nothing to warehouse or drop.

The document:

| field | is |
|---|---|
| `version`, `task`, `partition` | 1, the task's name, the Dagster partition key |
| `attempt` | the newest attempt, whose admission and seals are the expected side; null if nothing was ever admitted |
| `status`, `code`, `text`, `hint` | `succeeded` (everything stands), `stopped` (something changed, is gone or is new), `error` (something could not be observed); the code of the first finding, and one sentence about it |
| `period` | how the period stands, whatever was seen now: `status`, `code`, `settled_before`, as in `planexec status` |
| `observed_at` | when |
| `counts` | how many things are `unchanged`, `changed`, `gone`, `new`, `not observed` |
| `sightings` | one entry per thing: `about` (`drop`, `landed`, `table`, `sql`, `watched`, `result`, `credits`), `subject`, `expected` and `seen` (each `value`, `source`, `at`), `verdict` (a word of `counts`; `not observed: CODE`), `stands`, `code`, `means` |
| `recorded_on` | the assets whose event log holds it now; empty without a Dagster instance |
"""  # noqa: E501 - a table

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.place.home import remembered
from dagster_planexec.cli.printing import STYLES, paper, print_end
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.definitions.shown.months import Month, month_of
from dagster_planexec.definitions.shown.sightings import cells, record, summary
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.reobserve.reobserve import reobserve
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.contract.task import Task
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.execute.reobserve.sighting import Reobserved


def observe(planned: PlannedTask, period: Period, home: Path, *, show: bool) -> dict[str, Any]:
    """Look again, record it where Dagster shows it, and return the document; for people it is printed.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if the home has no journal; what a port refuses with.
    """
    task = planned.binding.task
    with remembered(planned.binding.journal) as journal:
        if journal is None:
            raise PlanexecError(
                "UNKNOWN_REFERENCE", f"there is no journal in {home}: nothing of {task.name} was ever run there",
                hint="choose another home with --home, or run the period first",
            )  # fmt: skip
        month = month_of(task, journal, period, planned.binding.resources.clock.now())
    work = work_of(planned.binding)
    try:
        found = reobserve(work, period)
    finally:
        work.journal.close()
    document = _document(found, month, _recorded(task, found, month))
    if show:
        _print(found, document)
    return document


def _document(found: Reobserved, month: Month, recorded_on: tuple[str, ...]) -> dict[str, Any]:
    finding = found.finding
    status = "succeeded" if finding is None else ("error" if finding.word == "not observed" else "stopped")
    code = finding.code if finding else None
    return {
        "version": 1, "task": found.task, "partition": found.partition, "attempt": found.attempt,
        "status": status, "code": code, "text": summary(found, month.stands), "hint": _hint(found),
        "period": {"status": month.status, "code": month.code, "settled_before": month.settled_before},
        "observed_at": found.at.isoformat(), "counts": dict(found.counts),
        "sightings": [sighting.as_json() for sighting in found.sightings], "recorded_on": list(recorded_on),
    }  # fmt: skip


def _hint(found: Reobserved) -> str | None:
    finding = found.finding
    if finding is None:
        return None
    if finding.word == "not observed" or finding.about == "credits":
        return meaning(finding.code or "INTERNAL").hint
    return f"`planexec run {found.task} --partition {found.partition}` admits what is there now and judges it anew"


def _recorded(task: Task, found: Reobserved, month: Month) -> tuple[str, ...]:
    """The assets that show it now; none where no Dagster instance was ever made."""
    if not Path(os.environ.get("DAGSTER_HOME", "")).is_dir() or not os.environ.get("DAGSTER_HOME"):
        return ()
    import dagster as dg  # noqa: PLC0415 - with its instance

    with dg.DagsterInstance.get() as instance:
        return record(instance, task, found, month.stands)


def _print(found: Reobserved, document: Mapping[str, Any]) -> None:
    out = paper()
    out.print(Text(f"{found.task} {found.partition}", "bold"), Text(f"attempt {found.attempt or 'none'}", "dim"))
    # A key is what a person looks for in a bucket: it goes on in the next line rather than being cut.
    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "subject, and what it means", "expected", "seen"):
        table.add_column(name, overflow="fold")
    for sighting in found.sightings:
        cell = cells(sighting)
        what = Text(f"{cell['subject']}\n").append(cell["means"], "italic" if sighting.stands else "bold")
        verdict = Text(
            cell["verdict"], "dim" if sighting.stands and sighting.word != "unchanged" else STYLES[sighting.word]
        )
        table.add_row(verdict, what, Text(cell["expected"]), Text(cell["seen"]))
    out.print(table)
    word = _word(found)
    code = f" {document['code']}" if document["code"] else ""
    print_end(out, Text(f"{word.upper()}{code}", STYLES[word]), document["text"], document["hint"] or "")


def _word(found: Reobserved) -> str:
    """What the look came to, in words of its own: those of a run's end are said of the period."""
    if found.finding is None:
        return "new" if found.attempt is None else "unchanged"
    return "not observed" if found.finding.word == "not observed" else "changed"
