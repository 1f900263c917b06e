"""`planexec demo` of this project: the local world on its stage, with the environment that the definitions read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import BEFORE_PLAN, FAULTS, Fault
from assets.demo.literal import LiteralRun, execute_literally, own_world
from assets.demo.local import LOCAL_DATA, LocalData, follow_to_the_letter
from assets.demo.local_s3 import ACCESS_KEY, HOST, REGION, SECRET_KEY, LocalS3
from assets.demo.world import DATA_SETS, QUIET_S, DemoWorld
from dagster_planexec.cli.document import of_task
from dagster_planexec.cli.stage import DemoRequest, DemoStage, Scene
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.encoding import plain
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.recorded_planner import RecordedPlanner
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.tools import BUILTIN_TOOLS

PROJECT = Path(__file__).resolve().parent.parent
RECORDING = "recorded_export_csv.json"


class LocalScene(Scene):
    """A seeded world with its S3 server running.

    Args:
        world: The world.
        fault: What goes wrong in it, or None.
        local: The example beside it that is shown instead, and needs no bucket.
        partition: Of that example.
    """

    def __init__(
        self, world: DemoWorld, fault: Fault | None, *, local: LocalData | None = None, partition: str | None = None
    ) -> None:
        self._world = world
        self._fault = fault
        self._local = local
        period = local.period(partition) if local is not None else world.period
        self.task = local.planned.name if local is not None else world.data.task.name
        self.partition = period.key
        self.home = world.home

    def run_literally(self) -> Mapping[str, Any]:
        """The control: the recorded plan, followed to the letter in this world."""
        world, fault = self._world, self._fault
        if self._local is not None:
            return follow_to_the_letter(self._local, self._local.period(self.partition), self.home)
        recording = fault.recording if fault else RECORDING
        planner = RecordedPlanner(PROJECT / "assets" / self.task / "plans" / recording)
        proposal = planner.propose(PlanRequest(world.data.task, world.period, ToolRegistry(BUILTIN_TOOLS)))
        if proposal.plan is None:
            raise PlanexecError(proposal.code or "PLAN_REJECTED", proposal.message)
        run = execute_literally(proposal.plan, world, fault)
        return _document(world, proposal.plan, proposal.author, run)

    def stay(self, *, port: int) -> int:
        """`dagster dev` on this world, sensors on, until Ctrl-C."""
        _refuse_taken(port)
        command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-h", HOST, "-p", str(port)]
        sys.stderr.write(_exports(self._world))
        for name in DATA_SETS:  # all tasks are in the catalog, so all can be clicked
            if self._local is not None or name != self._world.data.name:
                DemoWorld(self.home, self._world.endpoint, data=name).seed()
        for data in LOCAL_DATA.values():
            data.seed(self.home)
        log = self.home / "dagster_dev.log"
        sys.stderr.write(
            f"UI: http://{HOST}:{port} in about half a minute; sensors start the delivered months by themselves.\n"
            f"Ctrl-C stops it, and the local S3 server with it. Dagster's log: {log}\n"
        )
        # Handlers of our own, also where a shell started this in the background and told it to ignore Ctrl-C.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        with (
            log.open("w", encoding="utf-8") as file,
            subprocess.Popen(
                command, cwd=PROJECT, stdout=file, stderr=file, stdin=subprocess.DEVNULL, start_new_session=True
            ) as dagster,
        ):
            try:
                code = dagster.wait()
            except KeyboardInterrupt:
                return _stopped(dagster)
        sys.stderr.write(f"dagster dev ended with code {code}; the end of its log:\n")
        sys.stderr.write("\n".join(log.read_text(encoding="utf-8").splitlines()[-15:]) + "\n")
        return code


class ExampleStage(DemoStage):
    """The demo of the example project."""

    def data_sets(self) -> tuple[str, ...]:
        """The flagship's generated months first, then the published council data, then what needs no bucket."""
        return (*DATA_SETS, *LOCAL_DATA)

    def faults(self) -> Mapping[str, str]:
        """What happens, when, and what a run must end with."""
        return {fault.name: _says(fault) for fault in FAULTS.values()}

    @contextmanager
    def open(self, request: DemoRequest) -> Iterator[Scene]:
        """The world, seeded, with the fault in it or about to strike; the environment set until the block ends."""
        fault = FAULTS[request.fault] if request.fault else None
        home = request.home or PROJECT / ".planexec" / _folder(request)
        if fault is not None and request.home is None:
            shutil.rmtree(home, ignore_errors=True)  # a fault's story begins in a fresh world
        with LocalS3() as s3:
            if fault is not None and request.data != "saturday":
                raise PlanexecError("BAD_CONTRACT", f"fault {fault.name!r} is about the data set 'saturday'")
            local = LOCAL_DATA.get(request.data)
            if local is not None:
                world = DemoWorld(home, s3.endpoint)
                world.dagster_home.mkdir(parents=True, exist_ok=True)
                local.seed(world.home)
            else:
                world = DemoWorld(home, s3.endpoint, data=request.data, period=request.partition)
                world.seed()
            if fault is not None and fault.when == BEFORE_PLAN:
                FaultListener(fault, world).before_plan()
            shutil.copyfile(
                PROJECT / "dagster_planexec" / "definitions" / "dagster.yaml", world.dagster_home / "dagster.yaml"
            )
            with environment(settings_of(world, fault)):
                yield LocalScene(world, fault, local=local, partition=request.partition)


