"""A claim that asks less than what holds anyway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from dagster_planexec.checks.static.policy.cap_above_policy import limit_of, plain_number
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import StepView


@dataclass(frozen=True, slots=True)
class Bound:
    """How a parameter of a claim is written, and on which side of the contract's value the stricter one lies."""

    type: Literal["integer", "decimal"]
    direction: Literal["at least", "at most"]
    utmost: Decimal | None = None
    """Beyond it nothing can pass; None where there is no such value."""

    def number(self, value: Any) -> Decimal | None:  # noqa: ANN401 - any JSON
        """The value as checks read it; None of another type, which they would pass over."""
        return plain_number(value) if isinstance(value, int if self.type == "integer" else str) else None

    def admits(self, value: Decimal, limit: Decimal) -> bool:
        """Whether a value is at least as strict as the limit, and possible."""
        if self.direction == "at least":
            return value >= limit and (self.utmost is None or value <= self.utmost)
        return value <= limit and (self.utmost is None or value >= self.utmost)


BOUNDS: dict[str, dict[str, Bound]] = {
    "object_is_non_empty": {"min_bytes": Bound("integer", "at least")},
    "extract_has_rows": {"min_rows": Bound("integer", "at least")},
    "both_sides_contribute": {"min_matched_share": Bound("decimal", "at least", Decimal(1))},
    "within_cap": {"cap": Bound("decimal", "at most", Decimal(0))},
    "within_approval_threshold": {"threshold": Bound("integer", "at most", Decimal(0))},
}
"""Check to the parameters that its binder reads from a claim. No other parameter means anything."""

_WRITTEN = {"integer": "an integer", "decimal": "a decimal string"}


def claim_weakens_contract(proposal: Proposal) -> Iterator[StaticFinding]:
    """A claim may only be stricter than what the file contract and the task require, and is made once per step."""
    for view in proposal.steps:
        yield from _repeated(view)
        for at, claim in enumerate(view.step.claims):
            read = BOUNDS.get(claim.claim, {})
            for name, value in claim.args.items():
                if name not in read:
                    continue  # claim-unknown says so
                bound = read[name]
                limit, clause = _limit(proposal, view, name)
                given = bound.number(value)
                if given is None or not bound.admits(given, limit):
                    utmost = f" and {_other(bound)} {bound.utmost}" if bound.utmost is not None else ""
                    yield StaticFinding(
                        "claim-weakens-contract",
                        view.id,
                        f"claims[{at}].args.{name}",
                        f"{_WRITTEN[bound.type]}, {bound.direction} {limit} ({clause}){utmost}",
                        quoted(value),
                        "leave it out, or write a stricter value",
                    )


def _repeated(view: StepView) -> Iterator[StaticFinding]:
    """Of two claims of one check only one can count, and it might be the weaker."""
    counts = Counter(claim.claim for claim in view.step.claims)
    given = {claim.claim for claim in view.step.claims if claim.args}
    told: set[str] = set()
    for at, claim in enumerate(view.step.claims):
        if claim.claim in told and claim.claim in given:
            yield StaticFinding(
                "claim-weakens-contract",
                view.id,
                f"claims[{at}]",
                f"one claim of {claim.claim} with its parameters",
                f"{counts[claim.claim]} claims of it",
                "write the strictest of them, once",
            )
        told.add(claim.claim)


def _other(bound: Bound) -> str:
    return "at most" if bound.direction == "at least" else "at least"


def _limit(proposal: Proposal, view: StepView, name: str) -> tuple[Decimal, str]:
    task = proposal.task
    if name == "min_bytes":
        return Decimal(1), "an object with nothing in it is never a delivery"
    if name == "min_matched_share":
        share = task.limits.min_matched_share
        return (Decimal(1) if share is None else share), f"min_matched_share of task {task.name}"
    if name == "min_rows":
        # A step whose file contract cannot be told may be about any of them: the highest floor is safe for all.
        names = proposal.file_contracts(view) or tuple(task.contracts)
        floor, where = max(((task.contracts[n].min_rows, n) for n in names), default=(1, "every file"))
        return Decimal(floor), f"min_rows of contract {where}"
    limit, clause = limit_of(name, task.limits)
    return limit, f"{clause} of task {task.name}"
