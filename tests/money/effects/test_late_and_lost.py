"""What arrives after it was given up, and what a target has lost: never paid twice, never without somebody knowing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dagster_planexec.journal.money.effects import effects_of, settle_effect
from tests.money.effects.test_carry_out import ARGS, SCOPE, issued, odd, states
from tests.support.odd_credits import breaks, money, rows


def test_a_list_that_is_behind_pays_nothing_twice(desk):
    """The target knows each line by its key and lists none: that list cannot be trusted, however often it is asked."""
    desk.put(rows(A="1.00", B="2.00"))
    odd(desk)
    assert desk.issue(ARGS, run_id="r1").result.issued_count == 2
    for number in range(3):
        api = odd(desk)
        api.behind = True
        outcome = desk.issue(ARGS, run_id=f"again {number}")
        assert (outcome.code, api.sent) == ("EFFECT_UNKNOWN", [])
        assert "does not list it" in outcome.message
    odd(desk)
    assert desk.issue(ARGS).result.issued_count == 0
    assert issued(desk) == money(A="1.00", B="2.00")


def test_a_line_that_was_dropped_and_is_due_again_keeps_its_key(desk):
    """12.00 may still arrive under the first key; 13.00 is due: the first key again, and 1.00 on top."""
    desk.put(rows(A="12.00"))
    first = odd(desk, before=breaks())
    assert desk.issue(ARGS, run_id="r1").code == "EFFECT_UNKNOWN"
    desk.put(rows(B="2.00"))
    odd(desk)
    assert desk.issue(ARGS, run_id="r2").result.issued_count == 1
    assert states(desk)["A"] == "not-issued"

    desk.put(rows(A="13.00", B="2.00"))
    again = odd(desk)
    result = desk.issue(ARGS, run_id="r3").result
    desk.ports.credits.issue(first.sent[0])  # now it arrives

    assert result.issued_amount == "13.00"
    assert again.sent[0].idempotency_key == first.sent[0].idempotency_key
    assert [(c.ordinal, c.amount) for c in again.sent[:2]] == [(1, Decimal("12.00")), (2, Decimal("1.00"))]
    assert issued(desk) == money(A="13.00", B="2.00")


def test_a_line_that_was_dropped_and_is_due_with_less_waits_for_a_person(desk):
    """12.00 may still arrive and 11.32 is due: whatever is sent could be too much."""
    desk.put(rows(A="12.00"))
    first = odd(desk, before=breaks())
    desk.issue(ARGS, run_id="r1")
    desk.put(rows(B="2.00"))
    odd(desk)
    desk.issue(ARGS, run_id="r2")
    desk.put(rows(A="11.32", B="2.00"))
    again = odd(desk)
    outcome = desk.issue(ARGS, run_id="r3")
    assert (outcome.code, again.sent) == ("EFFECT_UNKNOWN", [])

    (effect,) = [e for e in effects_of(desk.journal, SCOPE, "2026-03") if e.key == "A"]
    settle_effect(desk.journal, effect, state="not-issued", by="kim", reason="their queue is empty")
    assert desk.issue(ARGS, run_id="r4").result.issued_amount == "11.32"
    assert issued(desk) == money(A="11.32", B="2.00")
    assert first.sent[0].ordinal == 1


@pytest.mark.parametrize(
    ("done", "says"),
    [("delete from credits.issued where line_key = 'A'", "does not know it"),
     ("update credits.issued set amount = 0.25 where line_key = 'A'", "holds 0.25 USD under its key")],
    ids=["lost", "another amount"],
)  # fmt: skip
def test_what_the_target_has_lost_or_changed_is_not_paid_again(desk, done, says):
    """The ledger knows that it was issued."""
    desk.put(rows(A="1.00", B="2.00"))
    odd(desk)
    desk.issue(ARGS, run_id="r1")
    with desk.ports.warehouse.session() as session:
        session.execute(done)
    api = odd(desk)
    outcome = desk.issue(ARGS, run_id="r2", released=["EFFECT_DIFFERS"])

    assert (outcome.code, api.sent) == ("EFFECT_UNKNOWN", [])
    assert says in outcome.message
    assert "--lost" in outcome.message


@pytest.mark.parametrize(("state", "sent"), [("issued", 0), ("not-issued", 1)])
def test_a_person_says_what_became_of_a_line_that_the_target_has_lost(desk, state, sent):
    """Then the month goes on: it counts as issued, or it is issued again under its own key."""
    desk.put(rows(A="1.00"))
    odd(desk)
    desk.issue(ARGS, run_id="r1")
    with desk.ports.warehouse.session() as session:
        session.execute("delete from credits.issued")
    (effect,) = effects_of(desk.journal, SCOPE, "2026-03")
    settle_effect(desk.journal, effect, state=state, by="kim", reason="ticket 4711", lost=True)
    api = odd(desk)

    assert desk.issue(ARGS, run_id="r2").result.issued_count == sent
    assert [credit.ordinal for credit in api.sent] == [1] * sent
