"""A small task with a drop, and a step that fetches from it: for the tests of the step's checks and tool."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from dagster_planexec.checks.check import Check, NotApplicable
from dagster_planexec.checks.fetch.drop_is_complete import drop_is_complete
from dagster_planexec.checks.fetch.landed_is_intact import landed_is_intact
from dagster_planexec.checks.fetch.object_exists import object_exists
from dagster_planexec.checks.fetch.object_is_non_empty import object_is_non_empty
from dagster_planexec.checks.fetch.object_is_unchanged import object_is_unchanged
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.task import Drop, Limits, Scope, Task
from dagster_planexec.contract.tool import Admission, AdmittedObject, ToolCall
from dagster_planexec.contract.verdict import Phase, Verdict, first_shut
from dagster_planexec.errors import PortError
from dagster_planexec.tools.s3_get import S3_GET, S3Get, S3GetArgs
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectStore, Ports
from dagster_planexec.world.probes.delivery.admit import admit
from dagster_planexec.world.probes.delivery.manifest.reading import keep, manifests_in_drop
from tests.support.s3 import S3Bucket, ports

MARCH = Period.parse("2026-03", "month")
KEY = "vendor/exports/2026-03-invoice.csv"
GZ = KEY + ".gz"
ROWS = b"invoice_id,amount\n1,10.00\n2,20.00\n"
BINDERS = {
    "object_exists": object_exists,
    "object_is_non_empty": object_is_non_empty,
    "object_is_unchanged": object_is_unchanged,
    "drop_is_complete": drop_is_complete,
    "landed_is_intact": landed_is_intact,
}


def task_with_drop(bucket: str, manifest: Manifest | None = None) -> Task:
    """A task that reads one drop and makes nothing."""
    return Task(
        name="fetching",
        version="1",
        goal="fetch",
        granularity="month",
        first_period="2026-01",
        zone="UTC",
        tools=("s3.get",),
        drop=Drop(bucket, "vendor/exports/", r"{period}-invoice(-\w+)?\.csv(\.gz)?", "vendor", manifest=manifest),
        inputs=(),
        contracts={},
        deliverables=(),
        limits=Limits("USD", Decimal(500), 50, Decimal("0.9")),
        scope=Scope(frozenset(), frozenset(), {bucket: ("vendor/",)}),
    )


def landing_file(roots_landing: Path, sha256: str) -> Path:
    """Where a landed copy lies."""
    return roots_landing / sha256[:2] / sha256


@dataclass
class Fetching:
    """One fetch step on its way: admitted, judged, called, judged."""

    s3: S3Bucket
    ports: Ports
    args: S3GetArgs
    admission: Admission = field(default_factory=lambda: Admission((), {}, {}))
    consumed: frozenset[tuple[str, str]] = frozenset()
    result: Any = None
    witnessed: list[Observation] = field(default_factory=list)
    claim_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    manifest: Manifest | None = None

    @property
    def task(self) -> Task:
        return task_with_drop(self.s3.name, self.manifest)

    def admit(self) -> Fetching:
        """Admit what lies in the drop now."""
        drop = self.task.drop
        found = admit(self.ports, drop.bucket, drop.prefix, drop.pattern_of(MARCH))
        objects = tuple(AdmittedObject(facts, sha256) for facts, sha256 in found)
        manifests = tuple(self._manifests(drop))
        self.admission = Admission(objects, {}, {}, datetime(2026, 3, 7, 9, 2, tzinfo=UTC), manifests=manifests)
        return self

    def _manifests(self, drop: Drop) -> Iterator[AdmittedObject]:
        """Admitted, and kept."""
        if self.manifest is None:
            return
        for found in manifests_in_drop(self.ports, drop.bucket, drop.prefix, self.manifest.pattern_of(MARCH)):
            keep(found, self.ports.roots.landed_path(found.sha256))
            yield AdmittedObject(found.facts, found.sha256)

    def expired(self) -> Fetching:
        """The drop is gone, and the admission says that the landed copy stands for it."""
        objects = tuple(replace(o, from_landing=True) for o in self.admission.objects)
        self.admission = replace(self.admission, objects=objects)
        for o in objects:
            self.s3.delete(o.facts.key)
        return self

    @property
    def scope(self) -> StepScope:
        return StepScope(
            task=self.task,
            period=MARCH,
            step="fetch_export",
            contract=S3_GET,
            args=self.args,
            result=self.result,
            admission=self.admission,
            roots=self.ports.roots,
            consumed=self.consumed,
            witnessed=tuple(self.witnessed),
            claim_args=self.claim_args,
        )

    def verdicts(self, phase: Phase) -> list[Verdict]:
        """Every verdict of a phase, in contract order."""
        names = S3_GET.preconditions if phase == "pre" else S3_GET.postconditions
        return [verdict for name in names for verdict in self.judge(name, phase)]

    def judge(self, name: str, phase: Phase = "pre") -> list[Verdict]:
        """Bind one check, look, judge."""
        out = []
        for bound in BINDERS[name](self.scope, phase):
            if isinstance(bound, NotApplicable):
                out.append(bound.verdict())
            else:
                out.append(bound.verdict({probe: self._observe(bound, probe) for probe in bound.probes}))
        return out

    def one(self, name: str, phase: Phase = "pre") -> Verdict:
        """The only verdict of a check; both its sides must be named."""
        (verdict,) = self.judge(name, phase)
        assert verdict.expected.value is not None
        assert verdict.observed.value is not None
        assert verdict.expected.source != verdict.observed.source
        return verdict

    def code(self, phase: Phase) -> str | None:
        """The code that the step would end with."""
        shut = first_shut(self.verdicts(phase))
        return shut.code if shut else None

    def call(self, deadline_s: float = 30.0) -> Outcome:
        """Call the tool; keep its result and what was witnessed, as the step runner does."""
        call = ToolCall(self.task, MARCH, "fetch_export", self.ports, self.admission, deadline_s)
        outcome = S3Get().call(self.args, call)
        self.witnessed = call.witnessed
        self.result = outcome.result if isinstance(outcome, Done) else None
        return outcome

    def landed(self) -> list[Path]:
        """Every file in the landing, quarantine included."""
        return sorted(p for p in self.ports.roots.landing.rglob("*") if p.is_file())

    def _observe(self, check: Check, probe: Any) -> Observation:
        try:
            return probe.observe(self.ports)
        except PortError as error:
            return Observation(probe.source(), "errored", {}, error.code, error.message)


def fetching(s3: S3Bucket, folder: Path, key: str = KEY, store: ObjectStore | None = None) -> Fetching:
    """A step that reads one key, which is all that its run reads."""
    args = S3GetArgs(bucket=s3.name, key=key)
    return Fetching(s3, ports(store or s3.store(), folder), args, consumed=frozenset({(s3.name, key)}))


def gzipped(*members: bytes) -> bytes:
    """One gzip file of several members."""
    return b"".join(gzip.compress(member, mtime=0) for member in members)
