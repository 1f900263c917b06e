"""Admission of a drop: each of its objects is read once through SHA-256, and nothing of it is kept."""

from __future__ import annotations

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import ObjectFacts, Ports
from dagster_planexec.world.probes.delivery.objects import MAX_REREADS, digest, objects_in_drop, still_changing


def admit(ports: Ports, bucket: str, prefix: str, pattern: str) -> tuple[tuple[ObjectFacts, str], ...]:
    """Every object of the drop, zero-byte ones too, with its SHA-256; in key order.

    Args:
        ports: The object store is read.
        bucket: The bucket.
        prefix: The literal start of every key of the drop.
        pattern: A regular expression that the whole rest of a key must match.

    Raises:
        PortError: OBJECT_CHANGED if an object was another one at each of several reads; else as `ObjectStore`.
    """
    admitted = (_read(ports, listed) for listed in objects_in_drop(ports.objects, bucket, prefix, pattern))
    return tuple(sorted((pair for pair in admitted if pair is not None), key=lambda pair: pair[0].key))


def _read(ports: Ports, listed: ObjectFacts) -> tuple[ObjectFacts, str] | None:
    """The object and its digest, read while it did not change; None if it is gone by now."""
    bucket, key, etag = listed.bucket, listed.key, listed.etag
    for _ in range(1 + MAX_REREADS):
        try:
            read = digest(ports.objects, bucket, key, if_match=etag)
        except PortError as error:
            if error.code not in {"OBJECT_CHANGED", "OBJECT_GONE"}:
                raise
            read = None
        # Asked after the read: what is admitted is what lay there when its last byte had come.
        now = ports.objects.head(bucket, key)
        if now is None:
            return None
        if read is not None and now.etag == etag:
            return now, read[1]
        etag = now.etag
    raise still_changing(bucket, key)
