"""What was approved and is half done is finished, also after the approval has expired; its evidence is read again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.approvals import Office
from tests.support.approvals_killed import go_on_and_die

LINES = 15
"""Credits of the month."""


def ledger(office: Office) -> list[tuple[str, str | None]]:
    """State and hold of every line in the ledger."""
    from dagster_planexec.journal.money.effects import effects_of

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
