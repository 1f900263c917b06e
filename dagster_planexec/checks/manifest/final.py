"""The bill is final, where its manifest says whether it is: a report may be written on an estimate, no money moves."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.manifest.stated import declared, unusable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.delivery.manifest.probes import SizesInDrop


def bill_is_final(name: str, scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """What the admitted manifest says of itself against the task's words for final. None where none are declared."""
    found = declared(scope)
    if found is None or not found.manifest.form.whole.final:
        return ()
    if found.admitted is None:
        listing = SizesInDrop(found.drop.bucket, found.drop.prefix, found.drop.pattern_of(scope.period))
        return (Check(name, phase, listing, found.not_there, _no_manifest),)
    final = Stated(" or ".join(found.manifest.form.final_values), scope.stated_by_task("drop.manifest, final_values"))
    return (Check(name, phase, found.as_admitted(found.admitted), final, _judge(found.admitted, str(final.value))),)


def _no_manifest(observed: Observation, against: Observation | Stated) -> Finding:
    expected = against.value if isinstance(against, Stated) else None
    words = f"no manifest says whether the bill of {observed['objects']} objects is final"
    return Finding("failed", expected, "no manifest", words, "NOT_FINAL")


def _judge(admitted: AdmittedObject, words: str) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        shut = unusable(observed, admitted, words)
        if shut is not None:
            return shut
        if observed["final"] is True:
            return Finding("passed", words, "final", "the manifest says that the bill is final")
        return Finding("failed", words, "not final", "the manifest says that the bill is not final yet", "NOT_FINAL")

    return judge
