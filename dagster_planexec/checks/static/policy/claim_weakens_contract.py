"""A claim that asks less than what holds anyway."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

from dagster_planexec.checks.static.policy.cap_above_policy import limit_of, plain_number
from dagster_planexec.checks.static.proposal import Proposal, StepView
from dagster_planexec.checks.static.rule import StaticFinding, quoted

Direction = Literal["at least", "at most"]

BOUNDS: dict[str, Direction] = {
    "min_bytes": "at least",
    "min_rows": "at least",
    "min_matched_share": "at least",
    "cap": "at most",
    "credit_cap": "at most",
    "threshold": "at most",
    "credit_lines_threshold": "at most",
}
"""Parameters that claims may give, and on which side of the contract's value the stricter one lies."""

_COUNTS = frozenset({"min_bytes", "min_rows", "threshold", "credit_lines_threshold"})
"""What checks read as integers only; a decimal string would be passed over."""


def claim_weakens_contract(proposal: Proposal) -> Iterator[StaticFinding]:
    """A claim may only be stricter than what the file contract and the task require."""
    for view in proposal.steps:
        for at, claim in enumerate(view.step.claims):
            for name, value in claim.args.items():
                direction = BOUNDS.get(name)
                if direction is None:
                    continue  # claim-unknown says so
                bound, clause = _bound(proposal, view, name)
                given = None if name in _COUNTS and isinstance(value, str) else plain_number(value)
                weaker = given is None or (given < bound if direction == "at least" else given > bound)
                if weaker:
                    yield StaticFinding(
                        "claim-weakens-contract",
                        view.id,
                        f"claims[{at}].args.{name}",
                        f"a number, {direction} {bound} ({clause})",
                        quoted(value),
                        "leave it out, or write a stricter value",
                    )


def _bound(proposal: Proposal, view: StepView, name: str) -> tuple[Decimal, str]:
    task = proposal.task
    if name == "min_bytes":
        return Decimal(1), "an object with nothing in it is never a delivery"
    if name == "min_matched_share":
        return task.limits.min_matched_share, f"min_matched_share of task {task.name}"
    if name == "min_rows":
        # A step whose file contract cannot be told may be about any of them: the highest floor is safe for all.
        names = proposal.file_contracts(view) or tuple(task.contracts)
        floor, where = max(((task.contracts[n].min_rows, n) for n in names), default=(1, "every file"))
        return Decimal(floor), f"min_rows of contract {where}"
    limit, clause = limit_of(name, task.limits)
    return limit, f"{clause} of task {task.name}"
