"""`read_lockfile`: the packages of one lockfile into a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assets.dependency_audit.probes import WorkspacesOfLockfile
from assets.dependency_audit.reading.lockfiles import lockfiles_beside, read_lockfile
from assets.dependency_audit.tables import PACKAGES, write_table
from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.files import HashFile
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable
from dagster_planexec.world.subject import Subject, table


class ReadLockfileArgs(Model):
    """Which lockfile, and into which table."""

    path: str
    """Below the folder of files, e.g. `lockfiles/2026-03/package-lock.json`."""
    target: TableName


class ReadLockfileResult(Model):
    """What was read."""

    table: TableName
    packages: int
    other_lockfiles: tuple[str, ...]
    """Lockfiles of its workspaces: what it does not hold itself."""


@dataclass(frozen=True, slots=True)
class ReadSeal(Probe):
    """The table as it was written, and the file it was written from. Facts: `rows`, `digest`, `lockfile`."""

    name: str
    path: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.name)

    @property
    def reader(self) -> str:
        """Both are looked at."""
        return "SQL fingerprint, and SHA-256 of the lockfile"

    def observe(self, ports: Ports) -> Observation:
        """Look at the table, then at the file."""
        rows = FingerprintTable(self.name).observe(ports)
        content = HashFile(self.path).observe(ports)
        for one in (rows, content):
            if one.state != "seen":
                return self.absent(ports, one.message)
        return self.seen(ports, {**rows.facts, "lockfile": content["sha256"]})


class ReadLockfile(Tool):
    """Reads; what the lockfile says of others is reported, and read by a step of its own."""

    def call(self, args: ReadLockfileArgs, call: ToolCall) -> Outcome:
        """Parse the file and write its packages."""
        root = call.ports.roots.files
        content = read_lockfile(root, args.path)
        with call.ports.warehouse.session(deadline_s=call.deadline_s) as session:
            rows = ((args.path, *package) for package in content.packages)
            write_table(session, args.target, PACKAGES, rows)
        others = lockfiles_beside(root, args.path, content.workspaces)
        return Done(ReadLockfileResult(table=args.target, packages=len(content.packages), other_lockfiles=others))

    def seal(self, args: ReadLockfileArgs, result: ReadLockfileResult, call: ToolCall) -> Probe:  # noqa: ARG002
        """Table and file."""
        return ReadSeal(result.table, args.path)

    def measure(self, name: str, args: Any, result: ReadLockfileResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002
        """Rows of the table, or lockfiles that the file leads to."""
        return CountTable(result.table) if name == "rows" else WorkspacesOfLockfile(args.path)

    contract = ToolContract(
        name="read_lockfile",
        description="Read one lockfile (package-lock.json, uv.lock) and write its packages into a table. "
        "It does not read the lockfiles of workspaces; its result names them.",
        args=ReadLockfileArgs,
        result=ReadLockfileResult,
        effect="write",
        preconditions=("watched_is_unchanged",),
        postconditions=("packages_are_those_of_the_lockfile",),
        errors={
            "FILE_GONE": "name a lockfile that is there",
            "FORBIDDEN": "the file is a link: put the lockfile itself there",
            "BAD_FORMAT": "have the lockfile made again by its package manager",
            "VALIDATION_ERROR": "name a package-lock.json or uv.lock below the folder of files",
        },
        surprises=("every_lockfile_is_read",),
        measures={
            "rows": "the packages it wrote",
            "other_lockfiles": "lockfiles in workspaces that this one names; each needs a step of its own",
        },
    )
