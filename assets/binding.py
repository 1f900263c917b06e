"""What carries out the tasks: their tools, the resources behind their ports, and the recorded planner.

The environment says where things are:

* `PLANEXEC_HOME`: the folder with the warehouse file, SQL, reports, landed copies, files and the journal;
* `AWS_ENDPOINT_URL`, `AWS_DEFAULT_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`: as for any AWS client;
* `PLANEXEC_RECORDING`: file name of another recorded plan under the task's `plans/`;
* `PLANEXEC_DEMO_FAULT`: a named fault of `assets/demo/faults.py`, acting on the period `PLANEXEC_DEMO_PERIOD`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dagster import EnvVar

from dagster_planexec import PlannedTask, PortResources, RecordedPlanner, Task, TaskBinding, Tool
from dagster_planexec.checks.scope import Binder
from dagster_planexec.journal.journal import Listener
from dagster_planexec.resources.local.local_resources import (
    DuckDbCreditsResource,
    DuckDbWarehouseResource,
    RootsResource,
)
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.ports import Ports

HOME = EnvVar("PLANEXEC_HOME")
RECORDING_VARIABLE = "PLANEXEC_RECORDING"
FAULT_VARIABLE = "PLANEXEC_DEMO_FAULT"


def bind(task: Task, *, ref: str, folder: Path) -> PlannedTask:
    """The task with its parts and its planner.

    Args:
        task: The task.
        ref: `package.module:NAME` of what this returns.
        folder: The task's own, with `plans/`.
    """
    resources = PortResources(
        objects=S3ObjectStoreResource(),
        warehouse=DuckDbWarehouseResource(home=HOME, path="warehouse.duckdb"),
        credits=DuckDbCreditsResource(home=HOME, path="warehouse.duckdb"),
        roots=RootsResource(home=HOME, sql="sql", reports="reports", landing="landing"),
    )
    binding = TaskBinding(
        task=task,
        tools=BUILTIN_TOOLS,
        resources=resources,
        ref=ref,
        # The demo's home is a folder of the user's own, which no run clears. In a deployment this is true of a database
        # server, or of a disk that outlives the worker and is backed up; the ledger of issued credits is in it.
        journal_is_durable=True,
        listeners=lambda: fault_listeners(task),
        wrap=lambda ports: with_fault(task, ports),
    )
    return PlannedTask(binding, lambda: recorded_planner(folder))


def bind_local(
    task: Task, *, ref: str, folder: Path, tools: Sequence[Tool], checks: Mapping[str, Binder]
) -> PlannedTask:
    """A task that reads no object store and pays nothing: a warehouse file, and files of its own.

    Args:
        task: The task.
        ref: As of `bind`.
        folder: The task's own, with `plans/recorded.json`.
        tools: Its tools.
        checks: Checks that its tools name, beside those of the package.
    """
    resources = PortResources(
        warehouse=DuckDbWarehouseResource(home=HOME, path="warehouse.duckdb"),
        roots=RootsResource(home=HOME, sql="sql", reports="reports", landing="landing", files="files"),
    )
    binding = TaskBinding(task=task, tools=tools, resources=resources, ref=ref, checks=checks)
    return PlannedTask(binding, lambda: RecordedPlanner(folder / "plans" / "recorded.json"))


def recorded_planner(folder: Path) -> RecordedPlanner:
    """Replays the task's recorded answer: no key, no model."""
    return RecordedPlanner(folder / "plans" / os.environ.get(RECORDING_VARIABLE, "recorded_export_csv.json"))


def fault_listeners(task: Task) -> Sequence[Listener]:
    """The demo's fault, which hears how far the run is. Nobody, unless a fault is named."""
    if not os.environ.get(FAULT_VARIABLE):
        return ()
    from assets.fault_hook import named_fault  # noqa: PLC0415 - the demo is not part of a deployment

    return (named_fault(task).on_event,)


def with_fault(task: Task, ports: Ports) -> Ports:
    """The ports, with the demo's fault in them if one is named."""
    if not os.environ.get(FAULT_VARIABLE):
        return ports
    from assets.fault_hook import named_fault  # noqa: PLC0415 - the demo is not part of a deployment

    return named_fault(task).wrap(ports)
