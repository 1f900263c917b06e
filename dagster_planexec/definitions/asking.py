"""How a task run asks for its month: what started it, whether the holder's run has ended, and what is cleared away."""

from __future__ import annotations

from dataclasses import dataclass, field

import dagster as dg

from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.launcher import reap
from dagster_planexec.definitions.triggers.task_runs import RUN_KEY_TAG
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.holder import Holder
from dagster_planexec.journal.money.lease.leases import Lease, standing
from dagster_planexec.settling.parts import Asking
from dagster_planexec.world.period import Period

STARTED_BY_TAG = "planexec/started_by"
"""On a task run that something else than Dagster started, e.g. a command."""
_TRIGGERS = (
    ("dagster/schedule_name", "the schedule"),
    ("dagster/sensor_name", "the sensor"),
    ("dagster/backfill", "the backfill"),
)


def started_by(run: dg.DagsterRun) -> str:
    """What started a run, in words. What Dagster names no trigger of, a person has started."""
    found = next((f"{words} {run.tags[tag]}" for tag, words in _TRIGGERS if run.tags.get(tag)), None)
    return found or run.tags.get(STARTED_BY_TAG) or "a person"


@dataclass
class MonthAsked:
    """What a task run knows of the lease of its month, once it was asked for."""

    context: dg.AssetExecutionContext | dg.OpExecutionContext
    task: Task
    period: Period
    lease: Lease | None = field(default=None, init=False)
    """None if another run holds the month."""

    @property
    def asking(self) -> Asking:
        """As `settle` takes it."""
        run = self.context.run
        return Asking(started_by(run), run.tags.get(RUN_KEY_TAG), self._has_ended, self._taken)

    def _has_ended(self, holder: Holder) -> bool:
        """Whether Dagster has ended the holder's run. One that it does not know may be of another instance."""
        run = self.context.instance.get_run_by_id(holder.run_id) if holder.run_id else None
        return run is not None and run.is_finished

    def _taken(self, lease: Lease) -> None:
        self.lease = lease
        if lease.taken_from is not None:
            self.context.log.warning("The period is taken over: %s.", lease.taken_from.words)
        for run_id in reap(self.context.instance, self.task, self.period, lease_token=lease.token):
            self.context.log.warning("Plan run %s was left by a run that is gone; it is now marked as failed.", run_id)

    def is_hidden(self, journal: Journal) -> bool:
        """Whether a run that did nothing or lost the month may be what Dagster shows as the newest, and not this one.

        Dagster takes for newest what began last, not what ended last. If another has the month by now, its word counts.
        """
        lease = self.lease
        if lease is None or not (lease.stood_back or lease.taken_from):
            return False
        now = standing(journal, lease.task, lease.period)
        return now is not None and now.token == lease.token
