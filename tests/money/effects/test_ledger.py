"""The ledger itself, in SQLite and in Postgres: what is in it stays, and nobody writes a line twice."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import (
    Ended,
    Intent,
    Owner,
    changes_of,
    effects_listed,
    effects_of,
    issued_elsewhere,
    settle_effect,
    write_ends,
    write_intents,
)
from dagster_planexec.journal.money.lease.holder import holder_here
from dagster_planexec.journal.money.lease.leases import Lease, take
from dagster_planexec.world.ports import Credit

OWNER = Owner("task", "issue_credit", "here", "att_1", "run-1", 7)


def credit(key, ordinal=1, amount="12.00"):
    return Credit("scope", "2026-03", key, ordinal, Decimal(amount), "USD")


def intents(*keys):
    return [Intent(credit(key)) for key in keys]


def test_lines_are_written_ended_and_continued(journal: Journal):
    """Every change leaves a row, in order, with whoever made it."""
    ids = write_intents(journal, OWNER, intents("A", "B", "\u00dc|\\t'"))
    write_ends(journal, "run-1", [Ended(ids[credit("A")], "issued", "ok"), Ended(ids[credit("B")], "refused", "422")])
    later = replace(OWNER, run_id="run-2")
    write_intents(journal, later, [Intent(credit("B"), ids[credit("B")])])

    found = effects_of(journal, "scope", "2026-03")
    assert [(e.key, e.state, e.run_id, e.amount) for e in found if e.key in "AB"] == [
        ("A", "issued", "run-1", Decimal("12.00")), ("B", "intended", "run-2", Decimal("12.00")),
    ]  # fmt: skip
    assert [(c.state, c.by) for c in changes_of(journal, ids[credit("B")])] == [
        ("intended", "run run-1"), ("refused", "run run-1"), ("intended", "run run-2"),
    ]  # fmt: skip
    assert {e.key for e in effects_listed(journal, task="task")} == {"A", "B", "\u00dc|\\t'"}
    assert effects_of(journal, "scope", "2026-04") == ()


def test_a_thousand_lines_are_one_transaction(journal: Journal):
    """All or none: one that was written by another run takes all of them back."""
    write_intents(journal, OWNER, intents("L0500"))
    with pytest.raises(PlanexecError, match="another run has written lines"):
        write_intents(journal, replace(OWNER, run_id="run-2"), intents(*(f"L{n:04d}" for n in range(1000))))

    assert [e.key for e in effects_of(journal, "scope", "2026-03")] == ["L0500"]
    assert len(write_intents(journal, OWNER, intents(*(f"M{n:04d}" for n in range(1000))))) == 1000


def test_the_fence_is_asked_in_the_same_transaction(journal: Journal):
    """Whoever no longer holds the month writes neither intents nor ends."""
    ids = write_intents(journal, OWNER, intents("A"))

    def lost(_):
        raise PlanexecError("LEASE_LOST", "another run holds the month")

    journal.fence = lost
    for write in (
        lambda: write_intents(journal, OWNER, intents("B")),
        lambda: write_ends(journal, "run-1", [Ended(ids[credit("A")], "issued", "ok")]),
    ):
        with pytest.raises(PlanexecError, match="another run holds the month"):
            write()
    journal.fence = None
    assert [(e.key, e.state) for e in effects_of(journal, "scope", "2026-03")] == [("A", "intended")]


def test_what_was_found_at_the_target_is_adopted(journal: Journal):
    """Once, as issued."""
    write_intents(journal, OWNER, (), adopted=[credit("A"), credit("A", 2, "1.00")])

    assert [(e.ordinal, e.amount, e.state) for e in effects_of(journal, "scope", "2026-03")] == [
        (1, Decimal("12.00"), "issued"), (2, Decimal("1.00"), "issued"),
    ]  # fmt: skip


def test_the_word_of_a_person_is_kept_and_is_the_last(journal: Journal):
    """It counts as issued wherever the line is looked for."""
    write_intents(journal, OWNER, intents("A"))
    (effect,) = effects_of(journal, "scope", "2026-03")
    settled = settle_effect(journal, effect, state="issued", by="kim", reason="receipt 7")

    assert (settled.state, settled.settled_by) == ("issued", "kim")
    assert issued_elsewhere([settled], "here") == (("A", 1, Decimal("12.00")),)
    with pytest.raises(PlanexecError, match="expected intended or unknown"):
        settle_effect(journal, effect, state="not-issued", by="lee", reason="no")
    with pytest.raises(PlanexecError, match="settled by a person meanwhile"):
        write_intents(journal, OWNER, [Intent(effect.credit, effect.id)])
    write_ends(journal, "run", [Ended(effect.id, "unknown", "broke off")])
    assert [(e.state, e.settled_by) for e in effects_of(journal, "scope", "2026-03")] == [("issued", "kim")]


def test_nobody_settles_a_line_of_a_month_that_is_being_run(journal: Journal):
    """The run may be at work on this very line."""
    write_intents(journal, OWNER, intents("A"))
    (effect,) = effects_of(journal, "scope", "2026-03")
    lease = take(journal, task=effect.task, period="2026-03", holder=holder_here(), lasts_s=60)
    assert isinstance(lease, Lease)
    with pytest.raises(PlanexecError, match="has held 2026-03 since") as refused:
        settle_effect(journal, effect, state="issued", by="kim", reason="receipt 7")
    lease.release()

    assert refused.value.code == "LEASE_BUSY"
    assert settle_effect(journal, effect, state="issued", by="kim", reason="receipt 7").settled_by == "kim"


@pytest.mark.parametrize(
    "statement",
    [
        "delete from planexec_effects",
        "update planexec_effects set amount = '99.00'",
        "update planexec_effects set line_key = 'Z'",
        "delete from planexec_effect_changes",
        "update planexec_effect_changes set state = 'issued'",
    ],
)
def test_nobody_takes_a_line_back(journal: Journal, statement):
    """The database itself refuses."""
    write_intents(journal, OWNER, intents("A"))
    with pytest.raises((sa.exc.IntegrityError, PlanexecError)), journal.engine.begin() as db:
        db.exec_driver_sql(statement)

    assert [(e.key, e.amount) for e in effects_of(journal, "scope", "2026-03")] == [("A", Decimal("12.00"))]
