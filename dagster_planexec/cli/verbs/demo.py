"""The `demo` verb: a project's world is set up, something goes wrong in it if asked for, and the task runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.place.asked import no_such, period_of
from dagster_planexec.cli.place.home import default_home, next_at
from dagster_planexec.cli.printing import paper, print_json, progress
from dagster_planexec.cli.stage import DemoRequest, DemoStage, Scene

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder

UI_PORT = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for on the command line."""

    data: str | None
    fault: str | None
    executor: str
    partition: str | None
    home: Path | None
    ui: bool
    port: int | None


def run_demo(folder: ProjectFolder, wanted: Wanted, *, as_json: bool) -> Mapping[str, Any] | None:
    """The document of the run; None if there is none to print (a list of faults, the UI).

    Raises:
        PlanexecError: The world cannot be set up, or the fault, data set or partition does not exist.
    """
    stage, fault = folder.demo(), wanted.fault
    if fault == "list":
        _list(stage, as_json=as_json)
        return None
    if fault is not None and fault not in stage.faults():
        raise no_such("fault", fault, stage.faults(), more="`planexec demo --fault list` shows them all")
    chosen = wanted.data or stage.data_sets()[0]
    if chosen not in stage.data_sets():
        raise no_such("data set", chosen, stage.data_sets())
    default = default_home(folder)  # before the stage names its own
    console = progress() if not as_json else Console(stderr=True, quiet=True)
    with stage.open(
        DemoRequest(wanted.home, chosen, fault, wanted.partition, literal=wanted.executor == "literal")
    ) as scene:
        next_at(scene.home.absolute(), default)
        console.print(Text(f"home {scene.home}", "dim"), soft_wrap=True)
        if wanted.ui:
            raise SystemExit(scene.stay(port=wanted.port or UI_PORT))
        if wanted.executor == "literal":
            return scene.run_literally()
        return _run(folder, scene, console)


def _run(folder: ProjectFolder, scene: Scene, console: Console) -> Mapping[str, Any]:
    from dagster_planexec.cli.verbs.running import run_task  # noqa: PLC0415 - imports Dagster

    planned = folder.task(scene.task)
    period = period_of(planned, scene.partition)
    return run_task(folder, planned, period, scene.home, replan=False, console=console)


def _list(stage: DemoStage, *, as_json: bool) -> None:
    if as_json:
        print_json([{"name": name, "says": says} for name, says in stage.faults().items()])
        return
    table = Table("fault", "what happens, and what the run ends with", box=None, pad_edge=False)
    for name, says in stage.faults().items():
        table.add_row(Text(name), Text(says))
    paper().print(table)
