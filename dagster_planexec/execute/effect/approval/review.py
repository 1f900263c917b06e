"""Whether a plan is the one that the last settled earlier period was settled with, but for the period."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.diff import Edit, diff, is_substantially_same
from dagster_planexec.plan.model import Plan, parse_plan
from dagster_planexec.world.period import Period


@dataclass(frozen=True, slots=True)
class Compared:
    """A plan beside that of the last settled earlier period."""

    period: str
    """That period."""
    digest: str
    edits: tuple[Edit, ...]
    same: bool
    """Whether only words differ: intent and rationale."""


def compare(journal: Journal, task: Task, plan: Plan, period: Period) -> Compared | None:
    """The comparison, or None if no earlier period has settled, or its plan was altered since."""
    earlier = [
        a for a in journal.newest_attempts(task.name)
        if a.status == "settled" and a.plan_digest and a.period < period.text
    ]  # fmt: skip
    if not earlier:
        return None
    last = earlier[-1]
    assert last.plan_digest is not None  # noqa: S101 - filtered above
    try:
        before = as_of(journal.load_plan(last.plan_digest), task.period(last.period), period)
    except PlanexecError:
        return None  # an altered old plan is refused where it would run; here there is nothing to compare with
    return Compared(last.period, last.plan_digest, diff(before, plan), is_substantially_same(before, plan))


def as_of(plan: Plan, then: Period, now: Period) -> Plan:
    """An earlier period's plan with this period's texts: that the month moved on is no difference."""
    text = plan.model_dump_json().replace(then.text, now.text).replace(then.compact, now.compact)
    return parse_plan(text)
