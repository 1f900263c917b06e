"""A cap that the task does not grant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.contract.task import Limits

_BOUND = re.compile(r"cap|cap_.*|.*_cap|threshold.*|.*_threshold|max_.*")
_LINES = re.compile(r"threshold|lines?|count|rows?")
_DECIMAL = re.compile(r"-?\d{1,30}(\.\d{1,18})?")


def cap_above_policy(proposal: Proposal) -> Iterator[StaticFinding]:
    """A plan may name a lower cap or threshold than the task for what cannot be undone, never a higher one."""
    for view in proposal.steps:
        if not view.is_irreversible:
            continue
        for name, value in view.step.args.items():
            if not is_bound(name) or value is None:
                continue
            limit, clause = limit_of(name, proposal.task.limits)
            amount = plain_number(value)
            if amount is None or amount > limit:
                yield StaticFinding(
                    "cap-above-policy",
                    view.id,
                    f"args.{name}",
                    f"a literal of at most {limit} ({clause} of task {proposal.task.name})",
                    quoted(value),
                    "write a lower value, or leave it out: the task's own limit then counts",
                )


def is_bound(name: str) -> bool:
    """Whether an argument of that name bounds what its step may do."""
    return _BOUND.fullmatch(name) is not None


def limit_of(name: str, limits: Limits) -> tuple[Decimal, str]:
    """The task's limit that an argument of that name lowers, and the clause that states it; one not stated is none."""
    if _LINES.search(name):
        return Decimal(limits.credit_lines_threshold or 0), "credit_lines_threshold"
    return limits.credit_cap or Decimal(0), "credit_cap"


def plain_number(value: Any) -> Decimal | None:  # noqa: ANN401 - any JSON
    """The value of an integer or a plain decimal string; None of anything else, `NaN` and `1e9` included."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) and value.isascii() else None
