"""A probe: a request to look at one subject, and the code that looks. Probes know no plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dagster_planexec.world.observation import Fact, Observation, Source

if TYPE_CHECKING:
    from dagster_planexec.world.ports import Ports
    from dagster_planexec.world.subject import Subject


class Probe(ABC):
    """One question about the world. Concrete probes are frozen dataclasses, so equal questions are asked once.

    A check (which is pure) declares probes; the executor runs them through `execute.observer`, which turns every
    exception and every passed deadline into an `errored` observation.
    """

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """The thing that is looked at."""

    @property
    @abstractmethod
    def reader(self) -> str:
        """What does the looking, e.g. `HEAD` or `csv module`; part of the identity of the source."""

    @abstractmethod
    def observe(self, ports: Ports) -> Observation:
        """Look now.

        Raises:
            PortError: The world answered with an error, or not at all.
        """

    def source(self, ports: Ports | None = None) -> Source:
        """The source of what this probe sees; with the present time when ports are given."""
        return Source(self.subject, self.reader, ports.clock.now() if ports else None)

    def seen(self, ports: Ports, facts: Mapping[str, Fact]) -> Observation:
        """An observation of these facts, made now."""
        return Observation(self.source(ports), "seen", dict(facts))

    def absent(self, ports: Ports, message: str = "") -> Observation:
        """The answer that there is nothing there, made now."""
        return Observation(self.source(ports), "absent", {}, None, message)
