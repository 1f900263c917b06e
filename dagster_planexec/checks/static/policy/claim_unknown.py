"""A claim that no check can judge."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.policy.claim_weakens_contract import BOUNDS
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.structure import StepView
from dagster_planexec.plan.model import Claim


def claim_unknown(proposal: Proposal) -> Iterator[StaticFinding]:
    """A claim is the name of a check that applies to the step's tool, with parameters that this check reads."""
    known = sorted(proposal.known_checks)
    owners = _owners(proposal)
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
                continue
            of = owners.get(claim.claim)
            required = proposal.task.required_claims.get(view.step.tool, ())
            if (
                of is not None
                and view.contract is not None
                and view.step.tool not in of
                and claim.claim not in required
            ):
                yield _misplaced(proposal, view, at, claim, of)
            yield from _unread(view, at, claim)


def _owners(proposal: Proposal) -> dict[str, list[str]]:
    """The tools whose contracts name a check. A project's own check may be in none, and then fits wherever it binds."""
    found: dict[str, list[str]] = {}
    for name in proposal.registry:
        contract = proposal.registry[name].contract
        for check in {*contract.preconditions, *contract.postconditions}:
            found.setdefault(check, []).append(name)
    return found


def _misplaced(proposal: Proposal, view: StepView, at: int, claim: Claim, owners: list[str]) -> StaticFinding:
    tool = view.step.tool
    own = [name for name, tools in _owners(proposal).items() if tool in tools]
    return StaticFinding(
        "claim-unknown",
        view.id,
        f"claims[{at}].claim",
        f"a check of {tool}: {listed(sorted({*own, *proposal.task.required_claims.get(tool, ())}))}",
        f"{quoted(claim.claim)}, which does not apply to tool {tool}",
        f"claim it of a step of {listed(owners)}, or leave it out",
    )


def _unread(view: StepView, at: int, claim: Claim) -> Iterator[StaticFinding]:
    read = BOUNDS.get(claim.claim, {})
    for name in claim.args:
        if name not in read:
            yield StaticFinding(
                "claim-unknown",
                view.id,
                f"claims[{at}].args.{name}",
                f"a parameter of {claim.claim}: {listed(read)}",
                f"{quoted(name)}, which it does not read",
                "leave it out: a criterion that nothing judges is none",
            )
