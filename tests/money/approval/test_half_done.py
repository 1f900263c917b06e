"""What was approved and is half done is finished, also after the approval has expired; its evidence is read again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dagster_planexec.execute.work import Work
from dagster_planexec.journal.money.approvals.holds import lines_under
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.resources.duckdb_credits import TABLE, DuckDbCredits
from dagster_planexec.world.ports import Credit
from tests.support.approvals import Office
from tests.support.approvals_killed import go_on_and_die

LINES = 15
"""Credits of the month."""


def ledger(office: Office) -> list[tuple[str, str | None]]:
    """State and hold of every line in the ledger."""
    with office.journal() as journal:
        return [(e.state, e.hold_id) for e in effects_of(journal, "vendor-invoice-credits", office.world.period)]


@pytest.mark.parametrize("after", [0, 1, 7, 14])
def test_a_continuation_that_was_killed_is_finished_by_the_next(office: Office, after: int) -> None:
    """Each line once, whoever finishes it, and the hold is used."""
    held = office.approved()
    go_on_and_die(office, held.id, after=after)
    between = len(office.world.credits())
    report = office.go_on(held.id)

    assert between == after
    assert (report.status, report.code, report.text) == ("succeeded", None, "")
    assert len(dict(office.world.credits())) == len(office.world.credits()) == LINES
    assert set(ledger(office)) == {("issued", held.id)}
    assert [one.state for one in office.holds()] == ["used"]


def test_a_plain_run_finishes_it_too(office: Office) -> None:
    """The same attempt, the same plan, the same approval."""
    held = office.approved()
    go_on_and_die(office, held.id, after=4)
    report = office.settle()

    assert report.status == "succeeded", report.text
    assert len(office.world.credits()) == LINES


def test_what_was_begun_may_be_finished_after_it_has_expired(office: Office) -> None:
    """The lines are in the ledger since before; nothing new begins."""
    held = office.approved()
    go_on_and_die(office, held.id, after=4)
    office.clock.at += timedelta(days=30)
    report = office.go_on(held.id)

    assert report.status == "succeeded", report.text
    assert len(office.world.credits()) == LINES


def test_half_done_and_then_something_changed_issues_nothing_more(office: Office) -> None:
    """A ledger charge of the period: the rest is not what was approved."""
    held = office.approved()
    go_on_and_die(office, held.id, after=4)
    office.sql("update ledger.charges set amount = amount + 0.01 where charge_id = "
               "(select min(charge_id) from ledger.charges where charged_on >= '2026-02-01')")  # fmt: skip
    report = office.go_on(held.id)

    assert (report.status, report.code) == ("stopped", "APPROVAL_STALE")
    assert len(office.world.credits()) == 4


def known_before(office: Office) -> tuple[str, str]:
    """A hold that is approved without one line, which the target has already; its id and the line's key."""
    held = office.held()
    first = held.shown["lines"]["first"][0]
    scope = "vendor-invoice-credits"
    office.sql(f"create schema if not exists {TABLE.split('.')[0]}")
    office.sql(f"""create table {TABLE} (effect_scope varchar not null, period varchar not null,
        line_key varchar not null, ordinal integer not null, amount decimal(18, 2) not null, currency varchar not null,
        issued_at timestamp not null, primary key (effect_scope, period, line_key, ordinal))""")
    office.sql(f"insert into {TABLE} values ('{scope}', '{office.world.period}', '{first['key']}', 1,"
               f" {first['amount']}, '{held.shown['limits']['currency']}', timestamp '2026-03-01')")  # fmt: skip
    asked = office.held()
    assert asked.bound is not None
    assert asked.bound["preview"]["count"] == LINES - 1
    office.decide(asked.id, "ada")
    return asked.id, first["key"]


def test_a_line_that_was_there_before_is_finished_around(office: Office) -> None:
    """What was issued before under no hold is no part of what was approved, and does not stand in its way."""
    hold_id, key = known_before(office)
    go_on_and_die(office, hold_id, after=4)
    report = office.go_on(hold_id)

    assert report.status == "succeeded", report.text
    assert len(dict(office.world.credits())) == len(office.world.credits()) == LINES
    with office.journal() as journal:
        lines = effects_of(journal, "vendor-invoice-credits", office.world.period)
    assert [e.key for e in lines if e.hold_id is None] == [key]


def test_what_was_begun_releases_no_line_that_was_never_shown(office: Office) -> None:
    """A line that was issued before goes away from the target and the ledger: nobody has approved to issue it."""
    hold_id, key = known_before(office)
    go_on_and_die(office, hold_id, after=4)
    office.sql(f"delete from {TABLE} where line_key = '{key}'")
    office.meddle("delete from planexec_effects where line_key = :key", {"key": key})
    report = office.go_on(hold_id)

    assert (report.status, report.code) == ("stopped", "APPROVAL_STALE"), report.text
    assert "what is left to issue is not part of what was approved" in report.text
    assert len(office.world.credits()) == 4
    (closed,) = office.holds("stale")
    assert closed.id == hold_id


class Meanwhile(DuckDbCredits):
    """Somebody does something after so many lines."""

    left = 0
    then: Any = None

    def issue(self, credit: Credit) -> None:
        """One line, and what happens after the last of them."""
        super().issue(credit)
        self.left -= 1
        if self.left == 0:
            self.then()


def test_a_rejection_during_the_batch_ends_it_before_the_next_line(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was issued by then is said; the hold stays rejected."""
    held = office.approved()
    world_s = office.world.work

    def work(**given: Any) -> Work:
        made = world_s(**given)
        paying = Meanwhile(made.ports.warehouse, made.ports.clock)
        paying.left, paying.then = 3, lambda: office.decide(held.id, "grace", "reject", "stop it")
        return replace(made, ports=replace(made.ports, credits=paying))

    with monkeypatch.context() as patch:
        patch.setattr(office.world, "work", work)
        report = office.go_on(held.id)

    assert (report.status, report.code) == ("stopped", "DECISION_REFUSED"), report.text
    assert f"{held.id} is rejected (rejected by grace: stop it): 3 of {LINES} lines were issued" in report.text
    assert len(office.world.credits()) == 3
    assert [one.state for one in office.holds()] == ["rejected"]
    with office.journal() as journal:
        assert lines_under(journal, held.id) == (3, LINES)
    assert office.go_on(held.id).code == "DECISION_REFUSED"
    assert len(office.world.credits()) == 3
