"""What lies in the drop is what its manifest names: each part is there, of the stated size, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.manifest.stated import Declared, declared, named, number, parts_of, text, unusable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.delivery.manifest.probes import SizesInDrop


def parts_are_there(name: str, scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """LIST now against the parts that the manifest names. None where the task declares no manifest.

    A part that was admitted from the landing is there, whatever lies in the drop. An object that no manifest names is
    of an earlier delivery, or a stranger's: loaded, it would be counted beside what was delivered.
    """
    found = declared(scope)
    if found is None:
        return ()
    listing = SizesInDrop(found.drop.bucket, found.drop.prefix, found.drop.pattern_of(scope.period))
    if found.admitted is None:
        return (Check(name, phase, listing, found.not_there, _no_manifest),)
    return (Check(name, phase, listing, found.now(found.admitted), _judge(found, found.admitted)),)


def _no_manifest(observed: Observation, against: Observation | Stated) -> Finding:
    expected = against.value if isinstance(against, Stated) else None
    seen = f"{observed['objects']} objects, and no manifest"
    words = f"the manifest is not there, so nobody can say whether the {observed['objects']} objects are all"
    return Finding("failed", expected, seen, words, "MISSING_PART")


def _judge(found: Declared, admitted: AdmittedObject) -> Judge:
    landed = {o.facts.key: o.facts.size for o in found.scope.admission.objects if o.from_landing}
    period = found.scope.period

    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Observation)  # noqa: S101 - bound above
        shut = unusable(against, admitted, "a manifest that can be used")
        if shut is not None:
            return shut
        stated = text(against["period"])
        if stated is not None and stated not in {period.text, period.key, period.compact}:
            words = f"the manifest says that it is of {stated[:40]!r}, the delivery is that of {period.text}"
            return Finding("failed", period.text, stated[:40], words, "STALE_PERIOD")
        sizes = observed["sizes"]
        assert isinstance(sizes, Mapping)  # noqa: S101 - the probe's own fact
        lying = {**sizes, **landed}
        hidden = (number(observed["objects"]) or 0) - len(sizes)
        if hidden > 0:
            words = f"{observed['objects']} objects match, too many to compare each with the manifest"
            return Finding("not-evaluated", _parts(against["count"]), "too many", words, "DROP_INCOMPLETE")
        return _compared(lying, against)

    return judge


def _compared(lying: Mapping[str, Fact], against: Observation) -> Finding:
    parts, count = parts_of(against), number(against["count"])
    expected = _parts(count)
    if parts is None:
        return _counted(lying, count, expected)
    missing = [key for key in parts if key not in lying]
    there = f"{len(parts) - len(missing)} of {len(parts)} parts"
    if missing:
        words = f"{len(missing)} of {len(parts)} parts that the manifest names are not there: {named(missing)}"
        return Finding("failed", expected, there, words, "MISSING_PART")
    other = [
        f"{key[-80:]!r} has {lying[key]} bytes, the manifest states {part.size}"
        for key, part in parts.items()
        if part.size is not None and part.size != lying[key]
    ]
    if other:
        more = f", and {len(other) - 1} more are of another size" if len(other) > 1 else ""
        return Finding("failed", expected, f"{there}, not all as stated", f"{other[0]}{more}", "OBJECT_CHANGED")
    strangers = [key for key in lying if key not in parts]
    if strangers:
        words = f"{len(strangers)} of {len(lying)} objects in the drop are named by no manifest: {named(strangers)}"
        return Finding("failed", expected, f"{len(lying)} objects", words, "DROP_INCOMPLETE")
    return Finding("passed", expected, there, f"{there} that the manifest names are there")


def _counted(lying: Mapping[str, Fact], count: int | None, expected: str) -> Finding:
    """A control file may say how many parts there are, and names none."""
    seen = _parts(len(lying))
    if count is None or count == len(lying):
        return Finding("passed", expected, seen, f"{seen} in the drop; the control file states {expected}")
    words = f"the control file states {expected}, in the drop lie {len(lying)}: {named(sorted(lying))}"
    return Finding("failed", expected, seen, words, "MISSING_PART" if len(lying) < count else "DROP_INCOMPLETE")


def _parts(count: Fact) -> str:
    return "no number of parts" if count is None else f"{count} part{'' if count == 1 else 's'}"
