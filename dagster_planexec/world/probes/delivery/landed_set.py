"""A probe of several landed copies at once: which bytes they are, as one set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.landed import HashLanded
from dagster_planexec.world.subject import Subject, landed


@dataclass(frozen=True, slots=True)
class HashesLanded(Probe):
    """What are the bytes of these copies? Args: the path and the name of each in the landing."""

    copies: tuple[tuple[Path, str], ...]

    @property
    def subject(self) -> Subject:
        """The copy, or all of them under one name."""
        if len(self.copies) == 1:
            return landed(self.copies[0][1])
        names = hashlib.sha256("\n".join(sorted(sha256 for _, sha256 in self.copies)).encode()).hexdigest()
        return landed(f"{len(self.copies)} copies, {names[:12]}")

    @property
    def reader(self) -> str:
        """Each is read again."""
        return "SHA-256 of the file" if len(self.copies) == 1 else "SHA-256 of each file"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `sha256`, sorted, each digest once. Absent if one of them is."""
        found = set()
        for path, sha256 in self.copies:
            seen = HashLanded(path, sha256).observe(ports)
            if seen.state != "seen":
                return self.absent(ports, f"there is no landed copy {sha256[:12]}")
            found.add(str(seen["sha256"]))
        return self.seen(ports, {"sha256": tuple(sorted(found))})
