"""Whether what people approved is what would be done now: signatures, then every part of what they are bound to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.execute.effect.approval.terms import differences, terms_of
from dagster_planexec.execute.effect.evidence import read_evidence
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.money.approvals.decisions import Approval, Refused, approval_of
from dagster_planexec.journal.money.approvals.holds import HoldRecord, approved_hold, close_hold, has_begun
from dagster_planexec.journal.money.approvals.keys import keys_for
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.subject import Subject

NAME = "approval_holds"
_MOST = 6
"""Differences that are named; there is rarely more than one."""


@dataclass(frozen=True, slots=True)
class Released:
    """What became of the approval of this month."""

    verdict: Verdict
    approval: Approval | None = None
    """None if it releases nothing."""


def release(
    run: Run, step: Step, resolved: Resolved, preview: Observation | None, codes: Collection[str]
) -> Released | None:
    """Verify the approval of the month, if there is one. One that does not hold good is closed and says why.

    Args:
        run: The run, and through it everything that is looked at.
        step: The irreversible step.
        resolved: Its arguments.
        preview: What it would do now.
        codes: What it asks for now.

    Raises:
        PortError: What it rests on cannot be read now.
        PlanexecError: The approvers' keys cannot be read.
    """
    work = run.work
    held = approved_hold(work.journal, work.task.name, run.period.text)
    if held is None:
        return None
    policy, now = work.task.approval, work.ports.clock.now()
    found = approval_of(work.journal, held, policy, keys_for(policy.approvers), now)
    if isinstance(found, Refused):
        if found.for_good:
            expired = found.code == "HOLD_EXPIRED"
            close_hold(work.journal, held.id, "expired" if expired else "stale", found.text, now=now)
        return Released(_verdict(run, held, "failed", found.text, code=found.code))
    here = terms_of(run, step, resolved, preview, read_evidence(run, step, resolved), codes)
    differing = differences(found.bound, here, begun=has_begun(work.journal, held.id))
    if not differing:
        return Released(_verdict(run, held, "passed", found.words, seen=digest_of(here["evidence"])), found)
    more = f"; and {len(differing) - _MOST} more" if len(differing) > _MOST else ""
    text = f"what was approved under {held.id} is not what would be done now: {'; '.join(differing[:_MOST])}{more}"
    close_hold(work.journal, held.id, "stale", text, now=now)
    return Released(_verdict(run, held, "failed", text, code="APPROVAL_STALE", seen=digest_of(here["evidence"])))


def _verdict(run: Run, held: HoldRecord, status: str, text: str, *, code: str | None = None, seen: str = "") -> Verdict:
    approved = digest_of((held.bound or {}).get("evidence") or {})
    here, now = Subject("world", f"{run.work.task.name} {run.period.text}"), run.work.ports.clock.now()
    return Verdict(
        NAME, "pre", "passed" if status == "passed" else "failed",
        Side(f"evidence {approved[:12]}", Source(Subject("approval", held.id), "signed decisions")),
        Side(f"evidence {seen[:12]}" if seen else "not compared", Source(here, "read again", now)),
        code, text,
    )  # fmt: skip
