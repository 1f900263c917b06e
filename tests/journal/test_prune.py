"""Retention: what is old and settled goes, one attempt at a time; what anybody may still ask for stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.journal.arrivals.drop import Arrival, Range, note_range
from dagster_planexec.journal.arrivals.requests import ask, set_digest
from dagster_planexec.journal.journal import Attempt, Journal, NewEvent
from dagster_planexec.journal.lasting.prune import KEPT, OUTLINE, Pruned, prune
from dagster_planexec.journal.money.approvals.holds import open_hold
from dagster_planexec.journal.patterns import note_failures, patterns_for
from dagster_planexec.journal.results import DoneStep, save_done, save_landing
from dagster_planexec.journal.run_report import once_settled
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts
from dagster_planexec.world.subject import Subject

NOW = datetime(2026, 11, 30, tzinfo=UTC)
CUTOFF = NOW - timedelta(days=400)
OLD, YOUNG = NOW - timedelta(days=500), NOW - timedelta(days=10)
SEAL = Observation(Source(Subject("s3", "x"), "HEAD", NOW), "seen", {"etag": "e"})


def plan_of(name: str, task: str = "t") -> Plan:
    """A plan of that one step."""
    step = {"id": name, "tool": "s3.get", "args": {"key": name}}
    return Plan.model_validate({"task": task, "period": "2026-03", "steps": [step]}, strict=False)


@pytest.fixture
def aged(journal: Journal) -> Iterator[Journal]:
    """A journal in which events may be made older, which nobody can who does not drop the guard."""
    with journal.engine.begin() as db:
        on = " on planexec_events" if db.dialect.name == "postgresql" else ""
        db.exec_driver_sql(f"drop trigger planexec_events_never_change{on}")
        if on:
            db.exec_driver_sql(
                "create trigger planexec_events_never_change before delete on planexec_events "
                "for each row execute function planexec_refuse_change()"
            )
    return journal


def attempt(journal: Journal, period: str, ends: str | None, at: datetime, **more: Any) -> Attempt:
    """An attempt with a step's events, a result and a report; it was all written at that time."""
    inputs = more.pop("inputs", "i")
    task = more.pop("task", "t")
    opened, _ = journal.open_attempt(task=task, version="1", period=period, inputs_digest=inputs, admission={})
    plan = plan_of(f"step_{inputs}", task)
    journal.adopt_plan(opened.id, journal.save_plan(plan), {})
    said = {"tool": "s3.get", "state": "failed", "code": "OBJECT_GONE", "verdicts": []}
    journal.append(opened.id, f"run-{opened.id}", [NewEvent("judged", "a", {"verdicts": []})])
    journal.append(opened.id, f"run-{opened.id}", [NewEvent("step-ended", "a", said)])
    note_failures(journal, opened.id, f"run-{opened.id}", plan)
    done = DoneStep(opened.id, "a", "s3.get", "r", {}, {"n": 1}, SEAL, (), (), 1, 0.1)
    save_done(journal, opened.id, done)
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.reports).values(
            task_run_id=f"task-{opened.id}", task=task, period=period, attempt=opened.id, body='{"status": "x"}'
        ))  # fmt: skip
    if ends is not None:
        journal.close_run(opened.id, f"run-{opened.id}", ends, None)
    age(journal, opened.id, at)
    return opened


def age(journal: Journal, attempt_id: str, at: datetime) -> None:
    """Make it as old as that."""
    with journal.engine.begin() as db:
        db.execute(sa.update(t.attempts).where(t.attempts.c.id == attempt_id).values(opened_at=at.isoformat()))
        db.execute(sa.update(t.events).where(t.events.c.attempt == attempt_id).values(at=at.isoformat()))
        db.execute(sa.update(t.plans).values(saved_at=at.isoformat()))


def rows(journal: Journal) -> dict[str, list[Any]]:
    """Everything there is."""
    with journal.reader.connect() as db:
        return {
            table.name: [tuple(row) for row in db.execute(sa.select(table).order_by(*table.primary_key.columns))]
            for table in t.metadata.sorted_tables
        }


def whole(journal: Journal, found: Attempt) -> bool:
    """Whether an attempt still has its events, results and report."""
    with journal.reader.connect() as db:
        counts = [
            db.scalar(sa.select(sa.func.count()).where(table.c.attempt == found.id, only))
            for table, only in ((t.events, t.events.c.kind.not_in(OUTLINE)), (t.results, True), (t.reports, True))
        ]
    assert all(counts) or not any(counts)
    return all(counts)


def test_an_old_settled_month_loses_all_but_its_outline(aged: Journal) -> None:
    """Events, results and report go; the attempt, its plan, that it settled and that something was removed stay."""
    settled = attempt(aged, "2025-01", "settled", OLD)

    pruned = prune(aged, before=CUTOFF)

    assert not whole(aged, settled)
    assert pruned.attempts == 1
    assert [e.kind for e in aged.events(settled.id)] == ["attempt-opened", "run-ended", "pruned"]
    (said,) = aged.events(settled.id, kinds=["pruned"])
    assert said.payload["removed"] == {"events": 3, "results": 1, "reports": 1}
    assert aged.attempt(settled.id).status == "settled"
    assert aged.load_plan(aged.attempt(settled.id).plan_digest or "").steps[0].id == "step_i"
    assert once_settled(aged, "t") == {"2025-01"}


