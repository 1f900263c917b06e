"""What the probes of one landed copy share: where it lies, how it is read, and what is said where it is not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, landed


@dataclass(frozen=True, slots=True)
class OfCopy(Probe):
    """Something about the contents of one landed copy.

    Args:
        path: The landed copy.
        format: How its bytes become fields.
    """

    path: Path
    format: FileFormat

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    def observe(self, ports: Ports) -> Observation:
        """What `facts` gives; absent where there is no copy. Raises as `facts`."""
        if not self.path.is_file():
            return self.absent(ports, "there is no landed copy of that digest")
        return self.seen(ports, self.facts())

    @abstractmethod
    def facts(self) -> Mapping[str, Fact]:
        """Read it."""
