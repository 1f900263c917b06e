"""The live data that credits rest on is still what the attempt was opened on."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated, equal
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import live_view
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.subject import Subject

NAME = "evidence_is_unchanged"
_NEVER = "no fingerprint was admitted"


def evidence_is_unchanged(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """One check for each side that is a live table: its rows in scope now, against the admission record."""
    bound: list[BoundCheck] = []
    for side in scope.task.sides:
        view = live_view(scope.task, scope.period, side.name)
        if view is None:
            continue
        admitted = scope.admission.tables.get(side.name, _NEVER)
        stated = Stated(
            admitted, Source(Subject("admission", side.name), "fingerprint at admission", scope.admission.at)
        )
        bound.append(Check(NAME, phase, FingerprintOfView(view), stated, _judge, absent_code="TABLE_GONE"))
    if not bound:
        clause = scope.stated_by_task("inputs")
        return (NotApplicable(NAME, phase, "no side is a live table; landed bytes do not change", clause),)
    return tuple(bound)


def _judge(seen: Observation, against: Observation | Stated) -> Finding:
    admitted = against.value if isinstance(against, Stated) else against["fingerprint"]
    what = f"{seen.source.subject} since admission"
    return equal("APPROVAL_STALE", admitted, seen["fingerprint"], what=what)
