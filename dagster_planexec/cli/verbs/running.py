"""Running a task from the command line: the job that Dagster runs, in this process, on the instance of this home."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_planexec.cli.document import of_task
from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import load_report
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from rich.console import Console

    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.journal.money.approvals.holds import HoldRecord

LOG = "last_run.log"
"""Dagster's own log of the last run from the command line, in the home."""


def run_task(
    folder: ProjectFolder, planned: PlannedTask, period: Period, home: Path, *, replan: bool, console: Console
) -> dict[str, Any]:
    """Run one period, which is a partition of the task, and return its document.

    Raises:
        PlanexecError: HOME_UNWRITABLE.
    """
    from dagster_planexec.definitions.planned_task import task_run_name  # noqa: PLC0415 - Dagster, where it is needed

    task = planned.binding.task
    started = Started(
        task_run_name(task), {"ops": {task.name: {"config": {"replan": replan}}}}, "the command planexec run"
    )
    return run_job(folder, planned, period, home, started, console)


def continue_task(
    folder: ProjectFolder, planned: PlannedTask, held: HoldRecord, home: Path, console: Console
) -> dict[str, Any]:
    """Continue the period of an approved hold, and return its document. Raises as `run_task`."""
    from dagster_planexec.definitions.planned_task import continue_name, finish_name  # noqa: PLC0415 - as above

    task = planned.binding.task
    config = {"ops": {finish_name(task): {"config": {"hold": held.id}}}}
    started = Started(continue_name(task), config, "the command planexec continue")
    return run_job(folder, planned, task.period(held.period), home, started, console)


@dataclass(frozen=True, slots=True)
class Started:
    """What is run, and by which command."""

    job: str
    config: Mapping[str, Any]
    by: str


def run_job(
    folder: ProjectFolder, planned: PlannedTask, period: Period, home: Path, started: Started, console: Console
) -> dict[str, Any]:
    """Run one of the task's jobs for one period. Raises as `run_task`."""
    import dagster as dg  # noqa: PLC0415 - a second that `--help` does not pay

    from dagster_planexec.definitions.asking import STARTED_BY_TAG  # noqa: PLC0415 - as above

    task = planned.binding.task
    journal = Journal(planned.binding.journal)
    job = folder.module().defs.resolve_job_def(started.job)
    try:
        with _quiet(home / LOG), dg.DagsterInstance.get() as instance, following(journal, task.name, period, console):
            result = job.execute_in_process(
                instance=instance, partition_key=period.key, raise_on_error=False, run_config=dict(started.config),
                tags={STARTED_BY_TAG: started.by},
            )  # fmt: skip
        document = load_report(journal, result.run_id)
    finally:
        journal.close()
    if document is not None:
        return document
    hint = f"read {LOG} in {home}"
    return {**of_task(task, period), "code": "INTERNAL", "text": meaning("INTERNAL").summary, "hint": hint,
            "task_run_id": result.run_id}  # fmt: skip


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Dagster writes its log to standard error; here it goes to a file, so that people see the run and not its echo."""
    try:
        with log.open("w", encoding="utf-8") as file, contextlib.redirect_stderr(file):
            yield
    except OSError as error:
        if error.filename != str(log):
            raise
        raise PlanexecError(
            "HOME_UNWRITABLE", f"the home cannot be written: {error.strerror}", hint="choose another with --home"
        ) from error


_SHOWN = {"proposed": "a plan is proposed", "checked": "the plan is checked", "admitted": "the plan is admitted"}


@contextlib.contextmanager
def following(journal: Journal, task: str, period: Period, console: Console) -> Iterator[None]:
    """Print what the journal says while the block runs: one line per event that a person waits for."""
    done = threading.Event()
    newest = journal.newest_attempt(task, period.text)
    after = journal.events(newest.id)[-1].seq if newest else 0

    def follow() -> None:
        seen = after
        while True:
            last = done.wait(0.2)
            attempt = journal.newest_attempt(task, period.text)
            for event in journal.events(attempt.id) if attempt else ():
                if event.seq > seen:
                    seen = event.seq
                    _tell(console, event.kind, event.step, event.payload)
            if last:
                return

    thread = threading.Thread(target=follow, name="planexec-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _tell(console: Console, kind: str, step: str | None, payload: Any) -> None:  # noqa: ANN401 - any JSON
    from rich.text import Text  # noqa: PLC0415 - with the console

    if kind in _SHOWN:
        console.print(Text(f"  {_SHOWN[kind]}", "dim"))
    elif kind == "step-ended" and payload["state"] != "not-run":
        code = f" {payload['code']}" if payload["code"] else ""
        console.print(Text(f"  {step}: {payload['state']}{code}", "dim"))
    elif kind == "replanned":
        code = f" ({payload['code']})" if payload["code"] else ""
        console.print(Text(f"  another plan is asked for after {step}{code}", "dim"))
    elif kind == "decided" and payload["decision"] == "retry":
        console.print(Text(f"  {step}: {payload['code']}, trying again", "dim"))
