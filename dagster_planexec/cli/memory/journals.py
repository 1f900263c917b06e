"""Which journals a verb is about: that of one task, or those of all tasks of the project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.cli.place.asked import nearest
from dagster_planexec.cli.place.home import unknown

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.journal.journal import Journal


def journals_of(folder: ProjectFolder, task: str | None) -> tuple[str, ...]:
    """The names of the journals: the task's own, or all; a task that is no more had the default one."""
    tasks = folder.tasks()
    if task is not None:
        return (tasks[task].binding.journal if task in tasks else "default",)
    return tuple(sorted({"default", *(planned.binding.journal for planned in tasks.values())}))


@contextmanager
def opened(name: str, *, looking: bool) -> Iterator[Journal | None]:
    """The journal of that name; None if nothing was ever written to it."""
    from dagster_planexec.journal.journal import Journal  # noqa: PLC0415 - SQLAlchemy, which `--help` does not pay
    from dagster_planexec.journal.store.place import journal_is_there  # noqa: PLC0415 - as above

    if not journal_is_there(name):
        yield None
        return
    journal = Journal(name, looking=looking)
    try:
        yield journal
    finally:
        journal.close()


def must_be_known(folder: ProjectFolder, journal: Journal | None, task: str, home: Path) -> None:
    """Refuse a name that is neither a task of the project nor one that the journal remembers.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE, with the name that may have been meant.
    """
    if task in folder.tasks() or (journal is not None and journal.newest_attempts(task)):
        return
    raise unknown(task, home, nearest(task, folder.tasks()))
