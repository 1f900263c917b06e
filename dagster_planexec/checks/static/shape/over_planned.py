"""More steps than the work needs."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.plan.digest import canonical_bytes

STEPS_PER_TOOL = 3
"""Steps for each tool the deliverables need, beyond which a plan looks padded."""


def over_planned(proposal: Proposal) -> Iterator[StaticFinding]:
    """A plan does each thing once and has not many times more steps than its deliverables need."""
    first: dict[tuple[str, bytes], str] = {}
    for view in proposal.steps:
        key = (view.step.tool, canonical_bytes(view.step.args))
        if key in first:
            yield StaticFinding(
                "over-planned",
                view.id,
                None,
                "a step that does something new",
                f"tool and arguments of step {quoted(first[key])}",
                f"remove it and refer to {first[key]!r}",
                "warning",
            )
        first.setdefault(key, view.id)
    # What an investigation needs is not known beforehand: each of its tools may be it.
    needed = proposal.task.tools if proposal.task.checkpoints else ()
    tools = {*needed, *(tool for made in proposal.task.deliverables for tool in made.tools)}
    most = STEPS_PER_TOOL * max(len(tools), 1)
    if len(proposal.steps) > most:
        yield StaticFinding(
            "over-planned",
            None,
            "steps",
            f"about {len(tools)}, the tools that make the deliverables; hardly more than {most}",
            f"{len(proposal.steps)}",
            "remove the steps that no deliverable needs",
            "warning",
        )
