"""A later plan of an attempt that may spend more than the plans before it could."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from dagster_planexec.checks.static.policy.cap_above_policy import is_bound, plain_number
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted


def revision_raises_cap(proposal: Proposal) -> Iterator[StaticFinding]:
    """A cap or threshold that an earlier plan of the attempt named is named again, and not higher."""
    lowest: dict[tuple[str, str], Decimal] = {}
    for plan in proposal.earlier:
        for step in plan.steps:
            for name, value in step.args.items():
                amount = plain_number(value) if is_bound(name) else None
                if amount is not None:
                    key = (step.tool, name)
                    lowest[key] = min(amount, lowest.get(key, amount))
    for view in proposal.steps:
        if not view.is_irreversible:
            continue
        for (tool, name), bound in lowest.items():
            if tool != view.step.tool:
                continue
            value = view.step.args.get(name)
            amount = plain_number(value)
            if amount is None or amount > bound:
                yield StaticFinding(
                    "revision-raises-cap",
                    view.id,
                    f"args.{name}",
                    f"at most {bound}, as an earlier plan of this attempt had it",
                    quoted(value) if name in view.step.args else "nothing",
                    "write the earlier value, or a lower one",
                    arg=name,
                )
