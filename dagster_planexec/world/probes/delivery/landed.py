"""Probes of the landing: the bytes of a fetched object as they lie on the disk now."""

from __future__ import annotations

import errno
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.zipped.archive import decode_all
from dagster_planexec.world.ingest import MOST_DECODED, Compression
from dagster_planexec.world.local.regular import without_links
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, landed

_CHUNK = 1 << 20
_PIECE = 1 << 15
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class HashLanded(Probe):
    """What are the bytes of this landed copy, and do they decode to their end?

    Args:
        path: Where it lies.
        sha256: Its name in the landing; what it really hashes to is observed.
        compression: `gzip` and `zip` have it decoded too, with the checksum of every member.
        most: Bytes, decoded, that are looked at; more of them are not unfolded.
        ignored: Patterns of members of an archive that are no data; they are not decoded.
    """

    path: Path
    sha256: str
    compression: Compression = "none"
    most: int = MOST_DECODED
    ignored: tuple[str, ...] = ()

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.sha256)

    @property
    def reader(self) -> str:
        """The file is read again from its first byte to its last."""
        return "SHA-256 of the file" + (f", {self.compression} decoded" if self.compression != "none" else "")

    def observe(self, ports: Ports) -> Observation:
        """Size and SHA-256; `decodes`, `decoded_size` and, if it does not decode, the `reason`.

        Facts `too_large` and `most` are there for a file that holds more than so many, and then `decodes` is False.
        """
        try:
            with open(self.path, "rb", opener=without_links) as file:  # a link could lead out of the landing
                size, sha256 = _digest(file)
                file.seek(0)
                decoded, reason = _decoded(file, self, size)
        except FileNotFoundError:
            return self.absent(ports, "there is no landed copy of that digest")
        except OSError as error:
            code = "FORBIDDEN" if error.errno in {errno.EACCES, errno.ELOOP} else "UNAVAILABLE"
            raise PortError(code, f"landed copy {self.sha256[:12]} cannot be read: {error.strerror}") from error
        facts: dict[str, Fact] = {
            "size": size,
            "sha256": sha256,
            "decodes": reason is None,
            "decoded_size": decoded,
            "reason": reason,
        }
        if decoded > self.most:
            said = f"it holds more than {self.most:,} bytes, which is the most that is declared"
            facts |= {"decodes": False, "reason": said, "too_large": True, "most": self.most}
        return self.seen(ports, facts)


def _digest(file: BinaryIO) -> tuple[int, str]:
    sha256 = hashlib.sha256()
    size = 0
    while chunk := file.read(_CHUNK):
        sha256.update(chunk)
        size += len(chunk)
    return size, sha256.hexdigest()


def _decoded(file: BinaryIO, asked: HashLanded, size: int) -> tuple[int, str | None]:
    match asked.compression:
        case "none":
            return size, None
        case "gzip":
            return _decode(file, asked.most)
        case "zip":
            return decode_all(file, asked.most, asked.ignored)


def _decode(file: BinaryIO, most: int) -> tuple[int, str | None]:
    """The decoded size of all members, and why decoding ended early (None if it did not, or went beyond `most`).

    The gzip module forgives zero bytes behind the last member. DuckDB and pyarrow, which read the file next, do not.
    """
    size = members = 0
    member: _Member | None = None
    try:
        # Short pieces: what follows a member is copied for each of them, and there may be very many.
        for piece in iter(lambda: file.read(_PIECE), b""):
            rest = piece
            while rest:
                member = member or _Member()
                for length in member.feed(rest):
                    size += length
                    if size > most:
                        return size, None
                rest = member.rest
                if member.ended:
                    member, members = None, members + 1
    except zlib.error as error:
        where = f"after {members} whole gzip members" if members else "in the first gzip member"
        return size, f"{where}: {str(error)[:80]}"
    if member is not None or members == 0:
        return size, f"the file ends before gzip member {members + 1} does"
    return size, None


class _Member:
    """One gzip member; decodes in bounded pieces, so that a small file cannot unfold in memory."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(_GZIP)

    def feed(self, data: bytes) -> Iterator[int]:
        while data and not self._decoder.eof:
            yield len(self._decoder.decompress(data, _CHUNK))
            data = self._decoder.unconsumed_tail

    @property
    def ended(self) -> bool:
        return self._decoder.eof

    @property
    def rest(self) -> bytes:
        return self._decoder.unused_data
