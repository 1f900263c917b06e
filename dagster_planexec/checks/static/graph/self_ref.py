"""A step needs itself."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted


def self_ref(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step neither refers to its own result nor depends on itself."""
    for view in proposal.steps:
        named = [(f"args.{use.reference.path}", use.reference.step) for use in view.uses]
        named += [(f"depends_on[{at}]", name) for at, name in enumerate(view.step.depends_on)]
        for field, name in named:
            if name == view.id:
                yield StaticFinding(
                    "self-ref", view.id, field, "another step", quoted(name), "name the step that makes the value"
                )
