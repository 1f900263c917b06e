"""How a month stands after somebody decided, or nobody did."""

from __future__ import annotations

from datetime import timedelta

from dagster_planexec.definitions.shown.months import months_of
from dagster_planexec.journal.money.approvals.decisions import expire_due
from tests.support.approvals import Office


def stands(office: Office) -> str:
    """As `planexec status` and the asset say it."""
    with office.journal() as journal:
        found = months_of(office.world.task, journal, office.clock.now())
    return next(month.stands for month in found if month.period.text == office.world.period)


def test_a_rejected_month_is_stopped_and_not_held(office: Office) -> None:
    """Nobody is waited for any more; a run of the month asks anew."""
    held = office.held()
    before = stands(office)
    office.decide(held.id, "grace", "reject", "not ours")
    after = stands(office)
    again = office.settle()

    assert (before, after) == ("held (CAP_EXCEEDED)", "stopped (HOLD_REJECTED)")
    assert (again.status, stands(office)) == ("held", "held (CAP_EXCEEDED)")


def test_an_expired_month_is_stopped_and_not_held(office: Office) -> None:
    """When somebody has noticed."""
    office.held()
    office.clock.at += timedelta(days=8)
    with office.journal() as journal:
        assert len(expire_due(journal, office.world.task, office.clock.now())) == 1

    assert stands(office) == "stopped (HOLD_EXPIRED)"


def test_an_approved_month_is_held_until_it_is_continued(office: Office) -> None:
    """An approval alone does nothing."""
    held = office.approved()
    between = stands(office)
    office.go_on(held.id)

    assert (between, stands(office)) == ("held (CAP_EXCEEDED)", "settled")
