"""The landed copy has the bytes that came over the wire, and they decode to their end."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.fetch.admitted import (
    admitted_object,
    at,
    landed_copy,
    not_admitted,
    on_the_wire,
    stated_at_admission,
)
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation

NAME = "landed_is_intact"


def landed_is_intact(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Size and SHA-256 of the file against the port's witness; where nothing was read, against the admission."""
    admitted, wire = admitted_object(scope), on_the_wire(scope)
    named = getattr(scope.result, "landed", None) or (admitted.sha256 if admitted else "0" * 64)
    if wire is not None:
        size, sha256 = wire["size"], wire["sha256"]
        against = Stated(_identity(size, sha256), wire.source)
    elif admitted is not None:
        size, sha256 = admitted.facts.size, admitted.sha256
        against = stated_at_admission(scope, _identity(size, sha256), "size and SHA-256")
    else:
        size, sha256, against = None, None, not_admitted(scope)
    return (Check(NAME, phase, landed_copy(scope, named), against, _judge(size, sha256)),)


def _identity(size: Fact, sha256: Fact) -> str:
    return f"{size} bytes, sha256 {sha256}"


def _judge(size: Fact, sha256: Fact) -> Judge:
    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else None
        broken = f"claim `{NAME}` broken: expected {expected}, saw"
        when = at(observed.source.at)
        if observed.state == "absent":
            text = f"{broken} no landed copy{when}"
            return Finding("failed", expected, "no landed copy", text, "OBJECT_GONE")
        seen = _identity(observed["size"], observed["sha256"])
        if sha256 is None:
            text = "the object was neither admitted nor seen on the wire, so there is nothing to compare with"
            return Finding("not-evaluated", expected, seen, text, "VALIDATION_ERROR")
        if (observed["size"], observed["sha256"]) != (size, sha256):
            return Finding("failed", expected, seen, f"{broken} {seen}{when}", "TRUNCATED_STREAM")
        if observed.facts.get("too_large"):
            text = f"claim `{NAME}` broken: {observed['reason']}{when}"
            most = f"at most {observed['most']:,} bytes once it is decoded (`max_bytes` of its contract)"
            return Finding("failed", most, f"more, in {seen}", text, "TOO_LARGE")
        if not observed["decodes"]:
            seen = f"{seen}, undecodable: {observed['reason']}"
            text = f"claim `{NAME}` broken: the file does not decode: {observed['reason']}{when}"
            return Finding("failed", expected, seen, text, "TRUNCATED_STREAM")
        return Finding("passed", expected, seen, f"{seen}; decodes to {observed['decoded_size']} bytes")

    return judge
