"""Catalogues of tools that others described: `{tool, description, parameters}` with a JSON Schema, one a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dagster_planexec.contract.foreign.described_tool import DescribedTool, described_tool
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.json_lines import NotJson, read_lines, what_to_do

_HINT = "one tool a line: {tool, description, parameters}, where parameters is a JSON Schema of an object"


def read_catalogue(path: Path) -> ToolRegistry:
    """The tools of a JSON Lines file, described and not to be called. Blank lines are passed over.

    Raises:
        PlanexecError: BAD_CONTRACT, naming file and line, if it cannot be read, a line is no tool, or two lines
            describe one tool.
    """
    try:
        tools = dict(_tools(path))
    except OSError as error:
        raise PlanexecError(
            "BAD_CONTRACT", f"the catalogue {_shown(path)} cannot be read: {error.strerror or error}",
            hint=what_to_do(error, "a file of JSON Lines, one tool a line"),
        ) from error  # fmt: skip
    if not tools:
        raise PlanexecError("BAD_CONTRACT", f"the catalogue {_shown(path)} holds no tool", hint=_HINT)
    return ToolRegistry(tools.values())


def _tools(path: Path) -> Iterator[tuple[str, DescribedTool]]:
    where: dict[str, int] = {}
    for line in read_lines(path):
        at = f"the catalogue {_shown(path)}, line {line.number}"
        if line.fault is not None or not isinstance(line.value, Mapping):
            raise PlanexecError("BAD_CONTRACT", f"{at}: {line.fault or 'no JSON object'}", hint=_HINT)
        try:
            tool = described_tool(_entry(line.value))
        except PlanexecError as error:
            raise PlanexecError(error.code, f"{at}: {error.message}", hint=_HINT) from error
        name = tool.contract.name
        if name in where:
            raise PlanexecError(
                "BAD_CONTRACT", f"{at}: tool {name[:80]!a} is described in line {where[name]} already",
                hint="keep one of them, or give them different names",
            )  # fmt: skip
        where[name] = line.number
        yield name, tool


def _entry(value: Mapping[str, Any]) -> Mapping[str, Any]:
    twice = next((found for found in value.values() if isinstance(found, NotJson)), None)
    if twice is not None:
        raise PlanexecError("BAD_CONTRACT", f"expected {twice.expected}, saw {twice.seen}")
    half = _half_character(value)
    if half is not None:
        raise PlanexecError("BAD_CONTRACT", f"expected text, saw half a character in {half[:60]!a}")
    return value


def _half_character(value: Any) -> str | None:  # noqa: ANN401 - any JSON
    """The first text, key or value, that no encoding can write: JSON may escape half of a surrogate pair."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str) and not one.isascii() and any("\ud800" <= c <= "\udfff" for c in one):
            return one
    return None


def _shown(path: Path) -> str:
    return str(path)[:300]
