"""A step that is named but does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted


def dangling_ref(proposal: Proposal) -> Iterator[StaticFinding]:
    """References and depends_on name steps of this plan."""
    for view in proposal.steps:
        named = [(f"args.{use.reference.path}", use.reference.step) for use in view.uses]
        named += [(f"depends_on[{at}]", name) for at, name in enumerate(view.step.depends_on)]
        for field, name in named:
            if name in proposal.by_id:
                continue
            near = nearest(name, proposal.by_id)
            yield StaticFinding(
                "dangling-ref",
                view.id,
                field,
                f"a step of the plan: {listed(proposal.by_id)}",
                quoted(name),
                f"write {near!r}" if near else "name a step that exists, or add the step",
            )
