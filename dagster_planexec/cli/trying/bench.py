"""A bench to try files on: a home for one call, thrown away after it, with the parts that a real month has."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import AdmittedObject, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.local.local_files import LocalFiles
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Launcher, Settling
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.local.absent_ports import NoCreditApi
from dagster_planexec.world.local.scratch import scratch
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports, Roots

BUCKET = "files"
"""What stands for the bucket of a delivery that is tried."""
_JOURNAL = "trying"


@dataclass(frozen=True, slots=True)
class Bench:
    """A scratch home: a warehouse file, a landing, a journal."""

    home: Path

    @property
    def warehouse(self) -> DuckDbWarehouse:
        """Its warehouse."""
        return DuckDbWarehouse(self.home / "warehouse.duckdb")

    def settle(
        self, task: Task, period: Period, plan: Plan, files: Mapping[str, Path]
    ) -> tuple[RunReport, tuple[AdmittedObject, ...]]:
        """Do the task by this plan on these files, as a month is done: admitted, checked, fetched, loaded, judged.

        Args:
            task: What is tried.
            period: The period it is about.
            plan: The plan; no planner is asked.
            files: Key in the delivery to file.

        Returns:
            The report, and what was admitted of the files.
        """
        roots = Roots(self.home / "sql", self.home / "reports", self.home / "landing")
        ports = Ports(LocalFiles(BUCKET, files), self.warehouse, NoCreditApi(), SystemClock(), roots)
        journal = Journal(_JOURNAL)
        try:
            work = Work(task, ToolRegistry(BUILTIN_TOOLS).restricted_to(task.tools), ports, journal)
            report = settle(Settling(work, _OnePlan(plan), _Loop(work)), period)
            attempt = journal.newest_attempt(task.name, period.text)
            return report, decode_admission(attempt.admission).objects if attempt is not None else ()
        finally:
            journal.close()


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench for one call; nothing of it is left, and no home of the project is touched.

    Raises:
        PlanexecError: HOME_UNWRITABLE if there is no room for it.
    """
    variable = f"PLANEXEC_JOURNAL_{_JOURNAL.upper()}"
    before = os.environ.get(variable)
    with _ended_politely(), ExitStack() as opened:
        try:
            home = opened.enter_context(scratch("planexec-trying-"))
            for name in ("sql", "reports", "landing"):
                (home / name).mkdir()
        except OSError as error:
            raise PlanexecError(
                "HOME_UNWRITABLE", f"the temporary folder cannot be written: {error.strerror}",
                hint="free space there, or name another with TMPDIR",
            ) from error  # fmt: skip
        os.environ[variable] = f"sqlite:///{home}/journal.sqlite"
        try:
            yield Bench(home)
        finally:
            os.environ.pop(variable)
            if before is not None:
                os.environ[variable] = before


class _Signalled(SystemExit):
    """A signal asked the process to end."""


@contextmanager
def _ended_politely() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP unwind as an exception does, so that the folder goes; then the process ends at once.

    At once, since a probe's thread may be in the middle of a file: a library that waits for it at the end of a process
    whose interpreter has ended waits for ever. Threads hear no signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _frame: object) -> None:
        for one in signals:
            signal.signal(one, signal.SIG_IGN)  # a second one would interrupt the cleaning
        raise _Signalled(128 + number)

    before = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    except _Signalled as ended:
        click.echo(f"ERROR ended by signal {int(str(ended.code)) - 128}", err=True)
        os._exit(int(str(ended.code)))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def keys_of(files: Sequence[Path]) -> dict[str, Path]:
    """A key for each file: its name, and where two files have one name, a number before it.

    A name that no vendor's key would be (spaces, line ends, 250 characters) is replaced but for its suffix.
    """
    names = [_plain(path.name, number) for number, path in enumerate(files, 1)]
    return {
        (name if names.count(name) == 1 else f"{number}/{name}"): path
        for number, (name, path) in enumerate(zip(names, files, strict=True), 1)
    }


def _plain(name: str, number: int) -> str:
    if re.fullmatch(r"[\w.-]{1,120}", name):
        return name
    suffix = re.search(r"(?:\.\w{1,8}){1,2}\Z", name)
    return f"file_{number}{suffix[0] if suffix else ''}"


class _OnePlan(Planner):
    """Answers with the plan of the verb."""

    name = "fixed"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def propose(self, request: PlanRequest) -> Proposal:  # noqa: ARG002 - the interface
        return Proposal(self._plan, self.name, "planexec", model_called=False)


class _Loop(Launcher):
    """Runs the steps in this process, one after the other, without Dagster."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        plan = self._work.journal.load_plan(plan_digest)
        run_id = f"trying-{attempt.id}"
        admission = decode_admission(attempt.admission)
        run = Run(self._work, attempt.id, plan, plan_digest, period, admission, run_id, lease_token=lease_token)
        for step in topological_order(edges(plan)):
            # A file on a disk does not get better by waiting; the cap on tries ends it.
            while run_step(run, step).state is None:
                pass
        return run_id
