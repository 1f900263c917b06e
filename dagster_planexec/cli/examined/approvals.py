"""Whether anybody could release what waits, and whether this worker could verify it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster_planexec.cli.examined.examined import Doubt
from dagster_planexec.journal.money.approvals.keys import keys_for

if TYPE_CHECKING:
    from dagster_planexec.contract.task import Task


def approvals(task: Task) -> str | Doubt:
    """Who may decide about holds, and which of them have a key here.

    Raises:
        PlanexecError: As `keys_for`: the key file may be read by others, or holds what is no key.
    """
    policy = task.approval
    if not policy.approvers:
        return Doubt(
            "the task names no approver: what is held stays held",
            "name some in its ApprovalPolicy, if people are to release holds",
        )
    keys = keys_for(policy.approvers)
    without = [name for name in policy.approvers if keys.get(name) is None]
    needs = "two of " if policy.four_eyes else ""
    said = f"{needs}{', '.join(policy.approvers)} may release what waits"
    if not without:
        return f"{said}; all of their keys are here"
    return Doubt(
        f"{said}; no key of {', '.join(without)} in {keys.looked_in}",
        f"`planexec keys new {without[0]}` makes one; a worker without it cannot verify what {without[0]} signs",
    )
