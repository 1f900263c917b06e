"""Plans that others wrote, unpacked, and the arithmetic of their faults, written apart from the checker."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

CASES = Path(__file__).resolve().parents[1] / "cases" / "foreign_plans"
SETS = ("nestful", "tau2", "taskbench-huggingface-pred")
FAULTS = (
    "duplicate_ids",
    "unknown_tools",
    "unknown_args",
    "missing_required",
    "type_mismatch",
    "dangling_refs",
    "forward_refs",
    "undeclared_ref_deps",
    "self_refs",
    "cycle",
)
_PYTHON = {"string": str, "array": list, "object": dict, "null": type(None)}


def unpacked(name: str, folder: Path) -> tuple[Path, Path]:
    """The plans and the catalogue of a set, as files of JSON Lines in this folder."""
    found = []
    for packed, kind in ((CASES / f"{name}.jsonl.gz", "plans"), (CASES / "tools" / f"{name}.jsonl.gz", "tools")):
        path = folder / f"{name}-{kind}.jsonl"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        found.append(path)
    return found[0], found[1]


def records(path: Path) -> list[dict[str, Any]]:
    """Every line of a file, by the standard library."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def catalogue(path: Path) -> dict[str, Any]:
    """Tool to its schema."""
    return {entry["tool"]: entry.get("parameters") or {} for entry in records(path)}


def facts_of(steps: list[dict[str, Any]], tools: dict[str, Any]) -> dict[str, Any]:
    """The faults of a plan by the definitions of tests/cases/foreign_plans/README.md; pairs as sets of tuples."""
    place = {step["id"]: at for at, step in enumerate(steps)}
    found: dict[str, Any] = {name: set() for name in FAULTS}
    graph: dict[str, set[str]] = {step["id"]: set() for step in steps}
    for at, step in enumerate(steps):
        own, refs = step["id"], list(refs_in(step["args"]))
        if sum(other["id"] == own for other in steps) > 1:
            found["duplicate_ids"].add(own)
        _arguments(step, tools, found)
        for name in (*refs, *step["deps"]):
            if name not in place:
                found["dangling_refs"].add((own, name))
                continue
            graph[own].add(name)
            if name == own:
                found["self_refs"].add(own)
            if place[name] > at:
                found["forward_refs"].add((own, name))
        found["undeclared_ref_deps"] |= {(own, name) for name in refs if name in place and name not in step["deps"]}
    try:
        TopologicalSorter(graph).prepare()
        found["cycle"] = any(name in needs for name, needs in graph.items())
    except CycleError:
        found["cycle"] = True
    return found


def refs_in(value: Any) -> Iterator[str]:
    """Every `$ref` in a value."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
            return
        value = list(value.values())
    for child in value if isinstance(value, list) else ():
        yield from refs_in(child)


def as_facts(record: dict[str, Any]) -> dict[str, Any]:
    """The faults that a record states, in the form of `facts_of`; a mismatch without the names of the types."""
    stated = {name: record["facts"][name] for name in FAULTS}
    return {
        name: value if name == "cycle" else {tuple(one[:2]) if isinstance(one, list) else one for one in value}
        for name, value in stated.items()
    }


def _arguments(step: dict[str, Any], tools: dict[str, Any], found: dict[str, Any]) -> None:
    if step["tool"] not in tools:
        found["unknown_tools"].add(step["tool"])
        return
    schema = tools[step["tool"]]
    if "properties" not in schema:
        return
    known, given = schema["properties"], step["args"]
    found["unknown_args"] |= {(step["id"], name) for name in given if name not in known}
    found["missing_required"] |= {(step["id"], name) for name in schema.get("required", ()) if name not in given}
    for name, value in given.items():
        declared = known.get(name, {}).get("type")
        if (
            isinstance(declared, str)
            and not (isinstance(value, dict) and "$ref" in value)
            and not _fits(declared, value)
        ):
            found["type_mismatch"].add((step["id"], name))


def _fits(declared: str, value: Any) -> bool:
    if declared in {"integer", "number"}:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole or (declared == "number" and isinstance(value, float))
    if declared == "boolean":
        return isinstance(value, bool)
    return declared not in _PYTHON or isinstance(value, _PYTHON[declared])
