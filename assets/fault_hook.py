"""From the environment to the named fault: the same listener for the task run and for the plan run inside it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import FAULTS
from assets.demo.world import DATA_SETS, DemoWorld
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError


def named_fault(task: Task) -> FaultListener:
    """The listener of the fault that `PLANEXEC_DEMO_FAULT` names.

    Raises:
        PlanexecError: VALIDATION_ERROR if there is no such fault, or the world it acts on is not named.
    """
    environ = os.environ
    name = environ["PLANEXEC_DEMO_FAULT"]
    if name not in FAULTS:
        raise PlanexecError(
            "VALIDATION_ERROR", f"there is no fault {name[:60]!r}", hint="`planexec demo --fault list` names them"
        )
    missing = [variable for variable in ("PLANEXEC_HOME", "AWS_ENDPOINT_URL") if variable not in environ]
    if missing:
        raise PlanexecError("VALIDATION_ERROR", f"a fault needs the demo's world: {', '.join(missing)} not set")
    period = environ.get("PLANEXEC_DEMO_PERIOD")
    return _listener(task.name, name, environ["PLANEXEC_HOME"], environ["AWS_ENDPOINT_URL"], period)


@cache  # a fault fires once per world and process; `forget_faults` makes it fire again
def _listener(task: str, fault: str, home: str, endpoint: str, period: str | None) -> FaultListener:
    data = next(name for name, data in DATA_SETS.items() if data.task.name == task)
    return FaultListener(FAULTS[fault], DemoWorld(Path(home), endpoint, data=data, period=period))


def forget_faults() -> None:
    """Begin anew: faults that have fired fire again."""
    _listener.cache_clear()
