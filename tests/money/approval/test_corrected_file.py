"""The vendor corrects a file after the month was credited: a line asks for the difference, and gets just that."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from assets.vendor_reconciliation.task import TASK
from dagster_planexec.journal.encoding import decode
from dagster_planexec.journal.money.effects import Effect, effects_of
from tests.support.approvals import Office, policy

DUE = Decimal("12.00")
RAISED = Decimal("13.00")


def deliver(office: Office, key: str, credit: Decimal) -> None:
    """The vendor's file, in which one charge was billed so that exactly this is credited for it."""
    with office.demo.connection() as warehouse:
        (charged,) = warehouse.execute("select amount from ledger.charges where charge_id = ?", [key]).fetchone()  # type: ignore[misc]
    rows = list(csv.reader(io.StringIO(office.demo.read(office.demo.export_key).decode())))
    name, amount = rows[0].index("Charge Ref"), rows[0].index("Net Amount")
    (line,) = [row for row in rows[1:] if row[name].strip() == key]
    line[amount] = f"{charged - credit:.2f}"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    office.demo.put(office.demo.export_key, out.getvalue().encode())


def ledger(office: Office, key: str) -> Sequence[Effect]:
    """What the ledger of effects has of one line."""
    with office.journal() as journal:
        found = effects_of(journal, "vendor-invoice-credits", office.world.period)
        return [effect for effect in found if effect.credit.key == key]


@pytest.fixture
def credited(office: Office) -> tuple[Office, str]:
    """A month that is settled, with 12.00 credited for one charge of more than 20.00."""
    office.world.task = replace(TASK, approval=policy())
    with office.demo.connection() as warehouse:
        found = warehouse.execute(
            "select min(charge_id) from ledger.charges where charge_id like 'CH-202602-%' and amount > 20.00"
        ).fetchone()
    assert found is not None
    key = str(found[0])
    deliver(office, key, DUE)
    report = office.settle()
    assert report.status == "succeeded", report.text
    assert dict(office.world.credits())[key] == "12.00"
    return office, key


def test_a_raised_line_asks_with_the_difference_and_pays_it_once(credited: tuple[Office, str]) -> None:
    """12.00 is issued, 13.00 is due: the hold is about 1.00; approved, 1.00 is issued; neither 0 nor 25."""
    office, key = credited
    before = office.world.credits()
    deliver(office, key, RAISED)
    asked = office.settle()
    between = office.world.credits()
    (held,) = office.holds("open")
    office.decide(held.id, "ada")
    report = office.go_on(held.id)
    again = office.settle()
    total = sum(Decimal(amount) for name, amount in office.world.credits() if name == key)

    assert (asked.status, asked.code) == ("held", "EFFECT_DIFFERS")
    assert "+1.00" in asked.text
    assert between == before
    assert [decode(held.facts[name]) for name in ("count", "amount", "delta")] == [1, Decimal("1.00"), Decimal("1.00")]
    assert report.status == "succeeded", report.text
    assert total == RAISED
    assert [(e.credit.ordinal, e.credit.amount, e.state) for e in ledger(office, key)] == [
        (1, DUE, "issued"), (2, Decimal("1.00"), "issued")
    ]  # fmt: skip
    assert again.status == "succeeded", again.text
    assert len(office.world.credits()) == len(before) + 1


def test_nobody_decides_and_nothing_is_paid(credited: tuple[Office, str]) -> None:
    """However often the month is run."""
    office, key = credited
    before = office.world.credits()
    deliver(office, key, RAISED)
    codes = [office.settle().code for _ in range(3)]

    assert codes == ["EFFECT_DIFFERS"] * 3
    assert office.world.credits() == before
    assert len(office.holds("open")) == 1


def test_a_lowered_line_is_held_and_nothing_is_taken_back(credited: tuple[Office, str]) -> None:
    """11.00 is due of 12.00: approved as it stands, the month settles, and what was issued stays."""
    office, key = credited
    before = office.world.credits()
    deliver(office, key, Decimal("11.00"))
    asked = office.settle()
    (held,) = office.holds("open")
    office.decide(held.id, "grace")
    report = office.go_on(held.id)

    assert (asked.status, asked.code) == ("held", "EFFECT_DIFFERS")
    assert [decode(held.facts[name]) for name in ("count", "over_amount")] == [0, Decimal("1.00")]
    assert report.status == "succeeded", report.text
    assert office.world.credits() == before
