"""A result is used before the step that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted, shown_name


def forward_ref(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step refers to results of steps listed before it."""
    for view in proposal.steps:
        for use in view.uses:
            source = proposal.by_id.get(use.reference.step)
            if source is not None and source.index > view.index:
                yield StaticFinding(
                    "forward-ref",
                    view.id,
                    f"args.{use.reference.path}",
                    f"a step listed before step {view.index + 1}",
                    f"{quoted(str(use.reference))}, made by step {source.index + 1}",
                    f"list {shown_name(source.id)} before {shown_name(view.id)}",
                )
