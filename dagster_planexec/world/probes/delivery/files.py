"""Probes of the folder of files: what lies in it, and the bytes of one file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import digests_under, read_file
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, file


@dataclass(frozen=True, slots=True)
class FilesUnder(Probe):
    """Which files lie in a folder of the task's files, and below it?

    Args:
        folder: Relative to `Roots.files`.
        patterns: Names that count, as a shell writes them.
    """

    folder: str
    patterns: tuple[str, ...] = ("*",)

    @property
    def subject(self) -> Subject:
        """The folder."""
        return file(f"{self.folder}/{'|'.join(self.patterns)}")

    @property
    def reader(self) -> str:
        """Every file is read once."""
        return "SHA-256 of every file"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `files`, how many; `sha256`, by path."""
        found = digests_under(ports.roots.files, self.folder, self.patterns)
        if found is None:
            return self.absent(ports, f"there is no folder {self.folder[:80]!r}")
        digests: Mapping[str, Fact] = dict(found)
        return self.seen(ports, {"files": len(found), "sha256": digests})


@dataclass(frozen=True, slots=True)
class HashFile(Probe):
    """What are the bytes of one of the task's files?

    Args:
        name: Relative to `Roots.files`.
    """

    name: str

    @property
    def subject(self) -> Subject:
        """The file."""
        return file(self.name)

    @property
    def reader(self) -> str:
        """From its first byte to its last."""
        return "SHA-256 of the file"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `sha256`, `bytes`."""
        try:
            raw = read_file(ports.roots.files, self.name)
        except PortError as error:
            if error.code != "FILE_GONE":
                raise
            return self.absent(ports, error.message)
        return self.seen(ports, {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)})
