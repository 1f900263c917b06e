"""A probe of what an expectation suite says of a table. What it saw is also left as a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.expectations.suite import read_suite
from dagster_planexec.world.local.written import write_below
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.subject import Subject, table
from dagster_planexec.world.suite import Told


@dataclass(frozen=True)
class ExpectationsOfTable(Probe):
    """Does the table hold what the suite states?

    Args:
        table: `schema.table`.
        suite: The suite's file.
        sha256: Its bytes as they were admitted.
        page: Where the page goes, part by part below the report root.
    """

    table: str
    suite: Path
    sha256: str
    page: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """The library writes the SQL, the warehouse answers it."""
        return f"Great Expectations as SQL, suite {self.sha256[:12]}"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows`, `stated` (how many expectations there are), `results`, one each in order, and `page`."""
        suite = read_suite(self.suite, sha256=self.sha256)
        try:
            told = ports.warehouse.expectations(suite, self.table, deadline_s=LOOK_S)
        except PortError as error:
            if error.code != "TABLE_GONE":
                raise
            return self.absent(ports, f"there is no table {self.table}")
        results = tuple(_fact(one) for one in told.outcomes)
        facts: dict[str, Fact] = {"rows": told.rows, "stated": len(suite.expectations), "results": results}
        facts["page"] = self._written(ports, told.page) if told.page else ""
        return self.seen(ports, facts)

    def _written(self, ports: Ports, text: str) -> str:
        """Where the page is, or why it is not there. It decides nothing, so a full disk shuts no gate here."""
        try:
            write_below(ports.roots.reports, self.page, text)
        except OSError as error:
            return f"the page could not be written: {error.strerror}"
        return "/".join(self.page)


def _fact(told: Told) -> Mapping[str, Fact]:
    return {
        "expectation": told.expectation, "success": told.success, "observed": told.observed,
        "looked_at": told.looked_at, "unexpected": told.unexpected, "examples": told.examples, "raised": told.raised,
    }  # fmt: skip
