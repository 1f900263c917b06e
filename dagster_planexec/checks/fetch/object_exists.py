"""The object that the step reads is there."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.fetch.admitted import admitted_object, at, landed_copy, stated_at_admission
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.objects import HeadObject

NAME = "object_exists"


def object_exists(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """HEAD against the admission record. What was admitted from the landing must exist there, not in the drop."""
    admitted = admitted_object(scope)
    observes: Probe = HeadObject(scope.args.bucket, scope.args.key)
    against: Stated
    if admitted is None:
        against = Stated("an object", scope.stated_by_contract(f"precondition {NAME}"))
    elif admitted.from_landing:
        observes = landed_copy(scope, admitted.sha256)
        against = stated_at_admission(scope, f"landed copy {admitted.sha256}", "landed copy")
    else:
        against = stated_at_admission(scope, f"etag {admitted.facts.etag}", "HEAD")
    return (Check(NAME, phase, observes, against, _judge(str(against.value))),)


def _judge(expected: str) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        if observed.state == "absent":
            more = f"; {observed.message}" if observed.message else ""
            text = f"claim `{NAME}` broken: expected {expected}, saw no object{at(observed.source.at)}{more}"
            # The side carries the older version too: the sentence that people are shown is made of both sides.
            return Finding("failed", expected, f"no object{more}", text, "OBJECT_GONE")
        seen = f"etag {observed['etag']}" if "etag" in observed.facts else f"landed copy {observed['sha256']}"
        return Finding("passed", expected, seen, f"there is an object with {seen}")

    return judge
