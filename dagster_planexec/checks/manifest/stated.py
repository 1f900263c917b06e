"""Which manifest speaks for a step's delivery, the probes that read it, and what they found, with its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.checks.check import Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.task import Drop
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.delivery.manifest.probes import LandedManifest, ManifestInDrop

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Declared:
    """The drop's manifest as it is declared, and the admitted one that decides: the newest."""

    scope: StepScope
    drop: Drop
    manifest: Manifest
    admitted: AdmittedObject | None
    """None: no manifest was there when the delivery was admitted."""

    @property
    def not_there(self) -> Stated:
        """The expected side where there is no manifest that could state anything."""
        pattern = f"{self.drop.prefix}{self.manifest.pattern_of(self.scope.period)}"
        return Stated(f"a manifest {pattern[:160]}", self.scope.stated_by_task("drop.manifest"))

    def now(self, admitted: AdmittedObject) -> ManifestInDrop:
        """What the manifest states now; of one that is gone from the drop, its copy."""
        copy = self.scope.roots.landed_path(admitted.sha256)
        return ManifestInDrop(self.drop.place_of(self.scope.period), admitted.facts.key, self.manifest.form, copy)

    def as_admitted(self, admitted: AdmittedObject) -> LandedManifest:
        """What the manifest stated that was admitted."""
        copy = self.scope.roots.landed_path(admitted.sha256)
        return LandedManifest(self.drop.place_of(self.scope.period), admitted.facts.key, self.manifest.form, copy)


def declared(scope: StepScope) -> Declared | None:
    """The manifest of the task's drop; None if the task declares none."""
    drop = scope.task.drop
    if drop is None or drop.manifest is None:
        return None
    return Declared(scope, drop, drop.manifest, scope.admission.manifest)


@dataclass(frozen=True, slots=True)
class Part:
    """What a manifest states of one part; None is not stated."""

    size: int | None
    sha256: str | None
    md5: str | None
    rows: int | None
    amount: Decimal | None


def parts_of(seen: Observation) -> dict[str, Part] | None:
    """The parts by key; None of a control file, which names none."""
    found = seen["parts"]
    if not isinstance(found, Mapping):
        return None
    return {key: _part(part) for key, part in found.items() if isinstance(part, Mapping)}


def _part(part: Mapping[str, Fact]) -> Part:
    return Part(
        number(part["size"]), text(part["sha256"]), text(part["md5"]), number(part["rows"]), money(part["amount"])
    )


def number(fact: Fact) -> int | None:
    """A count, or nothing."""
    return fact if isinstance(fact, int) and not isinstance(fact, bool) else None


def text(fact: Fact) -> str | None:
    """A text, or nothing."""
    return fact if isinstance(fact, str) else None


def money(fact: Fact) -> Decimal | None:
    """An amount, or nothing."""
    return fact if isinstance(fact, Decimal) else None


def unusable(against: Observation, admitted: AdmittedObject, expected: str) -> Finding | None:
    """What shuts the gate before anything is compared: the manifest is gone, is another one, or cannot be read."""
    name = named([admitted.facts.key])
    if against.state != "seen":
        return Finding("failed", expected, "no manifest", f"the manifest {name} is not there", "MISSING_PART")
    if against["sha256"] != admitted.sha256:
        seen = f"sha256 {against['sha256']}"
        words = f"the manifest {name} was replaced since it was admitted: sha256 {admitted.sha256}, now {seen}"
        return Finding("failed", f"sha256 {admitted.sha256}", seen, words, "OBJECT_CHANGED")
    if against["problem"] is not None:
        return Finding("failed", expected, "not usable", f"{name}: {against['problem']}", "BAD_MANIFEST")
    return None


def named(keys: Sequence[str], count: int | None = None) -> str:
    """`'a', 'b' and 3 more`, bounded: keys are the vendor's text."""
    total = len(keys) if count is None else count
    shown = ", ".join(repr(key[-80:]) for key in keys[:_SHOWN])
    return shown + (f" and {total - _SHOWN} more" if total > _SHOWN else "")
