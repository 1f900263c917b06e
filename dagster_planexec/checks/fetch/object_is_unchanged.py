"""The object that the step reads is the one that was admitted, byte for byte."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.fetch.admitted import admitted_object, at, landed_copy, not_admitted, stated_at_admission
from dagster_planexec.checks.manifest.digest import digest_is_as_stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.delivery.objects import DigestOfObject, HeadObject

NAME = "object_is_unchanged"


def object_is_unchanged(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Before the read: ETag and size, or the SHA-256 if the ETag differs. After it: the landed copy's SHA-256.

    A manifest that states digests is compared with the landed copy too: what was admitted may not be what was sent.
    """
    admitted = admitted_object(scope)
    if admitted is None:
        head = HeadObject(scope.args.bucket, scope.args.key)
        return (Check(NAME, phase, head, not_admitted(scope), _never_admitted, by_time=True),)
    if phase == "post" or admitted.from_landing:
        # After the read the tool says which copy it left; a copy of other bytes has another name.
        named = (getattr(scope.result, "landed", None) if phase == "post" else None) or admitted.sha256
        against, copy = stated_at_admission(scope, f"sha256 {admitted.sha256}", "SHA-256"), landed_copy(scope, named)
        stated = digest_is_as_stated(NAME, scope, phase, copy, named)
        return (Check(NAME, phase, copy, against, _landed(admitted)), *stated)
    against = stated_at_admission(scope, _identity(admitted), "ETag, size and SHA-256")
    probe = DigestOfObject(scope.args.bucket, scope.args.key, admitted.facts.etag)
    return (Check(NAME, phase, probe, against, _in_the_drop(admitted), by_time=True),)


def _identity(admitted: AdmittedObject) -> str:
    return f"etag {admitted.facts.etag}, {admitted.facts.size} bytes, sha256 {admitted.sha256}"


def _in_the_drop(admitted: AdmittedObject) -> Judge:
    expected = _identity(admitted)

    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        if observed.state == "absent":
            text = f"claim `{NAME}` broken: expected {expected}, saw no object{at(observed.source.at)}"
            return Finding("failed", expected, "no object", text, "OBJECT_GONE")
        seen = f"etag {observed['etag']}, {observed['size']} bytes"
        if observed["same_etag"] and observed["size"] == admitted.facts.size:
            return Finding("passed", expected, seen, "same ETag and size")
        if observed["sha256"] is not None:
            seen += f", sha256 {observed['sha256']}"
        if observed["sha256"] == admitted.sha256:
            return Finding("passed", expected, seen, "another ETag, same bytes")
        text = f"claim `{NAME}` broken: expected {expected}, saw {seen}{at(observed.source.at)}"
        return Finding("failed", expected, seen, text, "OBJECT_CHANGED")

    return judge


def _landed(admitted: AdmittedObject) -> Judge:
    expected = f"sha256 {admitted.sha256}"

    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        if observed.state == "absent":
            text = f"claim `{NAME}` broken: expected {expected}, saw no landed copy{at(observed.source.at)}"
            return Finding("failed", expected, "no landed copy", text, "OBJECT_GONE")
        seen = f"sha256 {observed['sha256']}"
        if observed["sha256"] == admitted.sha256:
            return Finding("passed", expected, seen, "the landed copy has the bytes that were admitted")
        text = f"claim `{NAME}` broken: expected {expected}, saw {seen} in the landing{at(observed.source.at)}"
        return Finding("failed", expected, seen, text, "OBJECT_CHANGED")

    return judge


def _never_admitted(observed: Observation, _: Observation | Stated) -> Finding:
    seen = "no object" if observed.state == "absent" else f"etag {observed['etag']}"
    text = (
        f"claim `{NAME}` broken: {observed.source.subject} was not admitted with the drop, "
        f"so there is nothing it could be compared with; saw {seen}{at(observed.source.at)}"
    )
    return Finding("failed", "not admitted", seen, text, "VALIDATION_ERROR")
