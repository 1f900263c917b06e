"""The sensors of this project, built by `dagster_planexec`: here is where to change how often they look."""

from __future__ import annotations

import dagster as dg

from dagster_planexec import PlannedTask, arrival_sensor


def arrivals_of(planned: PlannedTask) -> dg.SensorDefinition:
    """Looks at the task's drop every half minute, and starts a run when a delivery has settled."""
    return arrival_sensor(planned.binding)
