"""The closed vocabulary of a plan's expectations: what may be expected of what. Static and live check read it here."""

from __future__ import annotations

from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.model import Plan

DROP = "drop"
INPUT = "input:"
STEP = "step:"
DROP_MEASURES = ("objects", "bytes")
"""What can be counted of a delivery without reading it."""
TABLE_MEASURES = ("rows", "columns")
"""What can be counted of an input that is a table before anything runs."""


def measures(task: Task) -> dict[str, tuple[str, ...]]:
    """Every `about` of a task's plans with what can be measured of it, in the order of the task.

    An input that the drop fills has no rows before it is loaded, so nothing can be expected of it; of the drop can.
    """
    tables = {f"{INPUT}{i.name}": TABLE_MEASURES for i in task.inputs if i.source is not None}
    drop = {DROP: DROP_MEASURES} if task.drop is not None else {}
    watched = {watch.name: tuple(watch.measures) for watch in task.watches if watch.measures}
    return {**drop, **tables, **watched}


def measures_of_steps(plan: Plan, registry: ToolRegistry) -> dict[str, tuple[str, ...]]:
    """Every step that something can be expected of once it is done, as `about`, with what its tool can measure."""
    found = ((step.id, registry.get(step.tool)) for step in plan.steps)
    return {f"{STEP}{name}": tuple(tool.contract.measures) for name, tool in found if tool and tool.contract.measures}
