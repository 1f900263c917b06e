"""Probes of control records: what an X12 or NACHA file states about itself, and what a second reading finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.world.delivery.parts import parts_of
from dagster_planexec.world.delivery.records.part import stated_of_part
from dagster_planexec.world.delivery.records.stated import CUT
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.counting.records import found_controls
from dagster_planexec.world.subject import Subject, landed


@dataclass(frozen=True, slots=True)
class StatedControls(Probe):
    """What do the control records state? Facts: `controls`, each with `name`, `line`, `value`; `open`, what is cut."""

    path: Path
    format: FileFormat

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    @property
    def reader(self) -> str:
        """The control records."""
        return "control records, piece by piece"

    def observe(self, ports: Ports) -> Observation:
        """Read to the end. Raises as `stated_of_part`."""
        if not self.path.is_file():
            return self.absent(ports, "there is no landed copy of that digest")
        controls: list[Fact] = []
        cut: list[Fact] = []
        for part in parts_of(self.path, self.format):
            for one in stated_of_part(part):
                if one.found == CUT:
                    cut.append(f"{part.name} ends without {one.name}")
                else:
                    controls.append({"name": one.name, "line": one.line, "value": one.stated})
        return self.seen(ports, {"controls": tuple(controls), "open": tuple(cut)})


@dataclass(frozen=True, slots=True)
class FoundControls(Probe):
    """What is counted for each of them? Facts: `values`, in the order in which the file states them."""

    path: Path
    format: FileFormat

    @property
    def subject(self) -> Subject:
        """The landed copy."""
        return landed(self.path.name)

    @property
    def reader(self) -> str:
        """The second reading."""
        return "patterns over the whole text"

    def observe(self, ports: Ports) -> Observation:
        """Count. Raises as `count_records`."""
        if not self.path.is_file():
            return self.absent(ports, "there is no landed copy of that digest")
        values = tuple(value for part in parts_of(self.path, self.format) for value in found_controls(part))
        return self.seen(ports, {"values": values})
