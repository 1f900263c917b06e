"""What a step of the harness costs beside an op written by hand, which works and tells Dagster the same."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import dagster as dg
from dagster import DagsterEventType

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from bench.plans.by_hand import ADMITTED_TAG, IN_SCOPE, by_hand, fingerprint_of
from bench.plans.ready import ready
from bench.scene import MARCH, Scene
from bench.timing import Measured, medians
from dagster_planexec.compiler.job import compile_plan
from dagster_planexec.compiler.plan_run import ATTEMPT_TAG, LEASE_TAG
from dagster_planexec.journal.admission import encode_admission
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.holder import holder_here
from dagster_planexec.journal.money.lease.leases import Lease, take
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan

BUDGET = 1.3
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The same events are stored; a terminal is no part of what is measured."""


@dataclass
class _Case:
    """A job that is run over and over, each time under tags of its own, which are made beforehand."""

    job: dg.JobDefinition
    instance: dg.DagsterInstance
    tags: Callable[[], dict[str, str]]
    next_tags: dict[str, str] = field(default_factory=dict)
    events: Counter[DagsterEventType] = field(default_factory=Counter)

    def prepare(self) -> None:
        self.next_tags = self.tags()

    def run(self) -> None:
        result = self.job.execute_in_process(instance=self.instance, tags=self.next_tags, run_config=_QUIET)
        assert result.success
        self.events = Counter(event.event_type for event in result.all_events)


def step_cost(on: Scene, *, steps: int, rows: int, runs: int) -> Measured:
    """A chain of snapshots, each with its four checks: as a plan's job, and as a job of ops by hand.

    Both run in this process, on one Dagster instance with its files on disk.
    """
    with ExitStack() as open_things:
        os.environ["PLANEXEC_HOME"] = str(on.folder)
        overrides = {"telemetry": {"enabled": False}}
        folder = on.folder / "dagster"
        folder.mkdir()
        instance = open_things.enter_context(dg.DagsterInstance.local_temp(str(folder), overrides=overrides))
        cases = {
            "by_hand": _Case(by_hand(on, steps), instance, lambda: {ADMITTED_TAG: _admitted(on)}),
            "harness": _harness(on, steps, instance, open_things),
        }
        found = medians(
            {name: case.run for name, case in cases.items()},
            runs,
            before={name: case.prepare for name, case in cases.items()},
        )
        shown = {name: _told(case.events) for name, case in cases.items()}
        assert shown["by_hand"] == shown["harness"], shown
    return Measured(
        "step_cost",
        found["harness"] / found["by_hand"],
        "ratio",
        BUDGET,
        found,
        runs,
        {"steps": steps, "rows": rows},
    )


def _told(events: Counter[DagsterEventType]) -> dict[DagsterEventType, int]:
    """What a step tells Dagster. The plan's job has a resource besides, which is set up once."""
    kinds = (DagsterEventType.STEP_START, DagsterEventType.STEP_SUCCESS, DagsterEventType.STEP_OUTPUT)
    return {kind: events[kind] for kind in (*kinds, DagsterEventType.ASSET_CHECK_EVALUATION)}


def _admitted(on: Scene) -> str:
    return str(on.run(fingerprint_of(IN_SCOPE)))


def _harness(on: Scene, steps: int, instance: dg.DagsterInstance, open_things: ExitStack) -> _Case:
    plan = _plan(steps)
    digest = full_digest(plan)
    journal = Journal()
    open_things.callback(journal.close)
    journal.save_plan(plan)

    lease = take(journal, task=on.task.name, period=MARCH.text, holder=holder_here(), lasts_s=3_600)
    assert isinstance(lease, Lease)
    open_things.callback(lease.release)

    def another_attempt() -> dict[str, str]:
        # Within one attempt a second run would reuse what the first has done.
        attempt, _ = journal.open_attempt(
            task=on.task.name, version=on.task.version, period=MARCH.text, inputs_digest="bench",
            admission=encode_admission(on.admission()), anew=True,
        )  # fmt: skip
        journal.adopt_plan(attempt.id, digest, {"planner": "bench", "author": "bench"})
        return {ATTEMPT_TAG: attempt.id, LEASE_TAG: str(lease.token)}

    binding = replace(VENDOR_RECONCILIATION.binding, task=on.task, resources=ready(on.ports))
    return _Case(compile_plan(binding, plan, digest, "default"), instance, another_attempt)


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
