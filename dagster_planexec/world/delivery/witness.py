"""The port's own testimony: bytes are counted and hashed as they come in, whoever reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, MutableSequence

from dagster_planexec.world.observation import Fact, Observation, Source
from dagster_planexec.world.ports import ObjectStream, Ports
from dagster_planexec.world.subject import s3_object

READER = "GET, bytes on the wire"


class WitnessedStream(ObjectStream):
    """A stream that, once its last byte has come, writes down what came. A read that breaks off leaves nothing.

    Args:
        stream: The bytes of one object.
        ports: Whose clock says when the last byte came.
        into: Where the observation is appended: size, SHA-256 and ETag.
    """

    def __init__(self, stream: ObjectStream, ports: Ports, into: MutableSequence[Observation]) -> None:
        self.facts = stream.facts
        self._stream = stream
        self._clock = ports.clock
        self._into = into

    def __iter__(self) -> Iterator[bytes]:
        sha256 = hashlib.sha256()
        size = 0
        for chunk in self._stream:
            sha256.update(chunk)
            size += len(chunk)
            yield chunk
        source = Source(s3_object(self.facts.bucket, self.facts.key), READER, self._clock.now())
        facts: dict[str, Fact] = {"size": size, "sha256": sha256.hexdigest(), "etag": self.facts.etag}
        self._into.append(Observation(source, "seen", facts))

    def __exit__(self, *exc: object) -> None:
        self._stream.__exit__(*exc)  # type: ignore[arg-type]


def witnessed_open(
    ports: Ports, bucket: str, key: str, into: MutableSequence[Observation], *, if_match: str | None = None
) -> WitnessedStream:
    """Open an object so that its bytes are witnessed. Raises as `ObjectStore.open`."""
    return WitnessedStream(ports.objects.open(bucket, key, if_match=if_match), ports, into)
