"""Something that cannot be undone does not wait for what is checked."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, shown_name


def irreversible_without_gate(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step that cannot be undone depends, directly or not, on every step that makes a gated deliverable."""
    final = [view for view in proposal.steps if view.is_irreversible]
    for last in final:
        for made in proposal.task.deliverables:
            if not made.repeatable:
                continue
            for maker in proposal.makers(made.tools):
                if maker.is_irreversible or proposal.ancestry.precedes(maker.id, last.id):
                    continue
                yield StaticFinding(
                    "irreversible-without-gate",
                    last.id,
                    "depends_on",
                    f"{shown_name(maker.id)}, whose checks gate deliverable {made.name}",
                    listed(last.step.depends_on),
                    f"add {shown_name(maker.id)} to depends_on of {shown_name(last.id)}",
                )
