"""The audit's example: two lockfiles and a folder of advisories, made the same every time.

214 packages in the first lockfile, 96 in that of a workspace; 4 of the 310 fall under an advisory, 3 of them are fixed
in a later release. The one without a fix is in the workspace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PERIOD = "2026-03"
FIRST = f"lockfiles/{PERIOD}/package-lock.json"
SECOND = f"lockfiles/{PERIOD}/services/billing/uv.lock"
FIRST_PACKAGES, SECOND_PACKAGES = 214, 96

_HEADS = ("acorn", "amber", "basalt", "birch", "cedar", "cobalt", "copper", "coral", "delta", "ember", "fable", "fern",
          "flint", "garnet", "hazel", "indigo", "jasper", "kelp", "larch", "maple", "nickel", "onyx", "pearl",
          "quartz")  # fmt: skip
_TAILS = ("cache", "codec", "core", "fetch", "glob", "log", "parse", "path", "queue", "router")


def seed(files: Path) -> None:
    """Write what is missing or different below the folder of files."""
    for name, content in contents().items():
        place = files / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_file() or place.read_text(encoding="utf-8") != content:
            place.write_text(content, encoding="utf-8")


def contents() -> dict[str, str]:
    """Every file by its path."""
    found = {FIRST: package_lock(), SECOND: uv_lock()}
    return found | {f"advisories/{PERIOD}/{a['id']}.json": json.dumps(a, indent=1) + "\n" for a in advisories()}


def npm_packages() -> list[tuple[str, str]]:
    """Name and version of every package of the first lockfile."""
    found = [
        (f"@{head}/{tail}" if at % 9 == 0 else f"{head}-{tail}", f"{1 + at % 5}.{at % 13}.{at % 7}")
        for at, (head, tail) in enumerate((h, t) for t in _TAILS for h in _HEADS)
    ]
    return found[:FIRST_PACKAGES]


def python_packages() -> list[tuple[str, str]]:
    """Name and version of every package of the second."""
    pairs = ((h, t) for h in _HEADS for t in _TAILS[:4])
    versions = ("{a}.{b}", "{a}.{b}.{c}", "{a}.{b}rc{c}", "{a}.{b}.post{c}")
    return [
        (f"{head}-py-{tail}", versions[at % 4].format(a=at % 6, b=at % 11, c=1 + at % 5))
        for at, (head, tail) in enumerate(pairs)
    ][:SECOND_PACKAGES]


def package_lock(packages: list[tuple[str, str]] | None = None, workspaces: tuple[str, ...] = ("services/*",)) -> str:
    """A package-lock.json of version 3."""
    entries: dict[str, Any] = {
        "": {"name": "shop", "version": "4.2.0", "workspaces": list(workspaces)},
        "services/billing": {"name": "billing", "version": "0.3.0"},
        "node_modules/billing": {"resolved": "services/billing", "link": True},
    }
    for name, version in packages if packages is not None else npm_packages():
        resolved = f"https://packages.example/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        entries[f"node_modules/{name}"] = {"version": version, "resolved": resolved, "license": "MIT"}
    if packages is None:  # installed twice, at one version: one package
        name, version = npm_packages()[5]
        entries[f"node_modules/{npm_packages()[9][0]}/node_modules/{name}"] = {"version": version, "license": "MIT"}
    data = {"name": "shop", "version": "4.2.0", "lockfileVersion": 3, "requires": True, "packages": entries}
    return json.dumps(data, indent=2) + "\n"


def uv_lock(packages: list[tuple[str, str]] | None = None) -> str:
    """A uv.lock."""
    return "".join(_uv_lines(packages if packages is not None else python_packages()))


def _uv_lines(packages: list[tuple[str, str]]) -> Iterator[str]:
    yield 'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n\n'
    yield '[[package]]\nname = "billing"\nversion = "0.3.0"\nsource = { editable = "." }\n'
    for name, version in packages:
        said, at = json.dumps(name, ensure_ascii=False), json.dumps(version, ensure_ascii=False)
        yield f"\n[[package]]\nname = {said}\nversion = {at}\n"
        yield 'source = { registry = "https://packages.example/simple" }\n'
        yield f'wheels = [\n    {{ url = "https://files.pythonhosted.org/{name[:40]}.whl", size = 1 }},\n]\n'


def advisory(identity: str, summary: str, *affected: dict[str, Any], **more: object) -> dict[str, Any]:
    """One advisory in the OSV format."""
    return {
        "schema_version": "1.7.0", "id": identity, "modified": "2026-03-20T00:00:00Z", "summary": summary,
        "affected": list(affected), **more,
    }  # fmt: skip


def affected(
    ecosystem: str, name: str, *events: dict[str, str], kind: str = "SEMVER", **more: object
) -> dict[str, Any]:
    """One package of an advisory, with one range."""
    ranges = [{"type": kind, "events": list(events)}] if events else []
    return {"package": {"ecosystem": ecosystem, "name": name}, "ranges": ranges, **more}


def advisories() -> list[dict[str, Any]]:
    """Four that match, and eight that look as if they might."""
    npm, python = dict(npm_packages()), dict(python_packages())
    names, modules = list(npm), list(python)
    hit = [names[20], names[77], names[150]]
    missed, unfixed = names[30], modules[41]
    fixes = [_bumped(npm[name]) for name in hit]
    return [
        advisory("GHSA-2x4c-cache-0001", "Path traversal when unpacking archives",
                 affected("npm", hit[0], {"introduced": "0"}, {"fixed": fixes[0]})),
        advisory("GHSA-3p7r-codec-0002", "Prototype pollution through __proto__ keys",
                 affected("npm", hit[1], {"introduced": "0"}, {"fixed": "0.9.0"}, {"introduced": "1.0.0"},
                          {"fixed": fixes[1]})),
        advisory("GHSA-5m9q-glob-0003", "Regular expression denial of service",
                 affected("npm", hit[2], {"introduced": npm[hit[2]]}, {"last_affected": npm[hit[2]]},
                          {"fixed": fixes[2]})),
        advisory("PYSEC-2026-0004", "Signature of invoices is not verified",
                 affected("PyPI", unfixed.replace("-", "_").title(), {"introduced": "0"}, kind="ECOSYSTEM")),
        advisory("GHSA-7h2w-queue-0005", "Fixed in the installed version",
                 affected("npm", missed, {"introduced": "0"}, {"fixed": npm[missed]})),
        advisory("GHSA-8k1v-route-0006", "Begins after the installed version",
                 affected("npm", names[31], {"introduced": "99.0.0"})),
        advisory("GHSA-9j3b-route-0007", "Of another ecosystem", affected("npm", unfixed, {"introduced": "0"})),
        advisory("PYSEC-2026-0008", "Only before the release", affected("PyPI", modules[0], {"introduced": "0"},
                 {"fixed": "0.0a1"}, kind="ECOSYSTEM")),
        advisory("PYSEC-2026-0009", "Withdrawn", affected("PyPI", modules[1], {"introduced": "0"}, kind="ECOSYSTEM"),
                 withdrawn="2026-03-21T00:00:00Z"),
        advisory("PYSEC-2026-0010", "Listed versions only",
                 affected("PyPI", modules[2], versions=["77.1", "77.2"])),
        advisory("GHSA-0a0a-other-0011", "A package that nobody here uses",
                 affected("npm", "left-out", {"introduced": "0"})),
        advisory("GHSA-1b1b-limit-0012", "On a branch that the installed version is not on",
                 affected("npm", names[32], {"introduced": "0"}, {"limit": "0.0.1"})),
    ]  # fmt: skip


def _bumped(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"
