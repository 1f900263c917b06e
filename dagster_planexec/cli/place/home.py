"""The home of a command: the folder of journal, runs and reports. Verbs that only look make nothing in it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.journal.journal import Journal


def at_home(folder: ProjectFolder, home: Path | None) -> Path:
    """The home of this command, made if it is not there; journal and Dagster look for it in the environment.

    Raises:
        PlanexecError: HOME_UNWRITABLE.
    """
    return made(looking_home(folder, home))


def made(chosen: Path) -> Path:
    """The home that `looking_home` has chosen, made if it is not there. Raises as `at_home`."""
    try:
        Path(os.environ["DAGSTER_HOME"]).mkdir(parents=True, exist_ok=True)
        chosen.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the home {chosen} cannot be written: {error.strerror}",
            hint="choose another with --home",
        ) from error
    return chosen


def looking_home(folder: ProjectFolder, home: Path | None) -> Path:
    """The home of this command, as it is: it may not be there."""
    default = default_home(folder)
    chosen = (home or default).absolute()
    next_at(chosen, default)
    elsewhere = None if home else os.environ.get("DAGSTER_HOME")
    os.environ["PLANEXEC_HOME"], os.environ["DAGSTER_HOME"] = str(chosen), elsewhere or str(chosen / "dagster")
    return chosen


@contextmanager
def remembered(name: str = "default") -> Iterator[Journal | None]:
    """The journal of that name, for looking; None if nothing was ever written."""
    from dagster_planexec.journal.journal import Journal  # noqa: PLC0415 - SQLAlchemy, which `--help` does not pay
    from dagster_planexec.journal.store.place import journal_is_there  # noqa: PLC0415 - as above

    if not journal_is_there(name):
        yield None
        return
    journal = Journal(name, looking=True)
    try:
        yield journal
    finally:
        journal.close()


def default_home(folder: ProjectFolder) -> Path:
    """Where a command looks that names no home."""
    return Path(os.environ.get("PLANEXEC_HOME") or folder.root / ".planexec").absolute()


def next_at(home: Path, default: Path) -> None:
    """Note where the next commands must look, if that is not where they would look by themselves."""
    if (context := click.get_current_context(silent=True)) is not None:
        context.meta[_ELSEWHERE] = None if home == default else home


def as_typed_here(text: str) -> str:
    """The text with this call's project and home in every command that it names, so that each works as it stands."""
    context = click.get_current_context(silent=True)
    if context is None:
        return text
    project, home = context.find_root().params.get("project"), context.meta.get(_ELSEWHERE)
    before = "" if project is None or project.resolve() == Path.cwd() else f" --project {_quoted(project)}"
    behind = "" if home is None else f" --home {_quoted(home)}"

    def typed(found: re.Match[str]) -> str:
        looks = found[1] in _AT_HOME and " --home " not in found[2]
        return f"`planexec{before} {found[1]}{found[2]}{behind if looks else ''}`"

    return _COMMAND.sub(typed, text)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path.absolute()))


_ELSEWHERE = "dagster_planexec.home"
_COMMAND = re.compile(r"`planexec ([a-z]+)\b([^`]*)`")
_AT_HOME = frozenset(
    {"run", "plan", "show", "prompt", "trace", "status", "observe", "doctor", "prune", "failures", "holds", "approve",
     "reject", "continue", "keys", "effects"}
)  # fmt: skip
"""The verbs that look into a home."""


def unknown(reference: str, home: Path, near: str | None = None) -> PlanexecError:
    """The refusal of a name that nothing is remembered under; `near` is the task that may have been meant."""
    meant = f"did you mean {near}? " if near and near != reference else ""
    return PlanexecError(
        "UNKNOWN_REFERENCE", f"the journal in {home} knows nothing by the name {reference[:80]!r}",
        hint=f"{meant}name a task, a run, a plan's digest (8 digits or more), an attempt (att_...) or a hold "
        "(hold_...); another home is chosen with --home",
    )  # fmt: skip
