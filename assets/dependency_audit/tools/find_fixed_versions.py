"""`find_fixed_versions`: for every match the lowest release that its advisory does not affect, if there is one."""

from __future__ import annotations

from assets.dependency_audit.places import advisories
from assets.dependency_audit.probes import LOOK_S
from assets.dependency_audit.reading.lockfiles import Package
from assets.dependency_audit.reading.osv import by_package, fixed_version, read_advisories
from assets.dependency_audit.tables import FIXES, LOOKED_UP, write_table
from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import FingerprintTable


class FixesArgs(Model):
    """Which looked-up table, and into which table."""

    source: TableName
    target: TableName


class FixesResult(Model):
    """What came of it. A match without a fix is `absent`: an answer, not a failure."""

    table: TableName
    matches: int
    fixed: int
    absent: int


class FindFixedVersions(Tool):
    """Reads the advisories again; the versions in the table are all it takes from the step before."""

    def call(self, args: FixesArgs, call: ToolCall) -> Outcome:
        """One row per match."""
        said = by_package(read_advisories(call.ports.roots.files, advisories(call.period)))
        rows: list[tuple[str | None, ...]] = []
        with call.ports.warehouse.session(deadline_s=LOOK_S) as session:
            source = session.quote(args.source)
            found = session.rows(f"select {', '.join(LOOKED_UP)} from {source} where advisory is not null")
            for row in found:
                lockfile, ecosystem, name, version, verdict, advisory, summary = (str(value) for value in row)
                package = Package(ecosystem, name, version)
                mine = [affected for one, affected in said.get(package[:2], ()) if one.id == advisory]
                fixed = fixed_version(package, mine)
                fix = "absent" if fixed is None else "found"
                rows.append((lockfile, *package, verdict, advisory, summary, fix, fixed))
            write_table(session, args.target, FIXES, rows, read=[args.source])
        fixed = sum(1 for row in rows if row[-1] is not None)
        return Done(FixesResult(table=args.target, matches=len(rows), fixed=fixed, absent=len(rows) - fixed))

    def seal(self, args: FixesArgs, result: FixesResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the interface
        """The table, row for row."""
        return FingerprintTable(result.table)

    contract = ToolContract(
        name="find_fixed_versions",
        description="For every match of a looked-up table, find the lowest fixed version; where none is released, "
        "the fix is reported as absent.",
        args=FixesArgs,
        result=FixesResult,
        effect="write",
        preconditions=("watched_is_unchanged",),
        postconditions=("fixes_are_of_the_advisories",),
        errors={"FILE_GONE": "put the folder of advisories back", "TABLE_GONE": "look the packages up again"},
    )
