"""The landed copy of a part has the digest that its manifest states."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.manifest.stated import declared, parts_of, unusable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.manifest.probes import Md5OfLanded


def digest_is_as_stated(name: str, scope: StepScope, phase: Phase, copy: Probe, sha256: str) -> tuple[BoundCheck, ...]:
    """One check per digest that the manifest is declared to state; none if it states none, or names no parts.

    Args:
        name: The check's word.
        scope: A fetch step.
        phase: When it is judged.
        copy: The probe that hashes the landed copy; it has the fact `sha256`.
        sha256: The copy's name in the landing.
    """
    found = declared(scope)
    if found is None or found.admitted is None or found.manifest.form.part is None:
        return ()
    words, manifest = found.manifest.form.part, found.as_admitted(found.admitted)
    probes: list[tuple[str, Probe]] = [("sha256", copy)] if words.sha256 else []
    probes += [("md5", Md5OfLanded(scope.roots.landed_path(sha256)))] if words.md5 else []
    return tuple(
        Check(name, phase, probe, manifest, _judge(which, scope.args.key, found.admitted), absent_code="OBJECT_GONE")
        for which, probe in probes
    )


def _judge(which: str, key: str, admitted: AdmittedObject) -> Judge:
    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Observation)  # noqa: S101 - bound above
        shut = unusable(against, admitted, f"the {which} of the part")
        if shut is not None:
            return shut
        part = (parts_of(against) or {}).get(key)
        if part is None:
            words = f"the manifest does not name {key[-80:]!r}"
            return Finding("failed", "a part that the manifest names", "not named", words, "DROP_INCOMPLETE")
        stated, seen = (part.sha256 if which == "sha256" else part.md5), observed[which]
        if stated == seen:
            return Finding("passed", f"{which} {stated}", f"{which} {seen}", f"the {which} that the manifest states")
        words = f"the manifest states {which} {stated} of {key[-80:]!r}, its landed copy has {seen}"
        return Finding("failed", f"{which} {stated}", f"{which} {seen}", words, "OBJECT_CHANGED")

    return judge
