"""Holding a month while it is settled: take the lease, clear away what an earlier holder left, give it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.step.call import GRACE_S
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.money.lease.holder import holder_here
from dagster_planexec.journal.money.lease.leases import Lease, Standing, take
from dagster_planexec.journal.run_report import RunReport, close_steps
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period

MARGIN_S = 60
"""Seconds that a lease lasts longer than the longest call may take."""


def lasts_s(work: Work) -> int:
    """Seconds that a lease of the task lasts without a beat: longer than any of its tools may be at work."""
    longest = max((work.tools[name].contract.deadline_s for name in work.tools), default=0.0)
    return ceil(longest + GRACE_S) + MARGIN_S


@contextmanager
def holding(settling: Settling, period: Period) -> Iterator[Lease | Standing]:
    """The month, held for as long as the block lasts; or, if another holds it, how it stands.

    While it is held, everything that is written of the run goes through the lease's fence.

    Raises:
        PlanexecError: What the journal raises.
    """
    work, asking, journal = settling.work, settling.asking, settling.work.journal
    me = holder_here(run_id=settling.task_run_id, started_by=asking.started_by, run_key=asking.run_key)
    taken = take(
        journal, task=work.task.name, period=period.text, holder=me, lasts_s=asking.lasts_s or lasts_s(work),
        has_ended=asking.has_ended,
    )  # fmt: skip
    if isinstance(taken, Standing):
        yield taken
        return
    before, journal.fence = journal.fence, taken.require
    try:
        asking.on_taken(taken)
        close_what_was_left(work, period)
        yield taken
    finally:
        journal.fence = before
        taken.release()


def stood_back(report: RunReport, found: Standing) -> RunReport:
    """The report of a run that did nothing, for another holds the month."""
    text = f"{found.words}; this run did nothing"
    hint = (
        f"wait until it has ended, then run the period again if there is anything new; `planexec status "
        f"{found.task}` says who holds it; if its process is gone without a word, the period is free "
        f"{found.lasts_s} s after it was last heard of"
    )
    return report.ended("stood-back", "LEASE_BUSY", text, hint)


def close_what_was_left(work: Work, period: Period) -> None:
    """Give an end to the steps of runs whose process is gone. Whoever holds the month knows that none of them runs."""
    attempt = work.journal.newest_attempt(work.task.name, period.text)
    left = _left_open(work, attempt) if attempt is not None else ()
    if attempt is None or attempt.plan_digest is None or not left:
        return
    try:
        plan = work.journal.load_plan(attempt.plan_digest)
    except PlanexecError:
        return  # its bytes were altered; whoever runs it next says so
    irreversible = [name for name in work.tools if work.tools[name].contract.effect == "irreversible"]
    for run_id in left:
        close_steps(work.journal, attempt.id, run_id, plan, irreversible=irreversible)


def _left_open(work: Work, attempt: Attempt) -> tuple[str, ...]:
    """The plan runs that began a step and never said how it ended. A run that is followed by a re-plan was closed."""
    begun: dict[str, set[str | None]] = {}
    for event in work.journal.events(attempt.id, kinds=["step-started", "step-ended"]):
        if event.run_id is not None and event.kind == "step-started":
            begun.setdefault(event.run_id, set()).add(event.step)
        elif event.run_id is not None:
            begun.get(event.run_id, set()).discard(event.step)
    return tuple(run_id for run_id, steps in begun.items() if steps)
