"""A step names a tool that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.structure import Structure


def unknown_tool(structure: Structure) -> Iterator[StaticFinding]:
    """A step may only use a tool that is registered and that the task allows."""
    allowed = frozenset(structure.allowed_tools)
    for view in structure.steps:
        tool = view.step.tool
        if tool in allowed:
            continue
        near = nearest(tool, structure.allowed_tools)
        registered = " (registered, but not allowed by the task)" if view.contract is not None else ""
        yield StaticFinding(
            "unknown-tool",
            view.name,
            "tool",
            f"one of {listed(structure.allowed_tools)}",
            quoted(tool) + registered,
            f"write {near!r}" if near else "use a tool of the list",
        )
