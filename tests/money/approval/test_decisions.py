"""Who may decide, once, in time, and about this very hold; whatever else is written down counts for nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from dagster_planexec.contract.strategies import RELEASABLE
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.money.approvals.decisions import continuable, expire_due, record
from dagster_planexec.journal.money.approvals.holds import open_hold
from dagster_planexec.journal.money.approvals.keys import keys_for, new_key
from dagster_planexec.journal.money.approvals.notices import note_told, notices_due
from dagster_planexec.journal.money.approvals.signing import parse_signed, sign
from tests.support.approvals import FRIDAY, Office, asking_task, policy
from tests.support.forged import NO_DECISIONS, edited


def refused(call) -> tuple[str, str]:
    with pytest.raises(PlanexecError) as raised:
        call()
    return raised.value.code, raised.value.message


def test_who_is_not_on_the_list_decides_nothing(office: Office) -> None:
    """Mallory has a key of her own; it opens nothing."""
    held = office.held()
    code, text = refused(lambda: office.decide(held.id, "mallory"))

    assert (code, "not on the list of approvers (ada, grace)" in text) == ("DECISION_REFUSED", True)
    assert office.go_on(held.id).code == "DECISION_REFUSED"
    assert office.world.credits() == ()


def test_nobody_decides_twice(office: Office) -> None:
    """Not by a second approval, not by the same line pasted again, not by changing one's mind."""
    office.world.task = asking_task(approval=policy(four_eyes=True))
    held = office.held()
    signed = sign_as(office, held, "ada")
    with office.journal() as journal:
        assert record(journal, office.world.task, signed, keys_for(("ada",)), FRIDAY).state == "open"
        again = refused(lambda: record(journal, office.world.task, signed, keys_for(("ada",)), FRIDAY))

    assert again[0] == "DECISION_REFUSED"
    assert "ada decided about" in again[1]
    assert refused(lambda: office.decide(held.id, "ada", "reject"))[0] == "DECISION_REFUSED"
    assert office.go_on(held.id).code == "DECISION_REFUSED"
    assert office.decide(held.id, "grace").state == "approved"
    assert refused(lambda: office.decide(held.id, "grace"))[0] == "DECISION_REFUSED"
    assert office.go_on(held.id).status == "succeeded"


def sign_as(office: Office, held, by: str, *, decision="approve", reason="seen") -> str:
    return sign(
        held, decision=decision, by=by, reason=reason, key=keys_for((by,)).key(by), now=office.clock.now()
    ).text()


