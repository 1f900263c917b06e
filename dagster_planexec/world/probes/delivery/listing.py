"""What lies in a drop, object by object: for whoever plans what to read, where a check needs only names and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probes.delivery.objects import OfDrop

MOST_LISTED = 50
"""Objects described one by one; count and bytes are exact."""


@dataclass(frozen=True, slots=True)
class DescribeDrop(OfDrop):
    """Which objects lie in a drop, how large, and since when?"""

    @property
    def reader(self) -> str:
        """A LIST, page by page, filtered by the pattern."""
        return f"LIST with sizes and times, keys that match {self.pattern}"

    def observe(self, ports: Ports) -> Observation:
        """Facts `objects`, `bytes`, and `listed`: key, bytes and time of the first ones in the order of their keys."""
        listed: list[Mapping[str, Fact]] = []
        objects = size = 0
        for found in self.objects(ports):
            objects += 1
            size += found.size
            if len(listed) < MOST_LISTED:
                listed.append({"key": found.key, "bytes": found.size, "last_modified": found.last_modified})
        return self.seen(ports, {"objects": objects, "bytes": size, "listed": tuple(listed)})
