"""The form in Dagster: a signed decision counts, and whatever else anybody types does not."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from dagster_planexec.definitions.approval.decide_job import decide_job
from dagster_planexec.journal.money.approvals.decisions import decisions_of
from dagster_planexec.journal.money.approvals.holds import HoldRecord, hold
from tests.definitions.approval.conftest import Desk, MakeDesk
from tests.support.forged import NO_DECISIONS, edited


def submit(desk: Desk, held: HoldRecord, signed: str, **other: Any) -> dg.DagsterRun:
    """The form, as somebody fills it in."""
    said = {"hold": held.id, "decision": "approve", "by": "ada", "reason": "seen", "signed": signed, **other}
    config = {"ops": {f"{desk.task.name}__take_decision": {"config": said}}}
    job = decide_job(desk.planned)
    result = job.execute_in_process(instance=desk.instance, run_config=config, raise_on_error=False)
    found = desk.instance.get_run_by_id(result.run_id)
    assert found is not None
    return found


def state(desk: Desk, held: HoldRecord) -> str:
    """How the hold stands."""
    now = hold(desk.journal, held.id)
    assert now is not None
    return now.state


def code(run: dg.DagsterRun) -> str:
    """The code of the run."""
    return run.tags["planexec/code"]


def test_a_signed_approval_releases_the_hold(desk: MakeDesk) -> None:
    """The run ends well and says how the hold stands."""
    d = desk()
    held = d.opened()
    run = submit(d, held, d.signed(held, "ada"))

    assert (run.status, run.tags["planexec/status"], state(d, held)) == (
        dg.DagsterRunStatus.SUCCESS, "approved", "approved"
    )  # fmt: skip
    assert [one.by for one in decisions_of(d.journal, [held.id])[held.id]] == ["ada"]


def test_a_signed_rejection_closes_it(desk: MakeDesk) -> None:
    """With the reason that was given."""
    d = desk()
    held = d.opened()
    run = submit(d, held, d.signed(held, "grace", "reject", "not ours"), decision="reject", by="grace",
                 reason="not ours")  # fmt: skip
    closed = hold(d.journal, held.id)

    assert closed is not None
    assert (run.tags["planexec/status"], closed.state) == ("rejected", "rejected")
    assert "not ours" in str(closed.closed_because)


def test_four_eyes_need_two_forms(desk: MakeDesk) -> None:
    """After the first it is still open."""
    d = desk(four_eyes=True)
    held = d.opened()
    first = submit(d, held, d.signed(held, "ada"))
    between = state(d, held)
    submit(d, held, d.signed(held, "grace"), by="grace")

    assert (first.tags["planexec/status"], between, state(d, held)) == ("open", "open", "approved")


@pytest.mark.parametrize(
    ("other", "refused"),
    [
        ({"signed": ""}, "VALIDATION_ERROR"),
        ({"signed": "planexec1:e30:00"}, "VALIDATION_ERROR"),
        ({"by": "grace"}, "DECISION_REFUSED"),
        ({"decision": "reject"}, "DECISION_REFUSED"),
        ({"reason": "another"}, "DECISION_REFUSED"),
        ({"hold": "hold_000000000000"}, "DECISION_REFUSED"),
    ],
    ids=["nothing", "no decision", "another name", "another decision", "another reason", "another hold"],
)
def test_a_form_that_says_other_than_what_was_signed_is_refused(
    desk: MakeDesk, other: dict[str, str], refused: str
) -> None:
    """Nothing is recorded, and the run fails with the code."""
    d = desk()
    held = d.opened()
    given = {"signed": d.signed(held, "ada"), **other}
    run = submit(d, held, given.pop("signed"), **given)

    assert (run.status, code(run)) == (dg.DagsterRunStatus.FAILURE, refused)
    assert (state(d, held), decisions_of(d.journal, [held.id])[held.id]) == ("open", ())


def test_a_forged_signature_is_refused(desk: MakeDesk) -> None:
    """Whoever knows everything but the key can sign nothing."""
    d = desk()
    held = d.opened()
    prefix, packed, signature = d.signed(held, "ada").split(":")
    forged = signature[:-1] + ("0" if signature[-1] != "0" else "1")
    run = submit(d, held, f"{prefix}:{packed}:{forged}")

    assert (code(run), state(d, held)) == ("DECISION_REFUSED", "open")


@pytest.mark.parametrize("name", ["naive at", "date only", "list of names", "half a character in the hold"])
def test_what_nobody_can_have_signed_is_refused_with_a_code(desk: MakeDesk, name: str) -> None:
    """Whoever reaches the form can paste anything: the run says what it is, and nothing is recorded."""
    d = desk()
    held = d.opened()
    run = submit(d, held, edited(d.signed(held, "ada"), NO_DECISIONS[name]))

    assert (run.status, code(run), state(d, held)) == (dg.DagsterRunStatus.FAILURE, "VALIDATION_ERROR", "open")


def test_what_was_signed_for_one_hold_is_of_no_use_for_another(desk: MakeDesk) -> None:
    """Also of the same task, for the same amount."""
    d = desk()
    february, march = d.opened("2026-02"), d.opened("2026-03")
    run = submit(d, march, d.signed(february, "ada"))

    assert (code(run), state(d, march), state(d, february)) == ("DECISION_REFUSED", "open", "open")


def test_a_second_time_is_refused(desk: MakeDesk) -> None:
    """The same line, pasted again."""
    d = desk()
    held = d.opened()
    signed = d.signed(held, "ada")
    submit(d, held, signed)
    again = submit(d, held, signed)

    assert (code(again), state(d, held)) == ("DECISION_REFUSED", "approved")
    assert len(decisions_of(d.journal, [held.id])[held.id]) == 1


def test_a_worker_without_keys_records_nothing(desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot verify, so it refuses, and says what is missing."""
    d = desk()
    held = d.opened()
    signed = d.signed(held, "ada")
    monkeypatch.delenv("PLANEXEC_APPROVAL_KEY_ADA")
    run = submit(d, held, signed)

    assert (code(run), state(d, held)) == ("DECISION_REFUSED", "open")


def test_the_form_is_typed(desk: MakeDesk) -> None:
    """Dagster refuses what is no form before a run begins, and the launchpad can name every field."""
    d = desk()
    job = decide_job(d.planned)
    snap = job.run_config_schema.config_type
    fields = snap.fields["ops"].config_type.fields[f"{d.task.name}__take_decision"].config_type.fields["config"]  # type: ignore[attr-defined]

    assert set(fields.config_type.fields) == {"hold", "decision", "by", "reason", "signed"}
    assert all(field.description for field in fields.config_type.fields.values())
    blank = job.execute_in_process(instance=d.instance, raise_on_error=False)
    assert not blank.success  # the launchpad begins with every field there and none filled in
    with pytest.raises(dg.DagsterInvalidConfigError, match="decision"):
        submit(d, d.opened(), "x", decision="perhaps")