def test_four_eyes_are_two_keys_and_not_two_names(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grace's name with Ada's key is Ada."""
    office.world.task = asking_task(approval=policy(four_eyes=True))
    held = office.held()
    office.decide(held.id, "ada")
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEY_GRACE", "ada-" * 12)
    office.decide(held.id, "grace")

    assert office.holds()[0].state == "open"
    assert office.world.credits() == ()


def test_a_decision_about_another_hold_is_refused(office: Office) -> None:
    """Signed for February, pasted for January: the id and everything that is bound differ."""
    held = office.held()
    line = parse_signed(sign_as(office, held, "ada"))
    office.world.period = "2026-01"
    other = office.held()
    moved = replace(line, hold=other.id)
    with office.journal() as journal:
        code, text = refused(lambda: record(journal, office.world.task, moved, keys_for(("ada",)), FRIDAY))

    assert (code, "not what" in text) == ("DECISION_REFUSED", True)
    assert office.go_on(other.id).code == "DECISION_REFUSED"


@pytest.mark.parametrize(
    "change", [{"reason": "another reason"}, {"decision": "reject"}, {"by": "grace"}, {"signature": "0" * 64},
               {"at": "2026-03-06T17:00:01+00:00"}, {"expires_at": "2027-01-01T00:00:00+00:00"}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_line_that_was_edited_is_refused(office: Office, change) -> None:
    """Every field of it is signed."""
    held = office.held()
    line = replace(parse_signed(sign_as(office, held, "ada")), **change)
    with office.journal() as journal:
        code, _ = refused(lambda: record(journal, office.world.task, line.text(), keys_for(("ada", "grace")), FRIDAY))

    assert code == "DECISION_REFUSED"
    assert office.holds()[0].state == "open"


def test_a_line_signed_with_another_key_is_refused(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes Ada's name does not have Ada's key."""
    held = office.held()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANEXEC_APPROVAL_KEY_ADA", "mallory-" * 6)
        line = sign_as(office, held, "ada")
    with office.journal() as journal:
        code, text = refused(lambda: record(journal, office.world.task, line, keys_for(("ada",)), FRIDAY))

    assert (code, "signed with key" in text) == ("DECISION_REFUSED", True)


@pytest.mark.parametrize("text", ["", "yes", "planexec1:e30:00", "planexec1:////:00", "x" * 30_000])
def test_what_is_no_decision_is_called_so(office: Office, text: str) -> None:
    """Also half of one."""
    with office.journal() as journal:
        assert (
            refused(lambda: record(journal, office.world.task, text, keys_for(("ada",)), FRIDAY))[0]
            == "VALIDATION_ERROR"
        )


def test_a_line_that_no_one_can_have_signed_is_no_decision(office: Office) -> None:
    """Instants without a zone, another shape, half a character, a field without end: refused before it is looked at."""
    held = office.held()
    good = sign_as(office, held, "ada")
    for name, said in NO_DECISIONS.items():
        line = edited(good, said)
        with office.journal() as journal:
            code, text = refused(lambda: record(journal, office.world.task, line, keys_for(("ada",)), FRIDAY))  # noqa: B023 - called at once

        assert (code, "no signed decision" in text) == ("VALIDATION_ERROR", True), name
    assert refused(lambda: office.decide(held.id, "ada", reason="seen \udcff"))[0] == "VALIDATION_ERROR"
    assert office.holds()[0].state == "open"


def test_after_it_has_expired_nobody_decides_and_nothing_begins(office: Office) -> None:
    """Not even with a line that was signed in time; and what was approved in time and not begun has expired too."""
    held = office.held()
    line = sign_as(office, held, "ada")
    office.clock.at += timedelta(days=7)
    with office.journal() as journal:
        late = refused(lambda: record(journal, office.world.task, line, keys_for(("ada",)), office.clock.now()))
    assert late[0] == "HOLD_EXPIRED"
    again = office.held()
    assert (again.id != held.id, office.holds("expired")[0].id) == (True, held.id)
    office.decide(again.id, "ada")
    office.clock.at += timedelta(days=7)
    report = office.go_on(again.id)

    assert (report.status, report.code) == ("stopped", "HOLD_EXPIRED")
    assert office.world.credits() == ()
    assert {hold.state for hold in office.holds()} == {"expired"}


def test_one_who_rejects_is_enough(office: Office) -> None:
    """Also after somebody approved, as long as nothing is done; nobody approves it after that."""
    held = office.approved()
    office.decide(held.id, "grace", "reject", "the vendor sent a draft")

    assert office.holds()[0].state == "rejected"
    assert "the vendor sent a draft" in office.holds()[0].closed_because
    assert office.go_on(held.id).code == "DECISION_REFUSED"
    assert office.world.credits() == ()


def test_a_later_attempt_supersedes_what_waits_and_both_say_so(office: Office) -> None:
    """A corrected delivery opens another attempt: the approval of the first is of the first."""
    held = office.approved()
    office.demo.put(office.demo.export_key, office.demo.read(office.demo.export_key) + b"\n")
    report = office.settle()
    (later,) = office.holds("open")
    (before,) = office.holds("superseded")

    assert (report.status, before.id) == ("held", held.id)
    assert later.id in before.closed_because
    assert later.attempt in before.closed_because
    assert later.shown["supersedes"] == held.id
    assert office.go_on(held.id).code == "HOLD_SUPERSEDED"
    assert refused(lambda: office.decide(held.id, "grace", "reject"))[0] == "HOLD_SUPERSEDED"
    assert office.world.credits() == ()


EDITED = {
    "facts": "update planexec_holds set body = replace(body, '15', '14')",
    "code": "update planexec_holds set code = 'APPROVAL_REQUIRED'",
    "opened_at": "update planexec_holds set opened_at = '2026-03-06T16:59:00+00:00'",
    "expires_at": "update planexec_holds set expires_at = '2030-01-01T00:00:00+00:00'",
    "shown": "update planexec_holds set shown = replace(shown, 'issue_credit', 'issue_nothing')",
}  # fmt: skip


@pytest.mark.parametrize(("named", "statement"), EDITED.items(), ids=list(EDITED))
def test_what_a_person_is_shown_is_what_they_sign(office: Office, named: str, statement: str) -> None:
    """A row that was edited is approved by nobody, and what was approved before it was edited releases nothing."""
    held = office.held()
    office.meddle(statement)
    code, said = refused(lambda: office.decide(held.id, "ada"))

    assert (code, f"was altered in the journal: its {named} is not" in said) == ("DECISION_REFUSED", True), said
    assert office.holds()[0].state == "open"


@pytest.mark.parametrize(("named", "statement"), EDITED.items(), ids=list(EDITED))
def test_what_was_shown_and_is_edited_afterwards_releases_nothing(office: Office, named: str, statement: str) -> None:
    """The same edit after the approval."""
    held = office.approved()
    office.meddle(statement)
    report = office.go_on(held.id)

    assert (report.status, report.code) == ("stopped", "DECISION_REFUSED"), report.text
    assert f"was altered in the journal: its {named} is not" in report.text
    assert office.world.credits() == ()
    assert office.holds()[0].state == "stale"


def test_the_same_question_is_the_same_hold_however_late_it_is_asked(office: Office) -> None:
    """What is bound of the row differs from one asking to the next; what is asked does not."""
    held = office.held()
    office.clock.at += timedelta(hours=1)

    assert office.held() == held
    assert len(office.holds()) == 1


TAMPERED = {
    "a hold's cap": ("update planexec_holds set bound = replace(bound, '\"cap\":\"1.00\"', '\"cap\":\"9.00\"')",),
    "a hold's plan": ("update planexec_holds set plan_digest = :d",),
    "a hold's words": ("update planexec_holds set shown = replace(shown, 'issue_credit', 'issue_nothing')",),
    "a hold's expiry": ("update planexec_holds set expires_at = '2030-01-01T00:00:00+00:00'",),
    "a hold's evidence": ("update planexec_holds set bound = replace(bound, 'credit lines', 'credit linez')",),
    "a decision's body": ("update planexec_decisions set body = replace(body, 'looked', 'booked')",),
    "a decision's author": ("update planexec_decisions set by = 'grace'",),
    "a decision's signature": ("update planexec_decisions set signature = :d",),
    "a hold without decisions": ("delete from planexec_decisions",),
    "a rejected hold": ("update planexec_decisions set decision = 'reject'",
                        "update planexec_holds set state = 'approved'"),
    "the attempt's plan": ("update planexec_attempts set plan_digest = :d",),
    "the plan's bytes": ("update planexec_plans set body = replace(cast(body as text), 'issue_credit', 'issue_x')",),
    "a result": ("update planexec_results set body = replace(body, '\"rows\"', '\"rowz\"')",),
}  # fmt: skip


@pytest.mark.parametrize("statements", TAMPERED.values(), ids=[name.replace(" ", "-") for name in TAMPERED])
def test_a_journal_that_was_tampered_with_issues_nothing(office: Office, statements) -> None:
    """Somebody edits rows past the triggers: what was signed is not in them any more, and that shows."""
    held = office.approved()
    for statement in statements:
        office.meddle(statement, {"d": "0" * 64} if ":d" in statement else {})
    continued = office.go_on(held.id)
    plain = office.settle()

    assert continued.status == "stopped"
    assert continued.code in {"DECISION_REFUSED", "APPROVAL_STALE"}, continued.text
    assert plain.status in {"held", "stopped", "rejected"}, plain.text
    assert office.world.credits() == ()
    assert not office.holds("approved")


def test_a_hold_that_only_says_it_is_approved_is_not(office: Office) -> None:
    """A state in a row is no signature."""
    held = office.held()
    office.meddle("update planexec_holds set state = 'approved'")
    report = office.settle()

    assert (report.status, report.code) == ("stopped", "DECISION_REFUSED")
    assert "0 of the 1" in report.text
    assert office.go_on(held.id).code == "APPROVAL_STALE"
    assert office.world.credits() == ()


def test_without_the_key_nothing_is_verified_and_nothing_is_lost(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without keys stops; with them the same approval is good."""
    held = office.approved()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PLANEXEC_APPROVAL_KEY_ADA")
        report = office.go_on(held.id)
    assert (report.code, office.holds()[0].state) == ("DECISION_REFUSED", "approved")
    assert office.go_on(held.id).status == "succeeded"


def test_the_key_file_is_read_by_its_owner_alone(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that others can read is refused, whoever's key it holds; the key is in no message."""
    monkeypatch.delenv("PLANEXEC_APPROVAL_KEY_ADA")
    key, file = new_key("ada")
    held = office.held()
    assert file.stat().st_mode & 0o777 == 0o600
    assert office.decide(held.id, "ada").state == "approved"
    file.chmod(0o640)
    report = office.go_on(held.id)
    assert (report.status, report.code) == ("stopped", "FORBIDDEN")
    assert key.text not in repr(key) + report.text
    file.chmod(0o600)
    assert office.go_on(held.id).status == "succeeded"
    with office.journal() as journal, journal.reader.connect() as db:
        everything = json.dumps(
            [[str(v) for v in row] for t in journal_tables(journal) for row in db.execute(t.select())]
        )
    assert key.text not in everything


def journal_tables(journal):
    from dagster_planexec.journal.store.tables import metadata

    return metadata.sorted_tables


def test_news_of_holds_is_told_once_each(office: Office) -> None:
    """That one opened, that it ages, that it expired; and what is approved can be continued under one name."""
    held = office.held()
    task = office.world.task

    def due() -> list[tuple[str, str]]:
        with office.journal() as journal:
            found = notices_due(journal, task, office.clock.now())
            return [(n.hold.id, n.kind) for n in found if note_told(journal, n.hold.id, n.kind, office.clock.now())]

    assert due() == [(held.id, "opened")]
    assert due() == []
    office.clock.at += timedelta(days=1)
    assert due() == [(held.id, "ageing")]
    office.clock.at += timedelta(days=6)
    with office.journal() as journal:
        assert [h.id for h in expire_due(journal, task, office.clock.now())] == [held.id]
        assert expire_due(journal, task, office.clock.now()) == ()
    assert due() == [(held.id, "expired")]
    assert due() == []
    again = office.approved()
    with office.journal() as journal:
        ((one, approval),) = continuable(journal, task)
        assert (one.id, ((one, approval),)) == (again.id, continuable(journal, task))
    office.go_on(again.id)
    with office.journal() as journal:
        assert continuable(journal, task) == ()


def test_what_waits_for_something_else_cannot_be_approved(office: Office) -> None:
    """Only three codes can be released; a hold for any other says not what it would do, and nobody signs for it."""
    with office.journal() as journal:
        held = open_hold(journal, attempt_id="a", task=office.world.task.name, period="2026-02", step="load",
                         code="VALIDATION_ERROR", plan_digest="d", facts={}, now=FRIDAY)  # fmt: skip
    code, text = refused(lambda: office.decide(held.id, "ada"))

    assert (code, "no approval releases" in text) == ("DECISION_REFUSED", True)
    assert frozenset({"CAP_EXCEEDED", "APPROVAL_REQUIRED", "EFFECT_DIFFERS"}) == RELEASABLE


def test_a_key_of_the_environment_is_taken_out_of_whatever_is_remembered(office: Office) -> None:
    """Under whatever name it got into a message, the journal does not keep it."""
    held = office.held()
    text = f"somebody printed {'ada-' * 12} into an error"
    with office.journal() as journal:
        journal.append(held.attempt, None, [NewEvent("stopped", None, {"reason": text})])
        (event,) = [e for e in journal.events(held.attempt, kinds=["stopped"]) if "printed" in str(e.payload)]

    assert "ada-ada" not in str(event.payload)
