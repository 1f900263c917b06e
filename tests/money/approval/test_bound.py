"""An approval is of exactly what was shown: whatever changes afterwards, nothing is issued under it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.support.approvals import Office


def test_an_approved_month_is_finished_and_each_credit_issued_once(office: Office) -> None:
    """Only the last step runs; the hold is used, the verdict says who released it; a second run issues nothing."""
    held = office.approved()
    report = office.go_on(held.id)
    issued = office.world.credits()

    assert (report.status, report.code) == ("succeeded", None), report.text
    assert [s.outcome for s in report.steps] == ["reused"] * 6 + ["done"]
    assert len(issued) == held.bound["preview"]["count"] > 0
    assert office.holds()[0].state == "used"
    (released,) = [v for v in report.steps[-1].checks if v.check == "within_cap"]
    assert "released by ada" in released.text
    assert held.id in released.text
    assert office.settle().status == "succeeded"
    assert office.go_on(held.id).code == "DECISION_REFUSED"
    assert office.world.credits() == issued


@pytest.mark.parametrize("decided", ["used", "open", "rejected"])
def test_a_hold_that_is_not_approved_continues_nothing_and_leaves_the_month_as_it_stands(
    office: Office, decided: str
) -> None:
    """Anybody can ask; how the month stands is not theirs to change."""
    held = office.held()
    if decided != "open":
        office.decide(held.id, "ada", "reject" if decided == "rejected" else "approve")
    if decided == "used":
        office.go_on(held.id)
    with office.journal() as journal:
        before = journal.attempt(held.attempt), journal.events(held.attempt)
        report = office.go_on(held.id)
        after = journal.attempt(held.attempt), journal.events(held.attempt)

    assert (report.status, report.code) == ("stopped", "DECISION_REFUSED"), report.text
    assert after == before
    assert office.holds()[0].state == decided


def test_a_plain_run_after_an_approval_does_the_same(office: Office) -> None:
    """The same attempt is continued."""
    held = office.approved()
    report = office.settle()

    assert (report.status, report.attempt) == ("succeeded", held.attempt), report.text
    assert len(office.world.credits()) == held.bound["preview"]["count"]
    assert office.holds()[0].state == "used"


def plan_adopted(office: Office) -> None:
    office.meddle("update planexec_attempts set plan_digest = :d", {"d": "0" * 64})


def plan_bytes(office: Office) -> None:
    office.meddle("update planexec_plans set body = replace(cast(body as text), 'outer join', 'outer joyn')")


def a_credit_line(office: Office) -> None:
    office.sql(
        "update recon.lines_202602 set vendor_amount = vendor_amount - 0.01 where charge_id = "
        "(select min(charge_id) from recon.lines_202602 where status = 'amount_differs')"
    )


def a_ledger_charge(office: Office) -> None:
    office.sql(
        "update ledger.charges set amount = amount + 0.01 where charge_id = "
        "(select min(charge_id) from ledger.charges where charged_on >= date '2026-02-01' and "
        "charged_on < date '2026-03-01')"
    )


def the_landed_bytes(office: Office) -> None:
    raw = office.landed.read_bytes()
    office.landed.chmod(0o600)
    office.landed.write_bytes(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:])


def the_cap(office: Office) -> None:
    limits = replace(office.world.task.limits, credit_cap=Decimal("1.01"))
    office.world.task = replace(office.world.task, limits=limits)


def the_cap_to_no_cap(office: Office) -> None:
    limits = replace(office.world.task.limits, credit_cap=Decimal(10**9))
    office.world.task = replace(office.world.task, limits=limits)


def the_share_that_must_match(office: Office) -> None:
    limits = replace(office.world.task.limits, min_matched_share=Decimal("0.01"))
    office.world.task = replace(office.world.task, limits=limits)


def the_version_of_the_task(office: Office) -> None:
    office.world.task = replace(office.world.task, version="99")


CHANGES = {
    "the plan": plan_adopted, "altered": plan_bytes, "credit lines": a_credit_line,
    "live rows of side ledger": a_ledger_charge, "landed copy of": the_landed_bytes,
    "the cap: approved 1.00, now 1.01": the_cap, "min_matched_share of the task": the_share_that_must_match,
    "the task's version": the_version_of_the_task,
    "the cap: approved 1.00, now 1000000000": the_cap_to_no_cap,
}  # fmt: skip


@pytest.mark.parametrize(("named", "change"), CHANGES.items(), ids=[c.__name__ for c in CHANGES.values()])
def test_what_changed_after_the_approval_is_named_and_nothing_is_issued(office: Office, named, change) -> None:
    """One byte, one cent, one limit."""
    held = office.approved()
    change(office)
    report = office.go_on(held.id)

    assert (report.status, report.code) == ("stopped", "APPROVAL_STALE"), report.text
    assert named in report.text
    assert office.world.credits() == ()
    (closed,) = office.holds()
    assert closed.state == "stale"
    assert named in closed.closed_because
    assert office.go_on(held.id).code == "APPROVAL_STALE"


@pytest.mark.parametrize("change", [a_credit_line, the_landed_bytes, the_cap, the_cap_to_no_cap])
def test_a_plain_run_does_not_make_up_for_what_changed_unseen(office: Office, change) -> None:
    """It stops before anything is fetched or made anew; the run after it asks again, or needs to ask nobody."""
    held = office.approved()
    change(office)
    report = office.settle()

    assert (report.status, report.code) == ("stopped", "APPROVAL_STALE"), report.text
    assert office.world.credits() == ()
    again = office.settle()
    if change is the_cap_to_no_cap:
        assert again.status == "succeeded"
        return
    assert again.status == "held", again.text
    (opened,) = office.holds("open")
    assert opened.shown["supersedes"] == held.id
    (closed,) = office.holds("stale")
    assert opened.id in closed.closed_because
