"""The `prune` verb: forget what is old and of no more use, and say what goes, what stays, and why."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.memory.journals import journals_of, must_be_known, opened
from dagster_planexec.cli.printing import moment, paper, print_json
from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder

_AGE = re.compile(r"([1-9]\d{0,4})([dw])")
_DAYS = {"d": 1, "w": 7}


def age_of(text: str) -> timedelta:
    """`400d` or `52w`.

    Raises:
        PlanexecError: VALIDATION_ERROR for anything else.
    """
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise PlanexecError(
            "VALIDATION_ERROR", f"--older-than takes days or weeks, not {text[:40]!r}",
            hint="write e.g. --older-than 400d or --older-than 52w",
        )  # fmt: skip
    return timedelta(days=int(found[1]) * _DAYS[found[2]])


def prune(
    folder: ProjectFolder, task: str | None, older_than: str, home: Path, *, dry_run: bool, as_json: bool
) -> None:
    """Forget, or count, in the journal of a task or in all of them. Raises what `age_of` and `must_be_known` raise."""
    from dagster_planexec.journal.lasting.prune import prune as forget  # noqa: PLC0415 - SQLAlchemy, where it is used

    before = datetime.now(UTC) - age_of(older_than)
    done = []
    for name in journals_of(folder, task):
        with opened(name, looking=dry_run) as journal:
            if task is not None:
                must_be_known(folder, journal, task, home)
            if journal is not None:
                done.append(forget(journal, before=before, task=task, dry_run=dry_run).as_json())
    if as_json:
        print_json({"version": 1, "task": task, "dry_run": dry_run, "journals": done})
        return
    for pruned in done:
        _print(pruned)
    if not done:
        paper().print("nothing was ever written: there is no journal")


def _print(pruned: dict[str, Any]) -> None:
    out = paper()
    verb = "would be removed" if pruned["dry_run"] else "removed"
    whose = f" of {pruned['task']}" if pruned["task"] else ""
    out.print(
        Text(f"journal {pruned['journal']}", "bold"),
        Text(f"before {moment(pruned['before'])}{whose}: {pruned['attempts']} attempts {verb} but for their outline"),
        soft_wrap=True,
    )
    table = Table("table", "goes", "characters", "stays", "why it stays", box=None, pad_edge=False)
    for line in pruned["tables"]:
        cells = (f"{line['removed']:,}", f"{line['characters']:,}", f"{line['stays']:,}", line["why"])
        table.add_row(line["table"], *(Text(cell) for cell in cells))
    out.print(table)
    for why, count in pruned["attempts_that_stay"].items():
        out.print(Text(f"  {count} attempts stay whole: {why}", "dim"))
    out.print(
        Text("  landed copies and reports are files, and stay; effects are in the credit system, and stay", "dim")
    )
