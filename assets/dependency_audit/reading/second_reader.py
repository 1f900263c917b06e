"""Lockfiles read once more by other means than the loader's: another JSON parser, and lines instead of TOML."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from assets.dependency_audit.reading.lockfiles import Package
from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import read_file

_NPM = """
select distinct
  coalesce(json_extract_string(value, '$.name'), regexp_replace(key, '^(.|\\n)*node_modules/', '')) as name,
  json_extract_string(value, '$.version') as version
from json_each(?::json, '$.packages')
where contains(key, 'node_modules/') and coalesce(json_extract_string(value, '$.link'), 'false') <> 'true'
"""
_LINE = re.compile(r'(name|version) = ("(?:[^"\\]|\\.)*")\s*')
_LOCAL = re.compile(r"source = \{ *(?:editable|virtual|directory|path) *=")
_SEPARATORS = re.compile(r"[-_.]+")


def count_again(root: Path | None, path: str) -> frozenset[Package]:
    """Every package of a lockfile, each once.

    Raises:
        PortError: As `readable.read_file`; BAD_FORMAT if this reader cannot read it.
    """
    raw = read_file(root, path)
    try:
        return _READERS[posixpath.basename(path)](raw.decode("utf-8"))
    except ValueError as error:
        raise PortError("BAD_FORMAT", f"{path[:80]!r} cannot be counted: {str(error)[:160]!r}") from error


def _npm(text: str) -> frozenset[Package]:
    import duckdb  # noqa: PLC0415 - heavy

    try:
        with duckdb.connect(":memory:", config={"enable_external_access": False}) as parser:
            rows = parser.execute(_NPM, [text]).fetchall()
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    return frozenset(Package("npm", str(name), str(version)) for name, version in rows)


def _uv(text: str) -> frozenset[Package]:
    found: set[Package] = set()
    for block in re.split(r"(?m)^\[\[package\]\]\s*$", text)[1:]:
        head = re.split(r"(?m)^\[", block)[0].splitlines()  # tables of the package follow its own lines
        said = {match[1]: json.loads(match[2]) for line in head if (match := _LINE.fullmatch(line))}
        if not any(_LOCAL.match(line) for line in head):
            name = _SEPARATORS.sub("-", str(said.get("name"))).lower()
            found.add(Package("PyPI", name, str(said.get("version"))))
    return frozenset(found)


_READERS: dict[str, Callable[[str], frozenset[Package]]] = {"package-lock.json": _npm, "uv.lock": _uv}
