"""The object that the step reads has bytes."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.fetch.admitted import admitted_object, at, landed_copy
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.objects import HeadObject

NAME = "object_is_non_empty"


def object_is_non_empty(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The size against one byte, or the greater `min_bytes` of a plan's claim. Even an empty table has a header."""
    admitted = admitted_object(scope)
    observes: Probe = HeadObject(scope.args.bucket, scope.args.key)
    if admitted is not None and admitted.from_landing:
        observes = landed_copy(scope, admitted.sha256)
    least, source = 1, scope.stated_by_contract("at least 1 byte")
    claimed = scope.claimed_count(NAME, "min_bytes")
    if claimed is not None and claimed > least:  # a claim can only make it stricter
        least, source = claimed, scope.stated_by_claim(NAME, "min_bytes")
    return (Check(NAME, phase, observes, Stated(least, source), _judge(least)),)


def _judge(least: int) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        if observed.state == "absent":
            text = f"claim `{NAME}` broken: expected {least} bytes or more, saw no object{at(observed.source.at)}"
            return Finding("failed", least, "no object", text, "OBJECT_GONE")
        size = observed["size"]
        if isinstance(size, int) and size >= least:
            return Finding("passed", least, size, f"{size} bytes")
        text = f"claim `{NAME}` broken: expected {least} bytes or more, saw {size}{at(observed.source.at)}"
        return Finding("failed", least, size, text, "EMPTY_EXTRACT")

    return judge
