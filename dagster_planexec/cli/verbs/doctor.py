"""What is wrong with an installation, before a run finds out: one line per thing, each with the next thing to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from rich.text import Text

from dagster_planexec.cli.printing import paper, print_json
from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.cli.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask

NEEDED = {"dagster": ">=1.13.22,<1.14", "dagster-aws": ">=0.29.22,<0.30", "duckdb": ">=2.0.1,<3", "sqlglot": ">=30,<31"}
"""What this package was tried with; outside of it, private parts of Dagster may have moved."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at."""

    what: str
    well: bool
    seen: str
    hint: str = ""


def examine(folder: ProjectFolder, home: Path, *, as_json: bool) -> bool:
    """Look at everything, print what was seen, and say whether all of it is well."""
    found = [*_versions(), *_places(home), *_project(folder)]
    if as_json:
        print_json({"version": 1, "well": all(e.well for e in found), "examined": [asdict(e) for e in found]})
    else:
        console = paper()
        for examined in found:
            mark, style = ("ok  ", "green") if examined.well else ("FAIL", "bold red")
            console.print(Text(mark, style), Text(f"{examined.what}: {examined.seen}"))
            if not examined.well and examined.hint:
                console.print(Text(f"     hint: {examined.hint}", "italic"))
    return all(e.well for e in found)


def _versions() -> Iterator[Examined]:
    yield Examined("python", sys.version_info >= (3, 11), sys.version.split()[0], "use Python 3.11 or newer")
    for package, needed in NEEDED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            yield Examined(package, well=False, seen="not installed", hint=f"install {package}{needed}")
            continue
        yield Examined(
            package, SpecifierSet(needed).contains(found), f"{found} ({needed})", f"install {package}{needed}"
        )


def _places(home: Path) -> Iterator[Examined]:
    from dagster_planexec.journal.journal import Journal  # noqa: PLC0415 - SQLAlchemy, where it is needed

    def journal() -> str:
        opened = Journal()
        opened.close()
        return f"{opened.engine.dialect.name}, in {home}"

    yield _tried("journal", journal)


def _project(folder: ProjectFolder) -> Iterator[Examined]:
    tasks: dict[str, PlannedTask] = {}

    def load() -> str:
        tasks.update(folder.tasks())
        return ", ".join(tasks)

    yield _tried("definitions", load)
    for name, planned in tasks.items():
        yield from _task(name, planned)


def _task(name: str, planned: PlannedTask) -> Iterator[Examined]:
    task = planned.binding.task
    ports = planned.binding.resources.ports()

    def drop() -> str:
        found = sum(1 for _ in zip(ports.objects.list(task.drop.bucket, task.drop.prefix), range(1000), strict=False))
        return f"s3://{task.drop.bucket}/{task.drop.prefix} answers, {found} objects"

    def warehouse() -> str:
        with ports.warehouse.session(deadline_s=10) as session:
            missing = [i.source for i in task.inputs if i.source and session.describe(i.source) is None]
        if missing:
            raise PlanexecError("TABLE_GONE", f"there is no table {', '.join(missing)}", hint="seed or restore it")
        return f"{ports.warehouse.name} answers, input tables are there"

    def planner() -> str:
        return planned.planner().recipe.partition(":")[0]

    yield _tried(f"{name}: drop", drop)
    yield _tried(f"{name}: warehouse", warehouse)
    yield _tried(f"{name}: planner", planner)


def _tried(what: str, look: Callable[[], str]) -> Examined:
    try:
        return Examined(what, well=True, seen=look())
    except PlanexecError as error:
        return Examined(what, well=False, seen=f"{error.code}: {error.message}", hint=error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor reports whatever it meets
        return Examined(what, well=False, seen=f"{type(error).__name__}: {str(error)[:200]}", hint="see the message")
