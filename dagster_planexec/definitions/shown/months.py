"""One line per period, as the journal knows it: the same table on the asset and in `planexec status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import dagster as dg

from dagster_planexec.compiler.markup import escaped, table
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.partitions import just_closed
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.run_report import newest_ends, once_settled
from dagster_planexec.world.period import Period

MOST_MONTHS = 60
"""Lines on the asset; the newest."""

COLUMNS = ("period", "status", "plan", "attempt", "opened")
"""Of both tables."""

WORDS = ("settled", "held", "waiting", "stopped", "rejected", "error", "begun", "planned", "not run")
"""What a period can be. `begun`: its run has not ended, or ended without a word; `planned`: nothing has run yet."""


@dataclass(frozen=True, slots=True)
class Month:
    """How one period stands. The newest attempt counts; those that it superseded are history."""

    period: Period
    status: str
    """One of `WORDS`."""
    code: str | None = None
    attempt: Attempt | None = None
    settled_before: bool = False
    """Whether an earlier run settled it, though it does not stand so now: what that one did is done, credits too."""

    @property
    def stands(self) -> str:
        """`settled`, `held (CAP_EXCEEDED)`, `rejected (PLAN_REJECTED), settled before`, `not run`."""
        before = ", settled before" if self.settled_before else ""
        return self.status + (f" ({self.code})" if self.code else "") + before

    @property
    def cells(self) -> dict[str, str]:
        """The line, by column."""
        attempt = self.attempt
        return {
            "period": self.period.text,
            "status": self.stands,
            "plan": (attempt.plan_digest or "none")[:8] if attempt else "",
            "attempt": attempt.id if attempt else "",
            "opened": attempt.opened_at[:19] if attempt else "",
        }

    def as_json(self) -> dict[str, Any]:
        """The line as `planexec status --json` has it."""
        attempt = self.attempt
        return {
            "partition": self.period.key, "period": self.period.text, "status": self.status, "code": self.code,
            "settled_before": self.settled_before,
            "attempt": attempt.id if attempt else None, "plan": attempt.plan_digest if attempt else None,
            "revision": attempt.revision if attempt else 0, "opened_at": attempt.opened_at if attempt else None,
        }  # fmt: skip


def months_of(task: Task, journal: Journal | None, now: datetime) -> tuple[Month, ...]:
    """Every period from the first to the one just closed, in order.

    Args:
        task: Its periods.
        journal: What is remembered of them; None if there is no journal yet.
        now: When.
    """
    attempts = {a.period: a for a in journal.newest_attempts(task.name)} if journal else {}
    ends = newest_ends(journal, task.name) if journal else {}
    once = once_settled(journal, task.name) if journal else frozenset()
    last = just_closed(task, now)
    if task.last_period is not None:
        last = min(last, task.period(task.last_period))
    out, period = [], task.period(task.first_period)
    while period <= last:
        month = _month(journal, period, attempts.get(period.text), ends)
        out.append(replace(month, settled_before=period.text in once and month.status != "settled"))
        period = period.shifted(1)
    return tuple(out)


def month_of(task: Task, journal: Journal | None, period: Period, now: datetime) -> Month:
    """How one period stands; `not run` for one that is none of those."""
    return next((m for m in months_of(task, journal, now) if m.period == period), Month(period, "not run"))


def counts_of(months: Sequence[Month]) -> dict[str, int]:
    """How many periods stand how, every word included."""
    found = Counter(month.status for month in months)
    return {word: found[word] for word in WORDS}


def months_card(journal: Journal, task: Task, now: datetime) -> dict[str, dg.MetadataValue[Any]]:
    """The task's periods as metadata of an observation, newest first."""
    months = months_of(task, journal, now)
    rows = [{name: escaped(cell) for name, cell in m.cells.items()} for m in reversed(months[-MOST_MONTHS:])]
    counts = {word.replace(" ", "_"): dg.MetadataValue.int(count) for word, count in counts_of(months).items()}
    return {"months": dg.MetadataValue.md(table(dict(zip(COLUMNS, COLUMNS, strict=True)), rows)), **counts}


def _month(
    journal: Journal | None, period: Period, attempt: Attempt | None, ends: Mapping[str, tuple[str, str | None]]
) -> Month:
    if attempt is None or journal is None:
        # A run that ended before anything could be admitted opened no attempt; it was a run all the same.
        status, code = ends.get(period.text, ("not run", None))
        return Month(period, status, code)
    if attempt.status == "open":
        begun = journal.events(attempt.id, kinds=["admitted"])
        return Month(period, "begun" if begun else "planned", None, attempt)
    return Month(period, attempt.status, attempt.code, attempt)
