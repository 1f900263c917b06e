"""Lockfiles as what they name: packages with exact versions, and the workspaces that have lockfiles of their own."""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from assets.dependency_audit.places import LOCK_NAMES
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import digests_under, read_file

LONGEST_NAME = 214
"""Characters of a package's name, as npm has it."""
LONGEST_VERSION = 256
_INSTALLED = "node_modules/"
_NOT_FROM_A_REGISTRY = frozenset({"editable", "virtual", "directory", "path"})


class Package(NamedTuple):
    """One package at one version, in the words of the OSV format."""

    ecosystem: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Lockfile:
    """What a lockfile says."""

    packages: tuple[Package, ...]
    """Sorted, each once, however often it is installed."""
    workspaces: tuple[str, ...]
    """Folders beside the lockfile, or patterns of them, that are packages of their own."""


def read_lockfile(root: Path | None, path: str) -> Lockfile:
    """The content of a lockfile.

    Raises:
        PortError: As `readable.read_file`; BAD_FORMAT if it is no lockfile, or names what no registry could hold.
    """
    kind = posixpath.basename(path)
    if kind not in _READERS:
        raise PortError(
            "VALIDATION_ERROR", f"{path[:80]!r} is none of the lockfiles that can be read: {', '.join(LOCK_NAMES)}"
        )
    raw = read_file(root, path)
    try:
        found = _READERS[kind](raw.decode("utf-8"))
    except (ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
        said = f"{type(error).__name__}: {str(error)[:160]!r}"
        raise PortError("BAD_FORMAT", f"{path[:80]!r} is not a {kind}: {said}") from error
    for package in found.packages:
        if not 0 < len(package.name) <= LONGEST_NAME or not 0 < len(package.version) <= LONGEST_VERSION:
            raise PortError(
                "BAD_FORMAT",
                f"{path[:80]!r} holds a package whose name has {len(package.name)} characters and its version "
                f"{len(package.version)}: {package.name[:40]!r} {package.version[:40]!r}",
            )
    return found


def lockfiles_beside(root: Path | None, path: str, workspaces: tuple[str, ...]) -> tuple[str, ...]:
    """The lockfiles that lie in the workspaces of a lockfile, by their paths. Nothing outside its folder is looked at.

    Raises:
        PortError: As `readable.digests_under`.
    """
    if not workspaces:
        return ()
    folder = posixpath.dirname(path)
    found = digests_under(root, folder, LOCK_NAMES) or {}
    wanted = tuple(posixpath.normpath(pattern) for pattern in workspaces)
    return tuple(
        name
        for name in sorted(found)
        if name != path and any(fnmatchcase(posixpath.relpath(posixpath.dirname(name), folder), w) for w in wanted)
    )


def _npm(text: str) -> Lockfile:
    data = json.loads(text, parse_constant=_refuse, parse_float=str)
    if data["lockfileVersion"] not in {2, 3}:
        msg = f"lockfileVersion {str(data['lockfileVersion'])[:20]}; 2 and 3 are known"
        raise ValueError(msg)
    packages: set[Package] = set()
    for place, entry in data["packages"].items():
        if _INSTALLED not in place or entry.get("link") is True:
            continue  # the project itself, or a workspace beside it
        name = entry.get("name", place.rpartition(_INSTALLED)[2])
        packages.add(Package("npm", _text(name), _text(entry["version"])))
    declared = data["packages"].get("", {}).get("workspaces", ())
    declared = declared.get("packages", ()) if isinstance(declared, Mapping) else declared
    return Lockfile(tuple(sorted(packages)), tuple(_text(workspace) for workspace in declared))


def _uv(text: str) -> Lockfile:
    from packaging.utils import canonicalize_name  # noqa: PLC0415 - only where Python's packages are read

    data = tomllib.loads(text)
    packages = {
        Package("PyPI", canonicalize_name(_text(entry["name"])), _text(entry["version"]))
        for entry in data["package"]
        if not _NOT_FROM_A_REGISTRY & set(entry["source"])
    }
    return Lockfile(tuple(sorted(packages)), ())


_READERS: dict[str, Callable[[str], Lockfile]] = {"package-lock.json": _npm, "uv.lock": _uv}


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    if not isinstance(value, str):
        msg = f"expected a string, saw a {type(value).__name__}"
        raise TypeError(msg)
    return value


def _refuse(text: str) -> None:
    msg = f"the number {text[:20]}"
    raise ValueError(msg)
