"""Looks at lockfiles, advisories and the audit's tables, by other means than the tools' own."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from assets.dependency_audit.reading.lockfiles import Package, lockfiles_beside, read_lockfile
from assets.dependency_audit.reading.osv import by_package, fixed_version, judged, read_advisories
from assets.dependency_audit.reading.second_opinion import affected_again
from assets.dependency_audit.reading.second_reader import count_again
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import read_file
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, file, table

LOOK_S = 60.0
_SHOWN = 20


def digest_of_packages(packages: Iterable[Package]) -> str:
    """One word for a set of packages, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(packages)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PackagesOfLockfile(Probe):
    """Which packages does a lockfile name, read by another parser than the loader's? Facts: `rows`, `digest`."""

    path: str

    @property
    def subject(self) -> Subject:
        """The lockfile."""
        return file(self.path)

    @property
    def reader(self) -> str:
        """Not the loader."""
        return "second reader of lockfiles"

    def observe(self, ports: Ports) -> Observation:
        """Read it."""
        try:
            found = count_again(ports.roots.files, self.path)
        except PortError as error:
            if error.code != "FILE_GONE":
                raise
            return self.absent(ports, error.message)
        return self.seen(ports, {"rows": len(found), "digest": digest_of_packages(found)})


@dataclass(frozen=True, slots=True)
class WorkspacesOfLockfile(Probe):
    """Which other lockfiles lie in the workspaces that a lockfile names? Facts: `lockfiles`, `other_lockfiles`."""

    path: str

    @property
    def subject(self) -> Subject:
        """The lockfile."""
        return file(self.path)

    @property
    def reader(self) -> str:
        """The names it holds, against the folders beside it."""
        return "workspaces of the lockfile"

    def observe(self, ports: Ports) -> Observation:
        """Read it, and look into the folders."""
        try:
            content = read_lockfile(ports.roots.files, self.path)
        except PortError as error:
            if error.code != "FILE_GONE":
                raise
            return self.absent(ports, error.message)
        found = lockfiles_beside(ports.roots.files, self.path, content.workspaces)
        return self.seen(ports, {"lockfiles": found, "other_lockfiles": len(found)})


@dataclass(frozen=True, slots=True)
class PackagesOfTables(Probe):
    """Which packages do these tables hold together? Facts: `rows`, `packages` (each once), `digest`."""

    tables: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The tables."""
        return table(", ".join(self.tables))

    @property
    def reader(self) -> str:
        """A query."""
        return "SQL distinct packages"

    def observe(self, ports: Ports) -> Observation:
        """Read every row."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                selects = [
                    f"select lockfile, ecosystem, name, version from {session.quote(name)}" for name in self.tables
                ]
                rows = session.rows(" union all ".join(selects))
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        each = {tuple(str(value) for value in row) for row in rows}
        packages = [Package(*row[1:]) for row in each]
        return self.seen(ports, {"rows": len(rows), "packages": len(each), "digest": digest_of_packages(packages)})


@dataclass(frozen=True, slots=True)
class VerdictsOfTable(Probe):
    """How many packages of a looked-up table are what? Facts: `packages`, `affected`, `clean`, `undecided`, `matches`,
    `widest` (the advisory with the most packages) and `width`.
    """  # noqa: D205 - the facts are a list

    table: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """A query."""
        return "SQL count of verdicts"

    def observe(self, ports: Ports) -> Observation:
        """Count."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                rows = session.rows(
                    "select lockfile, ecosystem, name, version, verdict, advisory from " + session.quote(self.table)
                )
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        words: dict[tuple[str, ...], set[str]] = {}
        width: Counter[str] = Counter()
        for *package, verdict, advisory in rows:
            words.setdefault(tuple(map(str, package)), set()).add(str(verdict))
            if advisory is not None:
                width[str(advisory)] += 1
        widest, most = width.most_common(1)[0] if width else ("none", 0)
        alone = {word: sum(1 for said in words.values() if said == {word}) for word in ("clean", "undecided")}
        affected = sum(1 for said in words.values() if "affected" in said and "clean" not in said)
        facts = {"packages": len(words), "affected": affected, **alone, "matches": sum(width.values())}
        return self.seen(ports, {**facts, "widest": widest, "width": most})


def _digest_of_matches(found: Iterable[tuple[Package, str]]) -> str:
    return hashlib.sha256(json.dumps(sorted([*package, advisory] for package, advisory in found)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class MatchesOfTable(Probe):
    """Which package falls under which advisory, by a looked-up table? Facts: `matches`, each once, and `digest`."""

    table: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """A query."""
        return "SQL distinct matches"

    def observe(self, ports: Ports) -> Observation:
        """Read every match."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                rows = session.rows(
                    f"select distinct ecosystem, name, version, advisory from {session.quote(self.table)} "
                    "where advisory is not null"
                )
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        found = [(Package(str(e), str(n), str(v)), str(advisory)) for e, n, v, advisory in rows]
        return self.seen(ports, {"matches": len(found), "digest": _digest_of_matches(found)})


@dataclass(frozen=True, slots=True)
class MatchesAgain(Probe):
    """Which of the tables' packages fall under which advisory of a folder? Facts as of `MatchesOfTable`."""

    tables: tuple[str, ...]
    folder: str

    @property
    def subject(self) -> Subject:
        """The advisories."""
        return file(self.folder)

    @property
    def reader(self) -> str:
        """Not the tool's."""
        return "second reader of advisories"

    def observe(self, ports: Ports) -> Observation:
        """Read the packages, then the advisories."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            selects = [f"select ecosystem, name, version from {session.quote(name)}" for name in self.tables]
            try:
                rows = session.rows(" union ".join(selects))
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        found = affected_again(ports.roots.files, self.folder, (Package(*map(str, row)) for row in rows))
        return self.seen(ports, {"matches": len(found), "digest": _digest_of_matches(found)})


@dataclass(frozen=True, slots=True)
class FixesOfTable(Probe):
    """Is every fix of a table one? Facts: `rows`, `found`, `absent`, `wrong` (rows that the advisories contradict).

    Args:
        table: With the fixes.
        matches: The looked-up table that it was made of.
        folder: The advisories, which are read again.
    """

    table: str
    matches: str
    folder: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """The advisories, read again for every row."""
        return "advisories read again"

    def observe(self, ports: Ports) -> Observation:
        """Judge each row by its advisory."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            rows = session.rows(
                "select ecosystem, name, version, advisory, fix, fixed_version from " + session.quote(self.table)
            )
            due = session.rows(f"select count(*) from {session.quote(self.matches)} where advisory is not null")
        said = by_package(read_advisories(ports.roots.files, self.folder))
        wrong: list[str] = []
        for ecosystem, name, version, advisory, fix, fixed in rows:
            package = Package(str(ecosystem), str(name), str(version))
            mine = [affected for one, affected in said.get(package[:2], ()) if one.id == advisory]
            # A fix is a version that the advisory does not affect; that there is none is what it says, too.
            right = (
                fixed is not None and judged(package._replace(version=str(fixed)), mine) == "clean"
                if fix == "found"
                else fixed is None and fixed_version(package, mine) is None
            )
            if not right:
                wrong.append(f"{package.name[:60]} {package.version[:40]} {str(advisory)[:60]}")
        counts = Counter(str(row[4]) for row in rows)
        return self.seen(
            ports,
            {
                "rows": len(rows), "due": int(str(due[0][0])), "found": counts["found"], "absent": counts["absent"],
                "wrong": tuple(wrong[:_SHOWN]),
            },
        )  # fmt: skip


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
