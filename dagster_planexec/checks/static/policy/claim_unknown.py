"""A claim that no check can judge."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.policy.claim_weakens_contract import BOUNDS
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted


def claim_unknown(proposal: Proposal) -> Iterator[StaticFinding]:
    """A claim is the name of a check; a success criterion in prose cannot be judged."""
    known = sorted(proposal.known_checks)
    for view in proposal.steps:
        for at, claim in enumerate(view.step.claims):
            if claim.claim not in proposal.known_checks:
                near = nearest(claim.claim, known)
                yield StaticFinding(
                    "claim-unknown",
                    view.id,
                    f"claims[{at}].claim",
                    f"one of {listed(known, limit=30)}",
                    quoted(claim.claim),
                    f"write {near!r}" if near else "use a check of the list, or leave the claim out",
                )
            for name in claim.args:
                if name not in BOUNDS:
                    yield StaticFinding(
                        "claim-unknown",
                        view.id,
                        f"claims[{at}].args.{name}",
                        f"one of {listed(BOUNDS)}",
                        f"{quoted(name)}, which no check reads",
                        "leave it out",
                        "warning",
                    )
