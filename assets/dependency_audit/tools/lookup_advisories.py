"""`lookup_advisories`: every package of the tables against every advisory about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from assets.dependency_audit.places import advisories
from assets.dependency_audit.probes import LOOK_S
from assets.dependency_audit.reading.lockfiles import Package
from assets.dependency_audit.reading.osv import Affected, by_package, judged, read_advisories
from assets.dependency_audit.tables import LOOKED_UP, PACKAGES, write_table
from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.files import FilesUnder
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.subject import Subject, table


class LookupArgs(Model):
    """Which tables of packages, and into which table."""

    packages: tuple[TableName, ...] = Field(min_length=1)
    target: TableName


class LookupResult(Model):
    """What came of it."""

    table: TableName
    packages: int
    matches: int
    undecided: int
    """Packages whose version no advisory about them can be compared with."""


@dataclass(frozen=True, slots=True)
class LookupSeal(Probe):
    """The table as it was written, and the advisories it was written by. Facts: `rows`, `digest`, `advisories`."""

    name: str
    folder: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.name)

    @property
    def reader(self) -> str:
        """Both are looked at."""
        return "SQL fingerprint, and SHA-256 of the advisories"

    def observe(self, ports: Ports) -> Observation:
        """Look at the table, then at the folder."""
        rows = FingerprintTable(self.name).observe(ports)
        content = FilesUnder(self.folder, ("*.json",)).observe(ports)
        for one in (rows, content):
            if one.state != "seen":
                return self.absent(ports, one.message)
        return self.seen(ports, {**rows.facts, "advisories": content["sha256"]})


class LookupAdvisories(Tool):
    """Writes a row for every package, so that one that was never looked up is missed."""

    def call(self, args: LookupArgs, call: ToolCall) -> Outcome:
        """Read the advisories once, then judge package by package."""
        said = by_package(read_advisories(call.ports.roots.files, advisories(call.period)))
        rows: list[tuple[str | None, ...]] = []
        packages = matches = undecided = 0
        with call.ports.warehouse.session(deadline_s=LOOK_S) as session:
            for name in dict.fromkeys(args.packages):
                for row in session.rows(f"select {', '.join(PACKAGES)} from {session.quote(name)}"):
                    lockfile, *what = (str(value) for value in row)
                    package = Package(*what)
                    packages += 1
                    by_advisory: dict[str, tuple[str, list[Affected]]] = {}
                    for advisory, affected in said.get(package[:2], ()):
                        by_advisory.setdefault(advisory.id, (advisory.summary, []))[1].append(affected)
                    answers = [(judged(package, all_), i, text) for i, (text, all_) in by_advisory.items()]
                    found = [(answer, i, text) for answer, i, text in answers if answer != "clean"]
                    matches += sum(1 for answer, *_ in found if answer == "affected")
                    undecided += bool(found) and all(answer == "undecided" for answer, *_ in found)
                    rows += [(lockfile, *package, *one) for one in found or [("clean", None, None)]]
            write_table(session, args.target, LOOKED_UP, rows, read=args.packages)
        return Done(LookupResult(table=args.target, packages=packages, matches=matches, undecided=undecided))

    def seal(self, args: LookupArgs, result: LookupResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the interface
        """Table and advisories."""
        return LookupSeal(result.table, advisories(call.period))

    def measure(self, name: str, args: Any, result: LookupResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002
        """The rows of the table."""
        return CountTable(result.table)

    contract = ToolContract(
        name="lookup_advisories",
        description="Look up every package of one or more package tables in the advisories; writes one row per match, "
        "and one for each package without any.",
        args=LookupArgs,
        result=LookupResult,
        effect="write",
        preconditions=("watched_is_unchanged",),
        postconditions=(
            "every_package_is_looked_up",
            "no_advisory_is_everywhere",
            "matches_are_those_of_the_advisories",
        ),
        errors={
            "FILE_GONE": "put the folder of advisories back",
            "BAD_FORMAT": "have the advisory that is named fetched again; none is passed over",
            "TABLE_GONE": "read the lockfile again",
        },
        measures={"rows": "matches, and packages without any"},
    )
