"""A checkpoint that is no end, or after which nobody may go on."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed


def checkpoint_misplaced(proposal: Proposal) -> Iterator[StaticFinding]:
    """A checkpoint is the last step of a plan whose task allows it, undoes nothing, and another plan may follow."""
    marked = [view for view in proposal.steps if view.step.checkpoint]
    for view in marked:
        after = [name for name in proposal.position if proposal.position[name] > proposal.position[view.id]]
        if not proposal.task.checkpoints:
            yield _finding(view.id, "no checkpoint: the task works by whole plans", "one", "leave the mark out")
        elif view.is_irreversible:
            yield _finding(view.id, "a step that can be undone", "one that cannot", "end at the step before it")
        elif after:
            hint = "leave the steps after it out: they are written when it is known what was seen"
            yield _finding(view.id, "the last step of the plan", f"{listed(after)} after it", hint)
        elif proposal.replans_left < 1:
            hint = "finish: say what was found, or that nothing was"
            yield _finding(view.id, "a plan that finishes, as no further plan may be asked for", "a checkpoint", hint)


def _finding(step: str, expected: str, seen: str, hint: str) -> StaticFinding:
    return StaticFinding("checkpoint-misplaced", step, "checkpoint", expected, seen, hint)
