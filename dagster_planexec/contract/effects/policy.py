"""Who may release what waits for a person, for how long, and when a person is asked although no limit is passed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dagster_planexec.errors import PlanexecError

PlanReview = Literal["never", "on-change"]

_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
LONGEST_REASON = 2_000
"""Characters of what a person says."""


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """The task's rules for approvals. Limits (cap, threshold) ask as well, whatever stands here.

    Raises:
        PlanexecError: BAD_CONTRACT if an approver's name or a time is none, or more must agree than there are.
    """

    approvers: tuple[str, ...] = ()
    """Who may decide, by the name under which their key is kept. Nobody: what is held stays held."""
    four_eyes: bool = False
    """Two different approvers must approve; one who rejects is enough."""
    always: bool = False
    """Every irreversible step waits for a person, however little it would do."""
    plan_review: PlanReview = "never"
    """`on-change`: it also waits if the plan is another than that of the last settled period."""
    expires_after_s: float = 7 * 24 * 3600.0
    """Seconds after which nobody can decide about a hold any more. The month has to be run again then."""
    ages_after_s: float = 24 * 3600.0
    """Seconds after which people are reminded of an open hold."""

    def __post_init__(self) -> None:
        wrong = next((name for name in self.approvers if _NAME.fullmatch(name) is None), None)
        if wrong is not None:
            raise _bad(f"approver {wrong[:60]!r}", "a name of a-z, 0-9, ., _ and -")
        if len(set(self.approvers)) != len(self.approvers):
            raise _bad("an approver who is named twice", "each once")
        if self.four_eyes and len(self.approvers) == 1:
            raise _bad("four eyes and one approver", "two approvers or more")
        if self.plan_review not in {"never", "on-change"}:
            raise _bad(f"plan_review {str(self.plan_review)[:40]!r}", "never or on-change")
        if not 0 < self.ages_after_s <= self.expires_after_s:
            raise _bad("a hold that ages after it has expired", "0 < ages_after_s <= expires_after_s")

    @property
    def needed(self) -> int:
        """How many approvers must approve."""
        return 2 if self.four_eyes else 1


def _bad(what: str, expected: str) -> PlanexecError:
    return PlanexecError("BAD_CONTRACT", f"the approval policy has {what}; expected {expected}")
