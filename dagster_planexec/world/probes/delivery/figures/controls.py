"""Probes of control records: what an X12 or NACHA file states about itself, and what a second reading finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_planexec.world.delivery.parts import parts_of
from dagster_planexec.world.delivery.records.part import stated_of_part
from dagster_planexec.world.delivery.records.stated import CUT
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.probes.delivery.counting.records import found_controls
from dagster_planexec.world.probes.delivery.figures.copy import OfCopy


@dataclass(frozen=True, slots=True)
class StatedControls(OfCopy):
    """What do the control records state? Facts: `controls`, each with `name`, `line`, `value`; `open`, what is cut."""

    @property
    def reader(self) -> str:
        """The control records."""
        return "control records, piece by piece"

    def facts(self) -> Mapping[str, Fact]:
        """Read to the end. Raises as `stated_of_part`."""
        controls: list[Fact] = []
        cut: list[Fact] = []
        for part in parts_of(self.path, self.format):
            for one in stated_of_part(part):
                if one.found == CUT:
                    cut.append(f"{part.name} ends without {one.name}")
                else:
                    controls.append({"name": one.name, "line": one.line, "value": one.stated})
        return {"controls": tuple(controls), "open": tuple(cut)}


@dataclass(frozen=True, slots=True)
class FoundControls(OfCopy):
    """What is counted for each of them? Facts: `values`, in the order in which the file states them."""

    @property
    def reader(self) -> str:
        """The second reading."""
        return "patterns over the whole text"

    def facts(self) -> Mapping[str, Fact]:
        """Count. Raises as `count_records`."""
        values = tuple(value for part in parts_of(self.path, self.format) for value in found_controls(part))
        return {"values": values}