STAGE = ExampleStage()

STOPS_WITHIN_S = 30


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _stopped(dagster: subprocess.Popen[bytes]) -> int:
    """Ask `dagster dev` to stop, as Ctrl-C does; end it if it does not."""
    sys.stderr.write("stopping\n")
    dagster.send_signal(signal.SIGINT)
    try:
        dagster.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(dagster.pid, signal.SIGKILL)
        dagster.wait()
    return 0


def _folder(request: DemoRequest) -> str:
    """Where a demo without a home of its own lives. The control of a fault does not wipe what the harness left."""
    if request.fault is None:
        return ""
    return f"faults/{request.fault}" + ("-literal" if request.literal else "")


def _exports(world: DemoWorld) -> str:
    """How another terminal gets at this world with `planexec`."""
    settings = {
        name: value for name, value in settings_of(world, None).items() if name.startswith(("AWS_", "PLANEXEC_HOME"))
    }
    lines = "".join(f"  export {name}={shlex.quote(value)}\n" for name, value in settings.items())
    return f"For planexec in another terminal:\n{lines}"


def _says(fault: Fault) -> str:
    ends = " ".join(
        part for part in (fault.ends.status, fault.ends.code, fault.ends.step and f"at {fault.ends.step}") if part
    )
    return f"{fault.when}: {fault.says} -> {ends}"


def settings_of(world: DemoWorld, fault: Fault | None) -> dict[str, str]:
    """What the definitions read from the environment, for this world."""
    settings = {
        "PLANEXEC_HOME": str(world.home),
        "DAGSTER_HOME": str(world.dagster_home),
        "PLANEXEC_QUIET_S": str(QUIET_S),
        # For the daemon: a backfill outlives a code server that is being restarted.
        "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1",
        "PLANEXEC_RECORDING": fault.recording if fault else RECORDING,
        "AWS_ENDPOINT_URL": world.endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "PLANEXEC_DEMO_PERIOD": world.period.text,
    }
    if fault is not None and fault.when != BEFORE_PLAN:
        settings["PLANEXEC_DEMO_FAULT"] = fault.name
    return settings


@contextmanager
def environment(settings: Mapping[str, str]) -> Iterator[None]:
    """These settings, until the block ends."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise PlanexecError(
                "PORT_IN_USE", f"port {port} on {HOST} is taken: {error}", hint="choose another with --port"
            ) from error


def _document(world: DemoWorld, plan: Plan, author: str, run: LiteralRun) -> dict[str, Any]:
    """The control's run in the form of a harness's run: no checks, because it makes none."""
    document = of_task(world.data.task, world.period)
    held = run.status == "held"
    return document | {
        "plan": {
            "digest": full_digest(plan), "planner": "recorded", "author": author, "revision": 1, "model_called": False,
        },
        "status": run.status,
        "code": "APPROVAL_REQUIRED" if held else None,
        "text": "followed to the letter; " + next((s.detail for s in run.steps if s.outcome == "held"), "nothing held"),
        "hint": "this is the control: the same plan and world without a check between the steps",
        "steps": [
            {"id": s.id, "tool": s.tool, "outcome": {"error": "failed"}.get(s.outcome, s.outcome),
             "code": "APPROVAL_REQUIRED" if s.outcome == "held" else None, "reason": s.detail, "tries": 1,
             "duration_s": 0.0, "checks": []}
            for s in run.steps
        ],
        "reconciliation": document["reconciliation"] | _counts(world, plan, run),
        "credits": document["credits"] | {
            "issued_count": run.issued_count, "issued_amount": plain(run.issued_amount),
            "held_count": run.held_count, "held_amount": plain(run.held_amount),
            "currency": world.data.currency,
        },
        "report": document["report"] | {"md": str(run.report) if run.report else None},
    }  # fmt: skip


def _counts(world: DemoWorld, plan: Plan, run: LiteralRun) -> dict[str, int]:
    """Lines by status in the control's own result."""
    counts = {"ledger_rows": run.ledger_rows, "vendor_rows": run.vendor_rows}
    target = next((s.args.get("target") for s in plan.steps if s.tool == "run_sql"), None)
    if target is not None:
        with own_world(world).connection() as warehouse:
            counts |= dict(warehouse.execute(f"select status, count(*) from {target} group by all").fetchall())
    return counts