@pytest.mark.parametrize("ends", ["stopped", "held", "rejected", "error", None])
def test_a_month_that_has_not_settled_stays_whole(aged: Journal, ends: str | None) -> None:
    """However old; and it says why."""
    left = attempt(aged, "2025-01", ends, OLD)

    pruned = prune(aged, before=CUTOFF)

    assert whole(aged, left)
    assert (pruned.attempts, pruned.stay) == (0, {"its period has not settled": 1})


def test_old_attempts_of_a_month_that_settled_later_go(aged: Journal) -> None:
    """The failed ones before it; the one that settled is young and stays."""
    first = attempt(aged, "2025-01", "stopped", OLD, inputs="1")
    second = attempt(aged, "2025-01", "stopped", OLD, inputs="2")
    third = attempt(aged, "2025-01", "settled", YOUNG, inputs="3")

    pruned = prune(aged, before=CUTOFF)

    assert [whole(aged, a) for a in (first, second, third)] == [False, False, True]
    assert pruned.stay == {"younger": 1}


def test_what_was_used_since_stays(aged: Journal) -> None:
    """An old attempt that was run again the other day."""
    settled = attempt(aged, "2025-01", "settled", OLD)
    aged.append(settled.id, "again", [NewEvent("step-started", "a", {"try": 1})])

    assert prune(aged, before=CUTOFF).stay == {"used since": 1}
    assert whole(aged, settled)


def test_an_attempt_with_an_open_hold_stays(aged: Journal) -> None:
    """A person is still asked about it, although its month has settled."""
    settled = attempt(aged, "2025-01", "settled", OLD)
    open_hold(aged, attempt_id=settled.id, task="t", period="2025-01", step="pay", code="CAP_EXCEEDED",
              plan_digest="d", facts={})  # fmt: skip

    assert prune(aged, before=CUTOFF).stay == {"waits for a person": 1}


def test_tables_that_others_need_lose_nothing(aged: Journal) -> None:
    """Holds, landings, what the sensor knows, failures and attempts are what they were, row by row."""
    settled = attempt(aged, "2025-01", "settled", OLD)
    facts = ObjectFacts("b", "p/2025-01.csv", 1, "e", OLD, None)
    save_landing(aged, task="t", period="2025-01", attempt_id=settled.id, admitted=AdmittedObject(facts, "a" * 64))
    note_range(aged, "t", Range("b"), [Arrival.of(facts, "2025-01")], now=OLD, last_look=None)
    ask(aged, "t", Period.parse("2025-01", "month"), set_digest(aged, "t", "2025-01"), 1)
    open_hold(aged, attempt_id="another", task="t", period="2025-02", step="pay", code="CAP_EXCEEDED",
              plan_digest="d", facts={})  # fmt: skip
    _money(aged)
    before = rows(aged)

    pruned = prune(aged, before=CUTOFF)
    after = rows(aged)

    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
    assert sum(len(before[name]) > 0 for name in KEPT) == len(KEPT) - 1  # nothing was superseded in the drop
    assert [p.count for p in patterns_for(aged, "t")] == [1]
    assert set(pruned.tables) | {"planexec_schema", "planexec_pruning"} == set(before)
    assert all(count.why for count in pruned.tables.values())


def _money(journal: Journal) -> None:
    """A row in every table that is about money; what they mean, others test."""
    with journal.engine.begin() as db:
        db.execute(sa.insert(t.leases).values(
            task="t", period="2025-01", token=3, state="free", holder="{}", taken_at="then", beat_at="then", lasts_s=60
        ))  # fmt: skip
        db.execute(sa.insert(t.stood_back).values(task="t", period="2025-01", token=3, at="then"))
        db.execute(sa.insert(t.effects).values(
            effect_scope="s", period="2025-01", line_key="c-1", ordinal=1, amount="12.00", currency="USD", target="x",
            task="t", tool="pay", attempt="a", run_id="r", intended_at="then", state="issued",
        ))  # fmt: skip
        db.execute(sa.insert(t.effect_changes).values(effect=1, at="then", state="issued", by="r", said="answered"))
        db.execute(sa.insert(t.decisions).values(
            hold_id="h", decision="approve", by="ada", at="then", key_id="ada", body="{}", signature="s"
        ))  # fmt: skip
        db.execute(sa.insert(t.hold_notices).values(hold_id="h", kind="opened", at="then"))


