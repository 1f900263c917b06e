"""Probes of an object store: is it there, is it still the same bytes, what lies in the drop."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, drop, s3_object

MAX_REREADS = 3
"""How often an object that changes while it is read is read again before that is reported."""
MAX_KEYS_SHOWN = 1000
"""Keys kept in the facts of a drop; the count is always exact."""


@dataclass(frozen=True, slots=True)
class HeadObject(Probe):
    """Is there an object under this key, and what does the store say of it?"""

    bucket: str
    key: str

    @property
    def subject(self) -> Subject:
        """The key, whatever version is behind it."""
        return s3_object(self.bucket, self.key)

    @property
    def reader(self) -> str:
        """A HEAD reads nothing of the object."""
        return "HEAD"

    def observe(self, ports: Ports) -> Observation:
        """Size, ETag, version, times; absent with the id of an older version where the store keeps one."""
        found = ports.objects.head(self.bucket, self.key)
        if found is None:
            return self.absent(ports, older_version_text(ports.objects, self.bucket, self.key))
        return self.seen(
            ports,
            {
                "size": found.size,
                "etag": found.etag,
                "version_id": found.version_id,
                "last_modified": found.last_modified,
                "expires_at": found.expires_at,
            },
        )


@dataclass(frozen=True, slots=True)
class DigestOfObject(Probe):
    """Are the bytes under this key the same? Read only if the ETag is not `unless_etag`; nothing is kept."""

    bucket: str
    key: str
    unless_etag: str

    @property
    def subject(self) -> Subject:
        """The key, whatever version is behind it."""
        return s3_object(self.bucket, self.key)

    @property
    def reader(self) -> str:
        """A HEAD first; a whole read only where the ETag is another one."""
        return "HEAD, and GET through SHA-256 if the ETag differs"

    def observe(self, ports: Ports) -> Observation:
        """Size, ETag, `same_etag`, and the SHA-256 if the object had to be read."""
        for _ in range(1 + MAX_REREADS):
            found = ports.objects.head(self.bucket, self.key)
            if found is None:
                return self.absent(ports, older_version_text(ports.objects, self.bucket, self.key))
            if found.etag == self.unless_etag:
                return self.seen(ports, {"size": found.size, "etag": found.etag, "same_etag": True, "sha256": None})
            try:
                read, sha256 = digest(ports.objects, self.bucket, self.key, if_match=found.etag)
            except PortError as error:
                if error.code in {"OBJECT_CHANGED", "OBJECT_GONE"}:
                    continue  # it changed between HEAD and GET: look again
                raise
            return self.seen(ports, {"size": read.size, "etag": read.etag, "same_etag": False, "sha256": sha256})
        raise still_changing(self.bucket, self.key)


@dataclass(frozen=True, slots=True)
class OfDrop(Probe):
    """Something about the objects of one drop.

    Args:
        bucket: The bucket.
        prefix: The literal start of every key of the drop.
        pattern: A regular expression that the whole rest of a key must match.
    """

    bucket: str
    prefix: str
    pattern: str

    @property
    def subject(self) -> Subject:
        """Everything under the prefix."""
        return drop(self.bucket, self.prefix)

    def objects(self, ports: Ports) -> Iterator[ObjectFacts]:
        """What lies there, in the order of the keys."""
        return objects_in_drop(ports.objects, self.bucket, self.prefix, self.pattern)


@dataclass(frozen=True, slots=True)
class ListDrop(OfDrop):
    """Which objects of one drop are there now?"""

    @property
    def reader(self) -> str:
        """A LIST, page by page, filtered by the pattern."""
        return f"LIST, keys that match {self.pattern}"

    def observe(self, ports: Ports) -> Observation:
        """The matching keys (a bounded, sorted tuple), how many they are (exactly), and their bytes."""
        keys: list[str] = []
        objects = size = 0
        for found in self.objects(ports):
            objects += 1
            size += found.size
            if len(keys) < MAX_KEYS_SHOWN:
                keys.append(found.key)
        return self.seen(ports, {"keys": tuple(sorted(keys)), "objects": objects, "bytes": size})


def objects_in_drop(store: ObjectStore, bucket: str, prefix: str, pattern: str) -> Iterator[ObjectFacts]:
    """The objects of a drop. Zero-byte objects count; folder markers (zero bytes, the key ends in `/`) do not."""
    rest = re.compile(pattern)
    for found in store.list(bucket, prefix):
        if found.size == 0 and found.key.endswith("/"):
            continue
        if rest.fullmatch(found.key[len(prefix) :]):
            yield found


def digest(store: ObjectStore, bucket: str, key: str, *, if_match: str | None = None) -> tuple[ObjectFacts, str]:
    """Read an object once through SHA-256, keeping nothing of it. Raises as `ObjectStore.open`."""
    sha256 = hashlib.sha256()
    with store.open(bucket, key, if_match=if_match) as stream:
        for chunk in stream:
            sha256.update(chunk)
        return stream.facts, sha256.hexdigest()


def older_version_text(store: ObjectStore, bucket: str, key: str) -> str:
    """What a person can do about an absent object, if its store keeps versions; else nothing."""
    older = store.older_version(bucket, key)
    return f"an older version is kept: {older}" if older else ""


def still_changing(bucket: str, key: str) -> PortError:
    """The error for an object that was another one at each of several reads."""
    return PortError(
        "OBJECT_CHANGED",
        f"{f'{bucket}/{key}'[:200]!r} changed while it was read, {1 + MAX_REREADS} times in a row",
        hint="wait until the delivery is complete, then run again",
    )
