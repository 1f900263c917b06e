"""What the plan says of the world holds: each typed expectation, against a fresh look."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.expectation_words import DROP, DROP_MEASURES, STEP
from dagster_planexec.contract.layout import live_view
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.plan.model import Expectation
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.objects import ListDrop
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.probes.table.tables import DescribeTable
from dagster_planexec.world.subject import Subject

NAME = "expectations_of_the_plan"

_OPS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def expectations_of_the_plan(
    task: Task, period: Period, expects: Sequence[Expectation], admission: Admission, roots: Roots
) -> tuple[BoundCheck, ...]:
    """One check per expectation. What the vocabulary does not know is the static check's finding, not this one's."""
    probes = ((expectation, _probe(task, period, expectation, roots)) for expectation in expects)
    return tuple(_check(expectation, probe, "live", admission) for expectation, probe in probes if probe is not None)


def expectations_of_step(
    step: str, expects: Sequence[Expectation], measured: Callable[[str], Probe]
) -> tuple[BoundCheck, ...]:
    """One check per expectation about a step that is done.

    Args:
        step: The step's id in the plan.
        expects: All expectations of the plan.
        measured: The step's tool's probe for a measure; its facts hold the measure by its name.
    """
    return tuple(
        _check(expectation, measured(expectation.measure), "post", None)
        for expectation in expects
        if expectation.about == f"{STEP}{step}"
    )


def _check(expectation: Expectation, probe: Probe, phase: Phase, admission: Admission | None) -> Check:
    said = f"{expectation.about} {expectation.measure} {expectation.op} {expectation.value}"
    stated = Stated(said, Source(Subject("plan", "expects"), "expectation"))
    gone = "FILE_GONE" if probe.subject.system == "files" else "TABLE_GONE"
    return Check(NAME, phase, probe, stated, _judge(expectation, said, admission), absent_code=gone)


def _probe(task: Task, period: Period, expectation: Expectation, roots: Roots) -> Probe | None:
    drop, watch = task.drop, task.watch(expectation.about)
    if expectation.about == DROP and drop is not None and expectation.measure in DROP_MEASURES:
        return ListDrop(drop.bucket, drop.prefix, drop.pattern_of(period))
    if watch is not None:
        return watch.probe(task, period, roots) if expectation.measure in watch.measures else None
    kind, _, name = expectation.about.partition(":")
    named = next((i for i in task.inputs if i.name == name), None) if kind == "input" else None
    view = live_view(task, period, name) if named is not None else None
    if view is None:
        return None
    if expectation.measure == "rows":
        return FingerprintOfView(view)
    return DescribeTable(view.table) if expectation.measure == "columns" else None


def _judge(expectation: Expectation, said: str, admission: Admission | None) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        seen, more = _measured(expectation, observed, admission)
        try:
            wanted = type(seen)(expectation.value)
            holds = _OPS[expectation.op](seen, wanted)
        except (TypeError, ValueError):
            return Finding(
                "failed", said, seen, f"{expectation.value!r} cannot be compared with {seen!r}", "EXPECTATION_FAILED"
            )
        text = f"the plan expects {said}; saw {seen}{more}"
        return Finding("passed" if holds else "failed", said, seen, text, None if holds else "EXPECTATION_FAILED")

    return judge


def _measured(expectation: Expectation, observed: Observation, admission: Admission | None) -> tuple[int, str]:
    """The measured number. A landed copy stands for an object that is gone from the drop."""
    fact = observed["columns" if expectation.measure == "columns" else expectation.measure]
    if isinstance(fact, dict):
        return len(fact), ""
    assert isinstance(fact, int)  # noqa: S101 - the probes' own facts
    drop = admission.objects if admission is not None and expectation.about == DROP else ()
    landed = [o for o in drop if o.from_landing]
    if not landed:
        return fact, ""
    added = len(landed) if expectation.measure == "objects" else sum(o.facts.size for o in landed)
    return fact + added, f", {len(landed)} of them from the landing"
