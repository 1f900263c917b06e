"""A later plan of an attempt that has less judged than the plans before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed
from dagster_planexec.plan.digest import canonical_bytes
from dagster_planexec.plan.model import Claim, Plan, Step

_STEP = "step:"


def revision_drops_check(proposal: Proposal) -> Iterator[StaticFinding]:
    """What an earlier plan of the attempt claimed of a tool's steps or expected of the world, a later one does too."""
    for tool, claims in _claimed(proposal.earlier).items():
        for view in proposal.steps:
            if view.step.tool != tool:
                continue
            has = {_text(claim) for claim in view.step.claims}
            missing = [claim.claim for text, claim in claims.items() if text not in has]
            if missing:
                yield StaticFinding(
                    "revision-drops-check",
                    view.id,
                    "claims",
                    f"{listed(missing)}, as in an earlier plan of this attempt",
                    "not claimed",
                    "claim it again, with the same arguments",
                )
    tools = {step.id: step.tool for step in proposal.plan.steps}
    measured = {(_about(e.about, tools), e.measure) for e in proposal.plan.expects}
    used = {step.tool for step in proposal.plan.steps}
    for plan in proposal.earlier:
        then = {step.id: step.tool for step in plan.steps}
        for expected in plan.expects:
            about = _about(expected.about, then)
            is_gone = about.startswith(_STEP) and about.removeprefix(_STEP) not in used
            if (about, expected.measure) not in measured and not is_gone:
                measured.add((about, expected.measure))
                yield StaticFinding(
                    "revision-drops-check",
                    None,
                    "expects",
                    f"an expectation of {expected.about} {expected.measure}, as in an earlier plan of this attempt",
                    "none",
                    "expect it again, with the value that holds now",
                )


def _claimed(plans: Sequence[Plan]) -> dict[str, dict[str, Claim]]:
    """Tool to what every step of it claimed in some earlier plan."""
    found: dict[str, dict[str, Claim]] = {}
    for plan in plans:
        steps: dict[str, list[Step]] = {}
        for step in plan.steps:
            steps.setdefault(step.tool, []).append(step)
        for tool, of_tool in steps.items():
            for claim in of_tool[0].claims:
                if all(_text(claim) in {_text(c) for c in step.claims} for step in of_tool):
                    found.setdefault(tool, {})[_text(claim)] = claim
    return found


def _text(claim: Claim) -> str:
    return canonical_bytes(claim.model_dump(mode="json")).decode()


def _about(about: str, tools: dict[str, str]) -> str:
    """An expectation of a step is one of its tool: the step may be called otherwise now."""
    return _STEP + tools.get(about.removeprefix(_STEP), "") if about.startswith(_STEP) else about
