"""A snapshot is what the attempt was opened on: row for row the live table as it was admitted."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.reconcile.views import input_with_source
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.ports import Fingerprint
from dagster_planexec.world.probes.table.tables import FingerprintTable
from dagster_planexec.world.subject import Subject

NAME = "snapshot_is_as_admitted"


def snapshot_is_as_admitted(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The copy's fingerprint, against that of the live table in scope at admission.

    That the copy equals the table as it is now says nothing if somebody changed the table in between and changes it
    back afterwards.
    """
    named = input_with_source(scope.task, scope.args.source)
    if named is None:
        reason = (
            f"no input of task {scope.task.name} comes from {scope.args.source[:80]}, so nothing of it was admitted"
        )
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("inputs.source")),)
    source = Source(Subject("admission", named.name), "fingerprint at admission", scope.admission.at)
    stated = Stated(scope.admission.tables.get(named.name, "no fingerprint was admitted"), source)
    return (Check(NAME, phase, FingerprintTable(scope.args.target), stated, _judge, absent_code="TABLE_GONE"),)


def _judge(seen: Observation, against: Observation | Stated) -> Finding:
    assert isinstance(against, Stated)  # noqa: S101 - bound above
    found = str(Fingerprint(int(str(seen["rows"])), str(seen["digest"])))
    if found == against.value:
        return Finding("passed", against.value, found, "the copy is the live table as it was admitted")
    text = f"the live table changed after it was admitted: {against.value} then, {found} in the copy"
    return Finding("failed", against.value, found, text, "APPROVAL_STALE")
