"""Tasks -> definitions: what a project's `definitions.py` calls."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from dagster_planexec.compiler.job import job_name as plan_run_name
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.approval.approval_sensor import approval_sensor
from dagster_planexec.definitions.approval.continue_job import continue_job
from dagster_planexec.definitions.approval.decide_job import decide_job
from dagster_planexec.definitions.approval.notices import OnHold, log_hold
from dagster_planexec.definitions.planned_task import PlannedTask, task_run_name
from dagster_planexec.definitions.shown.gates import repeatable
from dagster_planexec.definitions.task_asset import effect_assets, task_asset
from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor
from dagster_planexec.definitions.triggers.failure_sensor import OnFailure, failure_sensor, log_failure
from dagster_planexec.definitions.triggers.schedule import task_schedule
from dagster_planexec.definitions.triggers.waits_sensor import waits_sensor
from dagster_planexec.errors import PlanexecError


def task_job(task: Task) -> dg.UnresolvedAssetJobDefinition:
    """The job of a task's asset: what schedule and sensor start."""
    return dg.define_asset_job(
        task_run_name(task),
        selection=[d.name for d in repeatable(task)],
        description=f"{task.goal} Its plan runs as {plan_run_name(task)}, a run of its own.",
    )


def planexec_definitions(
    *tasks: PlannedTask,
    sensors: Sequence[dg.SensorDefinition] | None = None,
    on_failure: OnFailure = log_failure,
    on_hold: OnHold = log_hold,
) -> dg.Definitions:
    """Everything Dagster needs for these tasks; merge it with a project's own by `Definitions.merge`.

    Args:
        tasks: The tasks, each with its parts and planner.
        sensors: Instead of one arrival sensor per task that has a drop.
        on_failure: Given the text of every task run that fails.
        on_hold: Told when a hold opens, ages, expires or is superseded.

    Raises:
        PlanexecError: BAD_CONTRACT if two tasks share a name or a deliverable's name.
    """
    _refuse_shared_names(tasks)
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = []
    for planned in tasks:
        assets += [task_asset(planned), *effect_assets(planned.binding.task)]
    held = [p for p in tasks if p.binding.task.irreversible is not None]
    return dg.Definitions(
        assets=assets,
        jobs=[
            *(task_job(p.binding.task) for p in tasks),
            *(make(p) for p in held for make in (continue_job, decide_job)),
        ],
        schedules=[task_schedule(p.binding.task) for p in tasks],
        sensors=[
            *(sensors if sensors is not None else (arrival_sensor(p.binding) for p in tasks if p.binding.task.drop)),
            *(waits_sensor(p.binding) for p in tasks),
            *(approval_sensor(p.binding, on_hold=on_hold) for p in held),
            failure_sensor([p.binding.task for p in tasks], on_failure=on_failure),
        ],
        resources=_shown(tasks),
        metadata={"planexec/tasks": dg.MetadataValue.json({p.name: p.binding.ref for p in tasks})},
    )


def _shown(tasks: tuple[PlannedTask, ...]) -> dict[str, object]:
    """The tasks' resources, so that people see what is configured. Runs make their own from the environment."""
    return {f"{p.name}__{port}": made for p in tasks for port, made in p.binding.resources.named().items()}


def _refuse_shared_names(tasks: tuple[PlannedTask, ...]) -> None:
    seen: dict[str, str] = {}
    for planned in tasks:
        task = planned.binding.task
        for name in (task.name, *(d.name for d in task.deliverables)):
            if name in seen:
                raise PlanexecError(
                    "BAD_CONTRACT", f"{name!r} belongs to both {seen[name]} and {task.name}",
                    hint="names of tasks and deliverables are unique within a project",
                )  # fmt: skip
            seen[name] = task.name