def test_plans_that_nothing_names_go(aged: Journal) -> None:
    """An earlier revision of an attempt that goes; not that of one that stays, nor a hold's, nor a younger one."""
    goes = attempt(aged, "2025-01", "settled", OLD, inputs="1")
    stays = attempt(aged, "2025-02", "stopped", OLD, inputs="2")
    for found in (goes, stays):
        first = aged.attempt(found.id).plan_digest
        aged.adopt_plan(found.id, aged.save_plan(plan_of(f"revised_{found.period}")), {})
        age(aged, found.id, OLD)
        assert first is not None
    held, young = aged.save_plan(plan_of("held")), aged.save_plan(plan_of("young"))
    open_hold(aged, attempt_id="x", task="t", period="2025-03", step="pay", code="CAP_EXCEEDED", plan_digest=held,
              facts={})  # fmt: skip
    with aged.engine.begin() as db:
        db.execute(sa.update(t.plans).where(t.plans.c.digest != young).values(saved_at=OLD.isoformat()))
    before = {row[0] for row in rows(aged)["planexec_plans"]}

    counted = prune(aged, before=CUTOFF, dry_run=True).tables["planexec_plans"]
    pruned = prune(aged, before=CUTOFF).tables["planexec_plans"]

    left = {row[0] for row in rows(aged)["planexec_plans"]}
    (gone,) = before - left
    assert gone == aged_digest(plan_of("step_1"))
    assert (counted.removed, pruned.removed, pruned.stays) == (1, 1, 5)
    assert pruned.characters > 50


def aged_digest(plan: Plan) -> str:
    """Where it was stored."""
    from dagster_planexec.plan.digest import full_digest

    return full_digest(plan)


def test_a_dry_run_removes_nothing_and_counts_the_same(aged: Journal) -> None:
    """By table."""
    attempt(aged, "2025-01", "settled", OLD)
    attempt(aged, "2025-02", "settled", YOUNG, inputs="2")
    before = rows(aged)

    counted = prune(aged, before=CUTOFF, dry_run=True)
    assert rows(aged) == before
    removed = prune(aged, before=CUTOFF)

    assert _without(counted) == _without(removed)
    goes = {name: count.removed for name, count in removed.tables.items() if count.removed}
    assert goes == {"planexec_events": 3, "planexec_results": 1, "planexec_reports": 1}
    assert removed.tables["planexec_results"].stays == 1


def _without(pruned: Pruned) -> dict[str, Any]:
    return {name: value for name, value in pruned.as_json().items() if name != "dry_run"}


def test_once_is_enough(aged: Journal) -> None:
    """A second call finds nothing but outlines."""
    attempt(aged, "2025-01", "settled", OLD)
    prune(aged, before=CUTOFF)
    before = rows(aged)

    again = prune(aged, before=CUTOFF)

    assert (again.attempts, again.stay) == (0, {"only its outline is left": 1})
    assert rows(aged) == before


def test_one_task_is_pruned_without_the_others(aged: Journal) -> None:
    """Neither their attempts nor their plans."""
    mine, other = (attempt(aged, "2025-01", "settled", OLD, task=task, inputs=task) for task in ("t", "u"))
    for name, task in (("loose_t", "t"), ("loose_u", "u")):
        aged.save_plan(plan_of(name, task))
    with aged.engine.begin() as db:
        db.execute(sa.update(t.plans).values(saved_at=OLD.isoformat()))

    pruned = prune(aged, before=CUTOFF, task="t")

    assert (whole(aged, mine), whole(aged, other)) == (False, True)
    assert pruned.tables["planexec_plans"].removed == 1
    assert aged.load_plan(aged_digest(plan_of("loose_u", "u")))


def test_an_interruption_leaves_each_attempt_whole_or_gone(aged: Journal) -> None:
    """And the next call finishes."""
    three = [attempt(aged, f"2025-0{n}", "settled", OLD, inputs=str(n)) for n in (1, 2, 3)]
    seen: list[str] = []

    def interrupt(attempt_id: str) -> None:
        seen.append(attempt_id)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prune(aged, before=CUTOFF, on_attempt=interrupt)
    assert [whole(aged, a) for a in three] == [False, True, True]

    assert prune(aged, before=CUTOFF).attempts == 2
    assert [whole(aged, a) for a in three] == [False] * 3


def test_an_attempt_that_is_run_meanwhile_is_left_alone(aged: Journal) -> None:
    """It is judged again in the transaction that would remove it."""
    settled = attempt(aged, "2025-01", "settled", OLD)
    other = Journal()

    def run(attempt_id: str) -> None:
        other.append(attempt_id, "again", [NewEvent("step-started", "a", {"try": 1})])

    prune(aged, before=CUTOFF, on_attempt=run)
    other.close()

    assert whole(aged, settled)


def test_a_plan_that_is_saved_again_is_young_again(aged: Journal) -> None:
    """Between saving and adopting it nothing names it; retention must not take it from under the run."""
    digest = aged.save_plan(plan_of("a"))
    with aged.engine.begin() as db:
        db.execute(sa.update(t.plans).values(saved_at=OLD.isoformat()))
    aged.save_plan(plan_of("a"))

    prune(aged, before=CUTOFF)

    assert aged.load_plan(digest)


def test_no_event_can_be_deleted_after_it(aged: Journal) -> None:
    """The door is shut again."""
    attempt(aged, "2025-01", "settled", OLD)
    prune(aged, before=CUTOFF)

    with pytest.raises(sa.exc.IntegrityError), aged.engine.begin() as db:
        db.execute(sa.delete(t.events))
