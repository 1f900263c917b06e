"""Reading a manifest's bytes, at most so many of them, and keeping them: they are evidence, and no data."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.manifest.form import MOST_BYTES
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, Ports
from dagster_planexec.world.probes.delivery.objects import MAX_REREADS, objects_in_drop, still_changing


@dataclass(frozen=True, slots=True)
class ManifestBytes:
    """A manifest as it was read once. Of one that is too long there are more bytes than are looked at."""

    facts: ObjectFacts
    raw: bytes

    @property
    def sha256(self) -> str:
        """Of the bytes that were read."""
        return hashlib.sha256(self.raw).hexdigest()


def read_bytes(store: ObjectStore, bucket: str, key: str, *, if_match: str | None = None) -> ManifestBytes:
    """The bytes of a manifest, or one more than are looked at. Raises as `ObjectStore.open`."""
    pieces, size = [], 0
    with store.open(bucket, key, if_match=if_match) as stream:
        for chunk in stream:
            pieces.append(chunk)
            size += len(chunk)
            if size > MOST_BYTES:
                break  # whoever reads it says that it is too long
        return ManifestBytes(stream.facts, b"".join(pieces)[: MOST_BYTES + 1])


def manifests_in_drop(ports: Ports, bucket: str, prefix: str, pattern: str) -> Iterator[ManifestBytes]:
    """Every manifest under the prefix whose key matches, read while it did not change; in no order.

    Raises:
        PortError: OBJECT_CHANGED if one was another at each of several reads; else as `ObjectStore`.
    """
    for listed in objects_in_drop(ports.objects, bucket, prefix, pattern):
        found = _read(ports, listed)
        if found is not None:
            yield found


def _read(ports: Ports, listed: ObjectFacts) -> ManifestBytes | None:
    for _ in range(1 + MAX_REREADS):
        try:
            found = read_bytes(ports.objects, listed.bucket, listed.key)
        except PortError as error:
            if error.code != "OBJECT_GONE":
                raise
            return None
        now = ports.objects.head(listed.bucket, listed.key)
        if now is None:
            return None
        if now.etag == found.facts.etag:
            return ManifestBytes(now, found.raw)
    raise still_changing(listed.bucket, listed.key)


def keep(manifest: ManifestBytes, path: Path) -> None:
    """Put its bytes into the landing, whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".manifest-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(manifest.raw)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
