"""Probes of manifests: what one states, in the drop or as a landed copy; and what there is to compare with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.manifest.form import MOST_BYTES, MOST_PARTS, ManifestForm, Place
from dagster_planexec.world.delivery.manifest.stated import Stated, read_manifest
from dagster_planexec.world.local.regular import without_links
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.manifest.reading import read_bytes
from dagster_planexec.world.probes.delivery.objects import OfDrop
from dagster_planexec.world.subject import Subject, landed, s3_object

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ManifestInDrop(Probe):
    """What does the manifest under this key state now? Gone from the drop, its landed copy speaks.

    Facts: `sha256` of its bytes, `from_landing`; `problem` if it cannot be used; else `parts` (key to what is stated of
    it, None for a control file), `count`, `rows`, `amount`, `period`, `final`.
    """

    place: Place
    key: str
    form: ManifestForm
    copy: Path
    """Where the copy of the admitted manifest lies."""

    @property
    def subject(self) -> Subject:
        """The manifest."""
        return s3_object(self.place.bucket, self.key)

    @property
    def reader(self) -> str:
        """Read whole."""
        return f"GET, manifest as {self.form.format}"

    def observe(self, ports: Ports) -> Observation:
        """Read it."""
        try:
            raw = read_bytes(ports.objects, self.place.bucket, self.key).raw
        except PortError as error:
            if error.code != "OBJECT_GONE":
                raise
            try:
                raw = _copy(self.copy)
            except FileNotFoundError:
                return self.absent(ports, "the manifest is gone from the drop, and no copy of it was kept")
            return self.seen(ports, {**_facts(raw, self.form, self.place, self.key), "from_landing": True})
        return self.seen(ports, {**_facts(raw, self.form, self.place, self.key), "from_landing": False})


@dataclass(frozen=True, slots=True)
class LandedManifest(Probe):
    """What does the manifest state that was admitted? Facts: as of `ManifestInDrop`."""

    place: Place
    key: str
    form: ManifestForm
    copy: Path

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.copy.name)

    @property
    def reader(self) -> str:
        """Read whole."""
        return f"manifest as {self.form.format}"

    def observe(self, ports: Ports) -> Observation:
        """Read the copy."""
        try:
            raw = _copy(self.copy)
        except FileNotFoundError:
            return self.absent(ports, "there is no copy of the manifest")
        return self.seen(ports, {**_facts(raw, self.form, self.place, self.key), "from_landing": True})


@dataclass(frozen=True, slots=True)
class SizesInDrop(OfDrop):
    """Which objects lie in a drop, and of how many bytes?

    Facts: `objects`, and `sizes`, key to bytes, of the first so many in the order of their keys.
    """

    @property
    def reader(self) -> str:
        """A LIST, page by page, filtered by the pattern."""
        return f"LIST with sizes, keys that match {self.pattern}"

    def observe(self, ports: Ports) -> Observation:
        """List."""
        sizes: dict[str, Fact] = {}
        objects = 0
        for found in self.objects(ports):
            objects += 1
            if objects <= 2 * MOST_PARTS:
                sizes[found.key] = found.size
        return self.seen(ports, {"objects": objects, "sizes": sizes})


@dataclass(frozen=True, slots=True)
class Md5OfLanded(Probe):
    """What is the MD5 of this landed copy? Manifests state it; it proves a slip, not an intent. Facts: `md5`."""

    path: Path

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    @property
    def reader(self) -> str:
        """The whole file."""
        return "MD5 of the file"

    def observe(self, ports: Ports) -> Observation:
        """Hash it."""
        md5 = hashlib.md5(usedforsecurity=False)
        try:
            with open(self.path, "rb", opener=without_links) as file:
                while chunk := file.read(_CHUNK):
                    md5.update(chunk)
        except FileNotFoundError:
            return self.absent(ports, "there is no landed copy of that digest")
        return self.seen(ports, {"md5": md5.hexdigest()})


def _copy(path: Path) -> bytes:
    with open(path, "rb", opener=without_links) as file:
        return file.read(MOST_BYTES + 1)


def _facts(raw: bytes, form: ManifestForm, place: Place, key: str) -> dict[str, Fact]:
    sha256 = hashlib.sha256(raw).hexdigest()
    try:
        stated = read_manifest(raw, form, place, key)
    except PortError as error:
        return {"sha256": sha256, "problem": error.message}
    return {"sha256": sha256, "problem": None, **facts_of(stated)}


def facts_of(stated: Stated) -> dict[str, Fact]:
    """What is stated, as facts of an observation."""
    parts: Mapping[str, Fact] | None = None
    if stated.parts is not None:
        parts = {
            part.key: {
                "size": part.size, "sha256": part.sha256, "md5": part.md5, "rows": part.rows, "amount": part.amount,
            }
            for part in stated.parts.values()
        }  # fmt: skip
    return {
        "parts": parts, "count": stated.count, "rows": stated.rows, "amount": stated.amount, "period": stated.period,
        "final": stated.final,
    }  # fmt: skip
