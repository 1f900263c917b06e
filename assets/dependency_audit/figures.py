"""Looks at the figures of the written audit, and at those that the tables give."""

from __future__ import annotations

import json
from dataclasses import dataclass

from assets.dependency_audit.probes import LOOK_S
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import read_file
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, file, table


@dataclass(frozen=True, slots=True)
class FiguresOfReport(Probe):
    """What figures does the written report hold? Facts: those of its JSON file, under `figures`."""

    name: str

    @property
    def subject(self) -> Subject:
        """The report."""
        return file(f"{self.name}.json")

    @property
    def reader(self) -> str:
        """The file, parsed."""
        return "JSON of the report"

    def observe(self, ports: Ports) -> Observation:
        """Parse it."""
        try:
            data = json.loads(read_file(ports.roots.reports, f"{self.name}.json"))
        except PortError as error:
            if error.code != "FILE_GONE":
                raise
            return self.absent(ports, error.message)
        except ValueError as error:
            raise PortError("BAD_FORMAT", f"report {self.name!r} is no JSON: {str(error)[:100]}") from error
        return self.seen(ports, {"figures": {str(name): int(value) for name, value in data["figures"].items()}})


@dataclass(frozen=True, slots=True)
class FiguresOfTables(Probe):
    """What figures must a report of these two tables hold? Facts: `figures`, by SQL."""

    looked_up: str
    fixes: str

    @property
    def subject(self) -> Subject:
        """The tables."""
        return table(f"{self.looked_up}, {self.fixes}")

    @property
    def reader(self) -> str:
        """Counts."""
        return "SQL counts"

    def observe(self, ports: Ports) -> Observation:
        """Count."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            looked_up, fixes = session.quote(self.looked_up), session.quote(self.fixes)
            ((packages,),) = session.rows(
                f"select count(*) from (select distinct lockfile, ecosystem, name, version from {looked_up})"
            )
            ((matches, undecided),) = session.rows(
                "select count(*) filter (where verdict = 'affected'), count(*) filter (where verdict = 'undecided') "
                f"from {looked_up}"
            )
            ((fixed, absent),) = session.rows(
                "select count(*) filter (where fix = 'found'), count(*) filter (where fix = 'absent') "
                f"from {fixes} where verdict = 'affected'"
            )
        found = {"packages": packages, "matches": matches, "undecided": undecided, "fixed": fixed, "absent": absent}
        return self.seen(ports, {"figures": {name: int(str(value)) for name, value in found.items()}})
