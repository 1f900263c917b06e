"""How long it takes to make a Dagster job of a long plan."""

from __future__ import annotations

from dataclasses import replace

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from bench.plans.long_plan import long_plan
from bench.plans.ready import ready
from bench.scene import Scene
from bench.timing import Measured, medians
from dagster_planexec.compiler.job import compile_plan as compiled
from dagster_planexec.plan.digest import full_digest

BUDGET_S = 1.5


def compile_plan(on: Scene, *, steps: int, runs: int) -> Measured:
    """One op per step, dependencies and all."""
    plan = long_plan(steps)
    binding = replace(VENDOR_RECONCILIATION.binding, task=on.task, resources=ready(on.ports))

    def compile_it() -> None:
        job = compiled(binding, plan, full_digest(plan), "default")
        assert len(job.graph.node_names()) == steps

    found = medians({"compile": compile_it}, runs)
    return Measured("compile_plan", found["compile"], "s", BUDGET_S, found, runs, {"steps": steps})
