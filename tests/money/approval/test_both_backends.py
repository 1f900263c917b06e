"""Decisions in SQLite and in Postgres: recorded by many at once, counted once each, closed by time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import (
    Approval,
    approval_of,
    continuable,
    decide,
    decisions_of,
    expire_due,
)
from dagster_planexec.journal.money.approvals.holds import HoldRecord, hold, open_hold
from dagster_planexec.journal.money.approvals.keys import Key, Keys
from dagster_planexec.journal.money.approvals.notices import note_told, notices_due
from tests.support.approvals import FRIDAY, asking_task
from tests.support.journals import backend, fresh, journal, place
from tests.support.postgres import postgres

__all__ = ["backend", "fresh", "journal", "place", "postgres"]
NAMES = tuple(f"person{number}" for number in range(8))
KEYS = Keys({name: Key(name, f"{name}-" * 6) for name in NAMES})


def task_of(**policy: Any) -> Task:
    return asking_task(approval=ApprovalPolicy(approvers=NAMES, **policy))


def opened(journal: Journal, task: Task, **more: Any) -> HoldRecord:
    terms = {"version": 1, "task": task.name, "period": "2026-02", "attempt": "a", "plan": "d", "step": "pay"}
    return open_hold(
        journal, attempt_id="a", task=task.name, period="2026-02", step="pay", code="CAP_EXCEEDED", plan_digest="d",
        facts={"count": 2}, bound=terms, now=FRIDAY, expires_at=FRIDAY + timedelta(days=7), **more,
    )  # fmt: skip


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    def said(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except PlanexecError as error:
            return error.code

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(said, calls))


def by(journal: Journal, task: Task, held: HoldRecord, name: str) -> Callable[[], Any]:
    return lambda: decide(
        journal, task, held.id, decision="approve", by=name, reason="seen", keys=KEYS, now=FRIDAY
    ).state  # fmt: skip


def test_of_eight_who_approve_at_once_two_are_enough(journal: Journal) -> None:
    """The third is too late: it is approved already, by exactly two people."""
    task = task_of(four_eyes=True)
    held = opened(journal, task)
    said = at_once([by(journal, task, held, name) for name in NAMES])

    assert sorted(said) == ["DECISION_REFUSED"] * 6 + ["approved", "open"]
    after = hold(journal, held.id)
    assert after is not None
    assert len(decisions_of(journal, [held.id])[held.id]) == 2
    assert isinstance(approval_of(journal, after, task.approval, KEYS, FRIDAY), Approval)
    assert [one.id for one, _ in continuable(journal, task)] == [held.id]


def test_of_eight_lines_of_one_person_one_is_recorded(journal: Journal) -> None:
    """However often it is sent at the same instant."""
    task = task_of(four_eyes=True)
    held = opened(journal, task)
    said = at_once([by(journal, task, held, "person0")] * 8)

    assert sorted(said) == ["DECISION_REFUSED"] * 7 + ["open"]
    assert len(decisions_of(journal, [held.id])[held.id]) == 1


def test_of_eight_who_tell_one_does(journal: Journal) -> None:
    """Two sensors that look at the same instant call nobody twice."""
    task = task_of()
    held = opened(journal, task)

    assert [notice.kind for notice in notices_due(journal, task, FRIDAY)] == ["opened"]
    assert sorted(at_once([lambda: note_told(journal, held.id, "opened", FRIDAY)] * 8)) == [False] * 7 + [True]
    assert notices_due(journal, task, FRIDAY) == ()


def test_what_nobody_decided_in_time_is_closed_once(journal: Journal) -> None:
    """By whoever looks first."""
    task = task_of()
    held = opened(journal, task)
    later = FRIDAY + timedelta(days=7)

    assert expire_due(journal, task, later - timedelta(seconds=1)) == ()
    found = at_once([lambda: len(expire_due(journal, task, later))] * 8)
    assert sum(found) == 1
    after = hold(journal, held.id)
    assert after is not None
    assert (after.state, after.closed_because) == ("expired", "nobody decided in time")
    with pytest.raises(PlanexecError, match="nobody can approve it any more"):
        decide(journal, task, held.id, decision="approve", by="person1", reason="late", keys=KEYS, now=later)


def test_the_same_question_is_the_same_hold_until_it_expires(journal: Journal) -> None:
    """Words may differ; what would be done may not."""
    task = task_of()
    first = opened(journal, task)

    assert opened(journal, task, shown={"reason": "in other words"}).id == first.id
    terms = {**(first.bound or {}), "cap": "2.00"}
    other = open_hold(
        journal, attempt_id="a", task=task.name, period="2026-02", step="pay", code="CAP_EXCEEDED", plan_digest="d",
        facts={"count": 2}, bound={n: v for n, v in terms.items() if n not in {"hold", "shown"}}, now=FRIDAY,
        expires_at=FRIDAY + timedelta(days=7),
    )  # fmt: skip
    before = hold(journal, first.id)
    assert before is not None
    assert (other.id != first.id, before.state, other.shown["supersedes"]) == (True, "superseded", first.id)
    assert other.id in (before.closed_because or "")
