"""A step names a tool that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted


def unknown_tool(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step may only use a tool that is registered and that the task allows."""
    allowed = frozenset(proposal.allowed_tools)
    for view in proposal.steps:
        tool = view.step.tool
        if tool in allowed:
            continue
        near = nearest(tool, proposal.allowed_tools)
        registered = " (registered, but not allowed by the task)" if view.contract is not None else ""
        yield StaticFinding(
            "unknown-tool",
            view.id,
            "tool",
            f"one of {listed(proposal.allowed_tools)}",
            quoted(tool) + registered,
            f"write {near!r}" if near else "use a tool of the list",
        )
