"""What a step of the harness costs beside an op written by hand, which works and tells Dagster the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import dagster as dg

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from bench.by_hand import by_hand
from bench.ready import ready
from bench.scene import MARCH, Scene
from bench.timing import Measured, medians
from dagster_planexec.compiler.job import compile_plan
from dagster_planexec.compiler.plan_run import ATTEMPT_TAG
from dagster_planexec.journal.admission import encode_admission
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan

BUDGET = 1.3
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The same events are stored; a terminal is no part of what is measured."""


def step_cost(on: Scene, *, steps: int, rows: int, runs: int) -> Measured:
    """A chain of snapshots, each with its three checks: as a plan's job, and as a job of ops by hand.

    Both run in this process, on one Dagster instance with its files on disk.
    """
    with ExitStack() as open_things:
        os.environ["PLANEXEC_HOME"] = str(on.folder)
        overrides = {"telemetry": {"enabled": False}}
        folder = on.folder / "dagster"
        folder.mkdir()
        instance = open_things.enter_context(dg.DagsterInstance.local_temp(str(folder), overrides=overrides))
        cases = {
            "by_hand": _run(by_hand(on, steps), instance, {}.copy),
            "harness": _harness(on, steps, instance, open_things),
        }
        found = medians(cases, runs)
    return Measured(
        "step_cost", found["harness"] / found["by_hand"], "ratio", BUDGET, found, {"steps": steps, "rows": rows}
    )


def _run(job: dg.JobDefinition, instance: dg.DagsterInstance, tags: Callable[[], dict[str, str]]) -> Callable[[], None]:
    def run() -> None:
        assert job.execute_in_process(instance=instance, tags=tags(), run_config=_QUIET).success

    return run


def _harness(on: Scene, steps: int, instance: dg.DagsterInstance, open_things: ExitStack) -> Callable[[], None]:
    plan = _plan(steps)
    digest = full_digest(plan)
    journal = Journal()
    open_things.callback(journal.close)
    journal.save_plan(plan)

    def another_attempt() -> dict[str, str]:
        # Within one attempt a second run would reuse what the first has done.
        attempt, _ = journal.open_attempt(
            task=on.task.name, version=on.task.version, period=MARCH.text, inputs_digest="bench",
            admission=encode_admission(on.admission()), anew=True,
        )  # fmt: skip
        journal.adopt_plan(attempt.id, digest, {"planner": "bench", "author": "bench"})
        return {ATTEMPT_TAG: attempt.id}

    binding = replace(VENDOR_RECONCILIATION.binding, task=on.task, resources=ready(on.ports))
    return _run(compile_plan(binding, plan, digest, "default"), instance, another_attempt)


def _plan(steps: int) -> Plan:
    def chain() -> Iterator[dict[str, object]]:
        for n in range(steps):
            yield {
                "id": f"snapshot_{n}",
                "tool": "warehouse.snapshot",
                "args": {"source": "ledger.charges", "target": f"staging.copy_{n}"},
                "depends_on": [f"snapshot_{n - 1}"] if n else [],
            }

    return Plan.model_validate(
        {"task": "vendor_reconciliation", "period": "2026-03", "intent": "Copy, and copy", "steps": list(chain())}
    )
