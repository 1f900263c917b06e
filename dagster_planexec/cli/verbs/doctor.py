"""What is wrong with an installation, before a run finds out: one line per thing, each with the next thing to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from rich.text import Text

from dagster_planexec.cli.examined.examined import Examined, tried
from dagster_planexec.cli.examined.task import examined_task
from dagster_planexec.cli.place.home import as_typed_here
from dagster_planexec.cli.printing import paper, print_json

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask

NEEDED = {"dagster": ">=1.13.22,<1.14", "dagster-aws": ">=0.29.22,<0.30", "duckdb": ">=2.0.1,<3", "sqlglot": ">=30,<31"}
"""What this package was tried with; outside of it, private parts of Dagster may have moved."""
_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


def examine(folder: ProjectFolder, home: Path, *, as_json: bool) -> bool:
    """Look at everything, print what was seen, and say whether a run could begin: warnings do not hinder one."""
    found = [*_versions(), *_places(home), *_project(folder)]
    well = all(examined.well for examined in found)
    if as_json:
        print_json({"version": 1, "well": well, "examined": [examined.as_json() for examined in found]})
        return well
    console = paper()
    for examined in found:
        mark = Text(f"{examined.status:<7}", _STYLES[examined.status])
        console.print(mark, Text(f"{examined.what}: {examined.seen}"), soft_wrap=True)
        if examined.hint and examined.status != "ok":
            console.print(Text(f"        hint: {as_typed_here(examined.hint)}", "italic"), soft_wrap=True)
    return well


def _versions() -> Iterator[Examined]:
    is_new = sys.version_info >= (3, 11)
    yield Examined("python", "ok" if is_new else "missing", sys.version.split()[0], "use Python 3.11 or newer")
    for package, needed in NEEDED.items():
        hint = f"install {package}{needed}"
        try:
            found = version(package)
        except PackageNotFoundError:
            yield Examined(package, "missing", "not installed", hint)
            continue
        fits = SpecifierSet(needed).contains(found)
        yield Examined(package, "ok" if fits else "missing", f"{found} ({needed})", hint)


def _places(home: Path) -> Iterator[Examined]:
    from dagster_planexec.journal.journal import Journal  # noqa: PLC0415 - SQLAlchemy, where it is needed

    def journal() -> str:
        opened = Journal()
        opened.close()
        kind = opened.engine.dialect.name
        named = os.environ.get("PLANEXEC_JOURNAL_DEFAULT")
        return f"{kind}, " + ("where PLANEXEC_JOURNAL_DEFAULT says" if named else f"in {home}")

    yield tried("journal", journal)


def _project(folder: ProjectFolder) -> Iterator[Examined]:
    tasks: dict[str, PlannedTask] = {}

    def load() -> str:
        tasks.update(folder.tasks())
        return ", ".join(tasks)

    yield tried("definitions", load)
    for name, planned in tasks.items():
        yield from examined_task(name, planned)
