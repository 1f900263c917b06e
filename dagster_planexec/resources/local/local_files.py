"""Files on this machine as an object store: for trying a delivery before a bucket holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.local.regular import without_links
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, ObjectStream

_CHUNK = 1 << 20


class LocalFiles(ObjectStore):
    """These files and no others, in one bucket.

    Args:
        bucket: The bucket's name.
        files: Key to file. A key is all that is known of it outside.
    """

    def __init__(self, bucket: str, files: Mapping[str, Path]) -> None:
        self._bucket = bucket
        self._files = dict(files)

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """Size and time of change; the two together stand for an entity tag.

        Raises:
            PortError: BUCKET_GONE, FORBIDDEN, UNAVAILABLE.
        """
        self._must_be_mine(bucket)
        path = self._files.get(key)
        if path is None:
            return None
        try:
            return self._facts(key, path.stat())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refused(key, error) from error

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        """Those that are there, in the order of the keys' bytes. Raises as `head`."""
        for key in sorted(self._files, key=str.encode):
            if key.startswith(prefix) and (facts := self.head(bucket, key)) is not None:
                yield facts

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        """The bytes of a file.

        Raises:
            PortError: OBJECT_GONE, OBJECT_CHANGED, and as `head`.
        """
        self._must_be_mine(bucket)
        path = self._files.get(key)
        if path is None:
            raise PortError("OBJECT_GONE", f"there is no file {key[:80]!r}")
        try:
            stream = os.fdopen(without_links(str(path.resolve()), os.O_RDONLY), "rb")
        except FileNotFoundError as error:
            raise PortError("OBJECT_GONE", f"there is no file {key[:80]!r}") from error
        except OSError as error:
            raise _refused(key, error) from error
        facts = self._facts(key, os.fstat(stream.fileno()))
        if if_match is not None and facts.etag != if_match:
            stream.close()
            raise PortError("OBJECT_CHANGED", f"file {key[:80]!r} was changed while it was read")
        return _FileStream(stream, facts)

    def _facts(self, key: str, seen: os.stat_result) -> ObjectFacts:
        changed = datetime.fromtimestamp(seen.st_mtime_ns // 1_000_000_000, UTC)
        return ObjectFacts(self._bucket, key, seen.st_size, f"{seen.st_size}-{seen.st_mtime_ns}", changed)

    def _must_be_mine(self, bucket: str) -> None:
        if bucket != self._bucket:
            raise PortError("BUCKET_GONE", f"there is no bucket {bucket[:80]!r}; the files are in {self._bucket!r}")


class _FileStream(ObjectStream):
    def __init__(self, stream: object, facts: ObjectFacts) -> None:
        self.facts = facts
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._stream.read(_CHUNK):  # type: ignore[attr-defined]
            yield chunk

    def __exit__(self, *exc: object) -> None:
        self._stream.close()  # type: ignore[attr-defined]


def _refused(key: str, error: OSError) -> PortError:
    code = "FORBIDDEN" if isinstance(error, PermissionError) else "UNAVAILABLE"
    return PortError(code, f"file {key[:80]!r} cannot be read: {error.strerror}")
