"""Every lockfile that this one leads to is read by a step of the plan."""

from __future__ import annotations

from collections.abc import Iterable

from assets.dependency_audit.probes import WorkspacesOfLockfile
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.scope import FILES, StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.subject import Subject

NAME = "every_lockfile_is_read"
_SHOWN = 5


def every_lockfile_is_read(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The lockfiles of the workspaces, against the files that the plan's steps name. Nothing failed: it is news."""
    read = frozenset(path for place, path in scope.consumed if place == FILES)
    source = Source(Subject("plan", scope.step), "files that the plan's steps read")
    stated = Stated(f"{len(read)}: {_named(sorted(read))}", source)
    probe = WorkspacesOfLockfile(scope.args.path)
    return (Check(NAME, phase, probe, stated, _judge(read), absent_code="FILE_GONE"),)


def _judge(read: frozenset[str]) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        found = observed["lockfiles"]
        assert isinstance(found, tuple)  # noqa: S101 - the probe's own fact
        unread = [str(path) for path in found if path not in read]
        expected, seen = f"{len(read)} lockfiles are read", f"{len(found)} more are named"
        if unread:
            text = f"{len(unread)} lockfile{'' if len(unread) == 1 else 's'} of a workspace read by no step: "
            return Finding("failed", expected, seen, text + _named(unread), "INPUT_UNREAD")
        return Finding("passed", expected, seen, f"every lockfile that it leads to is read: {_named(map(str, found))}")

    return judge


def _named(paths: Iterable[str]) -> str:
    names = [repr(path[-80:]) for path in paths]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more
