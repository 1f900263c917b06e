"""Advisories of a folder in the OSV format, and which of them a package at a version falls under.

https://ossf.github.io/osv-schema/, "Evaluation": explicit versions first, then each range with its events in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path
from typing import Any, Literal

from assets.dependency_audit.reading.lockfiles import Package
from assets.dependency_audit.reading.versions import rank
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import digests_under, read_file

Answer = Literal["affected", "clean", "undecided"]
"""`undecided`: the advisory is about the package, and its version cannot be compared."""
BEGINNING = "0"
"""The version before every other."""
LONGEST_SUMMARY = 300
_AT_ONE_VERSION = ("fixed", "introduced", "last_affected")
"""A fix ends what came before it; the last affected version is one, also where it is the first."""


@dataclass(frozen=True, slots=True)
class Range:
    """A stretch of versions, as the events that begin and end it."""

    type: str
    events: tuple[tuple[str, str], ...]
    """(`introduced`, `fixed`, `last_affected` or `limit`, version)."""


@dataclass(frozen=True, slots=True)
class Affected:
    """One package that an advisory is about."""

    ecosystem: str
    name: str
    versions: frozenset[str]
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Advisory:
    """One advisory. Texts are whoever's wrote it."""

    id: str
    summary: str
    affected: tuple[Affected, ...]


def read_advisories(root: Path | None, folder: str) -> tuple[Advisory, ...]:
    """Every advisory of a folder that was not withdrawn.

    Raises:
        PortError: FILE_GONE if there is no such folder; BAD_FORMAT for a file that is no advisory: to pass over one
            would be to call its packages clean. As `readable.read_file`.
    """
    names = digests_under(root, folder, ("*.json",))
    if names is None:
        raise PortError("FILE_GONE", f"there is no folder {folder[:80]!r} with advisories")
    found = []
    for name in sorted(names):
        raw = read_file(root, name)
        try:
            data = json.loads(raw.decode("utf-8"), parse_float=str)
            if data.get("withdrawn") is None:
                found.append(_advisory(data))
        except (ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
            said = f"{type(error).__name__}: {str(error)[:160]!r}"
            raise PortError("BAD_FORMAT", f"{name[:120]!r} is not an OSV advisory: {said}") from error
    return tuple(found)


def _advisory(data: Mapping[str, Any]) -> Advisory:
    identity = data["id"]
    if not isinstance(identity, str) or not 0 < len(identity) <= 100:  # noqa: PLR2004 - an id is a word
        msg = f"its id is {str(identity)[:40]!r}"
        raise ValueError(msg)
    affected = tuple(_affected(entry) for entry in data["affected"] if "package" in entry)
    return Advisory(identity, str(data.get("summary", ""))[:LONGEST_SUMMARY], affected)


def _affected(entry: Mapping[str, Any]) -> Affected:
    package = entry["package"]
    ranges = tuple(
        Range(str(one["type"]), tuple(_event(event) for event in one["events"])) for one in entry.get("ranges", ())
    )
    name, ecosystem = str(package["name"]), str(package["ecosystem"])
    if ecosystem == "PyPI":
        from packaging.utils import canonicalize_name  # noqa: PLC0415 - only where Python's packages are read

        name = canonicalize_name(name)
    return Affected(ecosystem, name, frozenset(map(str, entry.get("versions", ()))), ranges)


def _event(event: Mapping[str, Any]) -> tuple[str, str]:
    ((kind, at),) = event.items()
    if kind not in {*_AT_ONE_VERSION, "limit"}:
        msg = f"event {str(kind)[:40]!r}"
        raise ValueError(msg)
    return kind, str(at)


def by_package(advisories: Iterable[Advisory]) -> dict[tuple[str, str], list[tuple[Advisory, Affected]]]:
    """(ecosystem, name) to everything that is said of it."""
    found: dict[tuple[str, str], list[tuple[Advisory, Affected]]] = {}
    for advisory in advisories:
        for affected in advisory.affected:
            found.setdefault((affected.ecosystem, affected.name), []).append((advisory, affected))
    return found


def judged(package: Package, said: Sequence[Affected]) -> Answer:
    """Whether a version falls under what one advisory says of its package."""
    answers = {_judged(package, affected) for affected in said}
    return "affected" if "affected" in answers else ("undecided" if "undecided" in answers else "clean")


def fixed_version(package: Package, said: Sequence[Affected]) -> str | None:
    """The lowest released fix above the version, which the advisory does not affect itself; None if there is none."""
    fixes: list[tuple[Any, str]] = []
    for affected in said:
        for one in affected.ranges:
            mine = rank(package.ecosystem, one.type, package.version)
            for kind, text in one.events:
                at = rank(package.ecosystem, one.type, text) if kind == "fixed" and mine is not None else None
                if at is not None and at > mine and judged(package._replace(version=text), said) == "clean":
                    fixes.append((at, text))
    return min(fixes, key=_by_rank)[1] if fixes else None


_by_rank = cmp_to_key(lambda one, other: -1 if one[0] < other[0] else int(one[0] > other[0]))


def _judged(package: Package, affected: Affected) -> Answer:
    if package.version in affected.versions:
        return "affected"
    answers = {_in_range(package, one) for one in affected.ranges}
    if "affected" in answers:
        return "affected"
    # With every affected version listed, a range that cannot be compared adds nothing.
    return "undecided" if "undecided" in answers and not affected.versions else "clean"


def _in_range(package: Package, one: Range) -> Answer:
    mine = rank(package.ecosystem, one.type, package.version)
    events = [(kind, text, rank(package.ecosystem, one.type, text)) for kind, text in one.events]
    known = {("introduced", BEGINNING), ("limit", "*")}
    if mine is None or any(at is None and (kind, text) not in known for kind, text, at in events):
        return "undecided"
    limits = [(text, at) for kind, text, at in events if kind == "limit"]
    if limits and not any(text == "*" or mine < at for text, at in limits):
        return "clean"
    inside = False
    for kind, text, at in _in_order(events):
        if kind == "introduced" and (text == BEGINNING or mine >= at):
            inside = True
        elif (kind == "fixed" and mine >= at) or (kind == "last_affected" and mine > at):
            inside = False
    return "affected" if inside else "clean"


def _in_order(events: Sequence[tuple[str, str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """By version; the beginning before everything, and at one version as `_AT_ONE_VERSION` has it."""
    yield from (event for event in events if event[1] == BEGINNING and event[0] == "introduced")
    rest = [event for event in events if event[:2] != ("introduced", BEGINNING) and event[0] != "limit"]

    def compared(one: tuple[str, str, Any], other: tuple[str, str, Any]) -> int:
        if one[2] == other[2]:
            return _AT_ONE_VERSION.index(one[0]) - _AT_ONE_VERSION.index(other[0])
        return -1 if one[2] < other[2] else 1

    yield from sorted(rest, key=cmp_to_key(compared))
