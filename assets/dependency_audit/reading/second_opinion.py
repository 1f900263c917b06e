"""Advisories judged once more by other means than the tool's: another JSON parser, and stretches instead of events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assets.dependency_audit.reading.lockfiles import Package
from assets.dependency_audit.reading.versions import rank
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import digests_under, read_file

Stretch = tuple[str | None, str | None, bool]
"""From (None: from the beginning), to (None: for ever), and whether the end belongs to it."""


def affected_again(root: Path | None, folder: str, packages: Iterable[Package]) -> frozenset[tuple[Package, str]]:
    """(package, advisory) of everything that is affected, or that nobody can compare.

    Raises:
        PortError: As `readable.read_file`; BAD_FORMAT for a file that this parser cannot read.
    """
    by_name: dict[tuple[str, str], list[Package]] = {}
    for package in set(packages):
        by_name.setdefault(package[:2], []).append(package)
    found: set[tuple[Package, str]] = set()
    for name in sorted(digests_under(root, folder, ("*.json",)) or {}):
        data = _parsed(name, read_file(root, name))
        if data.get("withdrawn") is not None:
            continue
        for entry in data["affected"]:
            about = entry.get("package", {"ecosystem": "", "name": ""})
            for package in by_name.get((str(about["ecosystem"]), _canonical(about)), ()):
                if _falls_under(package, entry):
                    found.add((package, str(data["id"])))
    return frozenset(found)


def _parsed(name: str, raw: bytes) -> dict[str, Any]:
    import duckdb  # noqa: PLC0415 - heavy

    # Only what is judged is taken out of the text; DuckDB's parser cuts it, and what it cut is small.
    text = "select json_extract(?::json, ['$.id', '$.withdrawn', '$.affected'])"
    try:
        with duckdb.connect(":memory:", config={"enable_external_access": False}) as parser:
            row = parser.execute(text, [raw.decode("utf-8")]).fetchone()
        parts = [json.loads(part) if part is not None else None for part in (row or ((),))[0]]
        return dict(zip(("id", "withdrawn", "affected"), parts, strict=True))
    except (duckdb.Error, ValueError) as error:
        raise PortError("BAD_FORMAT", f"{name[:120]!r} cannot be read again: {str(error)[:160]!r}") from error


def _canonical(about: Mapping[str, Any]) -> str:
    name = str(about["name"])
    return re.sub(r"[-_.]+", "-", name).lower() if about["ecosystem"] == "PyPI" else name


def _falls_under(package: Package, entry: Mapping[str, Any]) -> bool:
    if package.version in entry.get("versions", ()):
        return True
    for one in entry.get("ranges", ()):
        mine = rank(package.ecosystem, one["type"], package.version)
        said = {pair for event in one["events"] for pair in event.items()}
        bounds = {text for _, text in said - {("introduced", "0"), ("limit", "*")}}
        if mine is None or any(rank(package.ecosystem, one["type"], text) is None for text in bounds):
            if not entry.get("versions"):
                return True  # nobody can say that it is clean
            continue
        if any(_within(package, one["type"], mine, stretch) for stretch in _stretches(package, one)):
            return True
    return False


def _stretches(package: Package, one: Mapping[str, Any]) -> list[Stretch]:
    """Each beginning with the nearest end after it."""

    def key(text: str) -> Any:  # noqa: ANN401 - what its library compares
        return rank(package.ecosystem, one["type"], text)

    begins = [event["introduced"] for event in one["events"] if "introduced" in event]
    ends = [(event[kind], kind == "last_affected") for event in one["events"] for kind in ("fixed", "last_affected")
            if kind in event]  # fmt: skip
    limits = [event["limit"] for event in one["events"] if "limit" in event and event["limit"] != "*"]
    found: list[Stretch] = []
    for begin in begins:
        after = [e for e in ends if begin == "0" or key(e[0]) > key(begin) or (e[1] and key(e[0]) == key(begin))]
        # At one version a fix comes before the last that is affected: the fix is what counts there.
        nearest = min(after, key=lambda end: (key(end[0]), end[1]), default=(None, False))
        found.append((None if begin == "0" else begin, *nearest))
    bounded = any("limit" in event and event["limit"] == "*" for event in one["events"]) or not limits
    if bounded:
        return found
    farthest = max(limits, key=key)
    return [s if s[1] is not None and key(s[1]) < key(farthest) else (s[0], farthest, False) for s in found]


def _within(package: Package, kind: str, mine: Any, stretch: Stretch) -> bool:  # noqa: ANN401 - as above
    begin, end, inclusive = stretch
    if begin is not None and mine < rank(package.ecosystem, kind, begin):
        return False
    if end is None:
        return True
    last = rank(package.ecosystem, kind, end)
    return bool(mine <= last if inclusive else mine < last)
