"""Ports that are made already, in the form of the resources a binding wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dagster as dg

from dagster_planexec.compiler.binding import PortResources
from dagster_planexec.world.ports import Ports


@dataclass(frozen=True, slots=True)
class Ready:
    """A resource that has nothing to read from the environment."""

    made: Any

    def get_resource_definition(self) -> dg.ResourceDefinition:
        """What makes this."""
        return dg.ResourceDefinition.hardcoded_resource(self)

    def port(self) -> Any:  # noqa: ANN401 - each port has its own type
        """The port."""
        return self.made


def ready(ports: Ports) -> PortResources:
    """These ports as resources, so that no measure pays for Dagster's configuration."""
    return PortResources(
        objects=Ready(ports.objects),
        warehouse=Ready(ports.warehouse),
        credits=Ready(ports.credits),
        roots=Ready(ports.roots),
        clock=ports.clock,
    )
