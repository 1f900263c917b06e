"""Every line is in the ledger before it is issued, looked up when its outcome is unknown, and issued once."""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.contract.outcome import Done, Failed, Held
from dagster_planexec.contract.tool import Tool, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.money.effects import changes_of, effects_of, settle_effect
from dagster_planexec.tools.issue_credit import IssueCredit, IssueCreditArgs
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Credit
from tests.support.odd_credits import Odd, breaks, money, refuses, rows

ARGS = IssueCreditArgs(source="recon.lines_202603")
SCOPE = "vendor-credits"


def odd(desk, **how):
    """The desk with a credit system that breaks off; the real one is behind it."""
    api = Odd(getattr(desk.ports.credits, "inner", desk.ports.credits), **how)
    desk.ports = replace(desk.ports, credits=api)
    return api


def issued(desk, period="2026-03"):
    return desk.ports.credits.issued(SCOPE, period)


def states(desk):
    return {key: state for key, _, _, state in desk.effects()}


class ByAttributes(IssueCredit):
    """The same tool over a system that cannot say of a key that it is not there."""

    contract = replace(IssueCredit.contract, lookup="by-attributes")


# -- the ledger comes first ------------------------------------------------------------------------------------------


def test_every_line_is_written_before_the_first_is_issued(desk):
    """All of them in one transaction; each outcome after its call; every change leaves a row."""
    desk.put(rows(A="1.00", B="2.00"))
    seen = []
    odd(desk, before=lambda: seen.append(desk.effects()))

    outcome = desk.issue(ARGS, run_id="r1")

    assert seen == [[("A", 1, Decimal("1.00"), "intended"), ("B", 1, Decimal("2.00"), "intended")]]
    assert isinstance(outcome, Done)
    assert states(desk) == {"A": "issued", "B": "issued"}
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    assert [(c.state, c.by) for c in changes_of(desk.journal, effect.id)] == [
        ("intended", "run r1"), ("issued", "run r1"),
    ]  # fmt: skip
    assert (effect.task, effect.tool, effect.target) == (
        "vendor_reconciliation", "issue_credit", "table credits.issued of warehouse warehouse",
    )  # fmt: skip


def test_a_month_with_nothing_to_credit_writes_nothing(desk):
    """No line, no intent, no call."""
    desk.put([("A", "identical", "1.00", "1.00")])
    api = odd(desk)

    assert desk.issue(ARGS).result.issued_count == 0
    assert (api.sent, desk.effects()) == ([], [])


def test_intents_that_the_fence_refuses_are_followed_by_no_call(desk):
    """Another run holds the month: nothing is written, nothing is issued."""
    desk.put(rows(A="1.00"))
    api = odd(desk)

    def fence(_):
        raise PlanexecError("LEASE_LOST", "another run holds the month")

    desk.journal.fence = fence
    outcome, unknown = desk.carried(ARGS)

    assert (outcome.code, unknown, api.sent) == ("LEASE_LOST", False, [])
    desk.journal.fence = None
    assert desk.effects() == []


def test_the_fence_is_asked_before_every_line(desk):
    """A run that loses the month in the middle of a batch issues no further line; the next one goes on."""
    desk.put(rows(A="1.00", B="2.00", C="3.00"))
    lost = []

    def fence(_):
        if lost:
            raise PlanexecError("LEASE_LOST", "another run holds the month")

    desk.journal.fence = fence
    api = odd(desk, at=2, after=lambda: lost.append(True))
    outcome, _ = desk.carried(ARGS)

    assert outcome.code == "LEASE_LOST"
    assert [credit.key for credit in api.sent] == ["A", "B"]
    desk.journal.fence = None
    again = odd(desk)
    assert isinstance(desk.issue(ARGS), Done)
    assert [credit.key for credit in again.sent] == ["C"]
    assert issued(desk) == money(A="1.00", B="2.00", C="3.00")


@pytest.mark.parametrize("how", ["ended", "stopped"])
def test_a_run_that_is_ended_during_a_batch_issues_no_further_line(desk, how):
    """Asked before each line; what is left stays intended and is continued by the next run."""
    from dagster_planexec.journal.journal import NewEvent

    desk.put(rows(**{f"L{i:02d}": "1.00" for i in range(10)}))
    ended = []

    def ends():
        if how == "ended":
            ended.append("the task run was terminated")
        else:
            stopped = NewEvent("stopped", "other", {"code": "CANCELLED", "reason": "x"})
            desk.journal.append("att", "r1", [stopped])

    api = odd(desk, at=4, after=ends)
    outcome = desk.issue(ARGS, run_id="r1", ended_by=lambda: ended[0] if ended else None)

    assert outcome.code == "CANCELLED"
    assert "4 of 10 lines were issued, the rest goes on in the next run" in outcome.message
    assert len(api.sent) == 4
    assert sorted(states(desk).values()) == ["intended"] * 6 + ["issued"] * 4
    again = odd(desk)
    result = desk.issue(ARGS, run_id="r2").result
    assert (result.issued_count, result.already_there, len(again.sent)) == (6, 4, 6)
    assert set(states(desk).values()) == {"issued"}


# -- unknown outcomes are looked up ----------------------------------------------------------------------------------


def test_a_call_that_broke_off_after_it_was_done_is_done(desk):
    """The look-up finds it, and the batch goes on."""
    desk.put(rows(A="1.00", B="2.00"))
    api = odd(desk, after=breaks())

    outcome = desk.issue(ARGS)

    assert outcome.result.issued_count == 2
    assert [credit.key for credit in api.sent] == ["A", "B"]
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    assert [c.state for c in changes_of(desk.journal, effect.id)] == ["intended", "unknown", "issued"]


def test_a_call_that_broke_off_before_it_was_done_is_sent_again_by_a_later_run_only(desk):
    """The same run asks a few times and ends; the next one looks it up first and sends it under the same key."""
    desk.put(rows(A="1.00", B="2.00"))
    api = odd(desk, before=breaks())

    outcome, unknown = desk.carried(ARGS)

    assert (outcome.code, unknown) == ("EFFECT_UNKNOWN", True)
    assert "run the month again" in outcome.message
    assert ([credit.key for credit in api.sent], len(api.finds)) == (["A"], 4)
    assert states(desk) == {"A": "unknown", "B": "intended"}
    again = odd(desk)
    assert desk.issue(ARGS).result.issued_count == 2
    assert again.sent[0].idempotency_key == api.sent[0].idempotency_key
    assert [credit.key for credit in again.finds] == ["A", "B"]
    assert issued(desk) == money(A="1.00", B="2.00")


def test_the_same_run_never_sends_a_line_twice(desk):
    """Not even if it is called again: it cannot know whether its own call still arrives."""
    desk.put(rows(A="1.00"))
    odd(desk, before=breaks())
    desk.issue(ARGS, run_id="r1")
    again = odd(desk)

    outcome, unknown = desk.carried(ARGS, run_id="r1")

    assert (outcome.code, unknown, again.sent) == ("EFFECT_UNKNOWN", True, [])
    assert "this very run" in outcome.message


def test_a_target_that_cannot_say_stops_and_a_person_settles(desk):
    """Nothing is sent until somebody has looked; then the month goes on, either way."""
    desk.put(rows(A="1.00", B="2.00"))
    api = odd(desk, before=breaks())
    api.blind = True
    outcome = desk.issue(ARGS)
    assert outcome.code == "EFFECT_UNKNOWN"
    again = odd(desk)
    again.blind = True
    assert desk.issue(ARGS).code == "EFFECT_UNKNOWN"
    assert again.sent == []

    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    settle_effect(desk.journal, effect, state="issued", by="kim", reason="paid by hand, receipt 7")
    odd(desk)
    result = desk.issue(ARGS).result

    assert (result.issued_count, result.issued_amount, result.already_there) == (1, "2.00", 1)
    assert issued(desk) == money(B="2.00")
    last = changes_of(desk.journal, effect.id)[-1]
    assert (last.by, last.said) == ("person kim", "paid by hand, receipt 7")


def test_what_a_person_settled_as_not_issued_is_issued(desk):
    """Under the same ordinal and key: it is the same credit."""
    desk.put(rows(A="1.00"))
    api = odd(desk, before=breaks())
    api.blind = True
    desk.issue(ARGS)
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    settle_effect(desk.journal, effect, state="not-issued", by="kim", reason="not in their books")

    assert desk.issue(ARGS, tool=ByAttributes()).result.issued_count == 1
    assert desk.effects() == [("A", 1, Decimal("1.00"), "issued")]


def test_a_person_settles_only_what_nobody_knows(desk):
    """A known outcome is not for people to change."""
    desk.put(rows(A="1.00"))
    desk.issue(ARGS)
    (effect,) = effects_of(desk.journal, SCOPE, "2026-03")

    with pytest.raises(PlanexecError, match="expected intended or unknown"):
        settle_effect(desk.journal, effect, state="not-issued", by="kim", reason="?")
    assert states(desk) == {"A": "issued"}


def test_a_system_without_look_up_by_key_is_sent_nothing_a_second_time(desk):
    """What may have been sent is for a person; what certainly was not goes on."""
    desk.put(rows(A="1.00", B="2.00"))
    odd(desk, before=breaks())
    assert desk.issue(ARGS, tool=ByAttributes()).code == "EFFECT_UNKNOWN"
    again = odd(desk)
    outcome = desk.issue(ARGS, tool=ByAttributes())

    assert outcome.code == "EFFECT_UNKNOWN"
    assert "planexec effects settle" in outcome.message
    assert again.sent == []
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    settle_effect(desk.journal, effect, state="not-issued", by="kim", reason="not in their books")
    assert desk.issue(ARGS, tool=ByAttributes()).result.issued_count == 2


@pytest.mark.parametrize("code", ["AUTH_FAILED", "FORBIDDEN", "VALIDATION_ERROR", "LOCKED"])
def test_a_refused_line_is_known_not_to_be_issued(desk, code):
    """Nobody is sent to look for it; the next run issues it."""
    desk.put(rows(A="1.00", B="2.00"))
    api = odd(desk, at=2, before=refuses(code))
    outcome, unknown = desk.carried(ARGS)

    assert (outcome.code, unknown, api.finds) == (code, False, [])
    assert states(desk) == {"A": "issued", "B": "refused"}
    odd(desk)
    assert desk.issue(ARGS).result.issued_count == 1
    assert states(desk) == {"A": "issued", "B": "issued"}


def test_a_target_that_asks_for_time_is_given_it(desk):
    """It refused, so the same line may be sent again by the same run, a few times."""
    desk.put(rows(A="1.00"))
    api = odd(desk, before=refuses("THROTTLED", 5.0))
    assert desk.issue(ARGS).result.issued_count == 1
    assert len(api.sent) == 2


def test_a_line_that_hangs_is_given_up_looked_up_and_not_repeated(desk):
    """Its thread may finish later; the same key makes that the same credit."""
    desk.put(rows(A="1.00"))
    let = threading.Event()
    api = odd(desk, before=lambda: let.wait(20) and None)
    soon = IssueCredit()
    soon.contract = replace(IssueCredit.contract, deadline_s=0.2)
    outcome, unknown = desk.carried(ARGS, tool=soon)
    let.set()
    for thread in threading.enumerate():
        if thread.name == "planexec-call":
            thread.join(20)

    assert (outcome.code, unknown) == ("EFFECT_UNKNOWN", True)
    assert "TIMEOUT" in outcome.message
    assert len(api.sent) == 1
    odd(desk)
    assert desk.issue(ARGS).result.issued_count == 0
    assert issued(desk) == money(A="1.00")


# -- the ledger and the target disagree ------------------------------------------------------------------------------


def test_a_credit_that_the_target_has_lost_is_not_issued_again(desk):
    """The ledger says issued, the same target does not know it: nothing more is issued."""
    desk.put(rows(A="1.00", B="2.00"))
    desk.issue(ARGS)
    desk.sql("delete from credits.issued where line_key = 'A'")
    api = odd(desk)
    outcome, unknown = desk.carried(ARGS)

    assert (outcome.code, unknown, api.sent) == ("EFFECT_UNKNOWN", True, [])
    assert "does not know it" in outcome.message


def test_what_another_target_issued_counts_as_issued(desk):
    """A plan that picks another credit tool issues nothing twice, and says so."""
    desk.put(rows(A="1.00", B="2.00"))
    desk.issue(ARGS)
    desk.sql("delete from credits.issued")  # what the other system has, this one does not
    api = odd(desk, target="another system")
    outcome = desk.issue(ARGS)

    assert isinstance(outcome, Done)
    assert (outcome.result.issued_count, outcome.result.elsewhere, api.sent) == (0, 2, [])


def test_what_was_begun_at_another_target_is_settled_first(desk):
    """This one cannot say what became of it."""
    desk.put(rows(A="1.00"))
    odd(desk, before=breaks())
    desk.issue(ARGS)
    api = odd(desk, target="another system")
    outcome = desk.issue(ARGS)

    assert (outcome.code, api.sent) == ("EFFECT_UNKNOWN", [])
    assert "planexec effects settle" in outcome.message


def test_a_renamed_task_issues_nothing_twice(desk):
    """The key names no task."""
    desk.put(rows(A="1.00"))
    desk.issue(ARGS)
    desk.task = replace(desk.task, name="vendor_reconciliation_2", version="9")
    api = odd(desk)

    assert desk.issue(ARGS).result.already_there == 1
    assert api.sent == []


def test_credits_that_the_ledger_does_not_know_are_taken_into_it(desk):
    """The journal was lost, or somebody issued by hand: it counts as issued, and the ledger says why."""
    desk.put(rows(A="1.00", B="2.00"))
    desk.ports.credits.issue(Credit(SCOPE, "2026-03", "A", 1, Decimal("1.00"), "USD"))
    result = desk.issue(ARGS).result

    assert (result.issued_count, result.already_there) == (1, 1)
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    (change,) = changes_of(desk.journal, effect.id)
    assert (effect.state, change.said) == ("issued", "the target knows it and this ledger did not")


def test_a_credit_in_another_currency_is_no_credit_of_this_task(desk):
    """Its amount cannot be compared."""
    desk.put(rows(A="1.00"))
    desk.ports.credits.issue(Credit(SCOPE, "2026-03", "A", 1, Decimal("1.00"), "EUR"))
    api = odd(desk)

    assert desk.issue(ARGS).code == "EFFECT_DIFFERS"
    assert api.sent == []


# -- another amount --------------------------------------------------------------------------------------------------


def test_a_line_that_was_raised_asks_with_the_delta_and_pays_neither_nothing_nor_both(desk):
    """12.00 issued, 13.00 due: it asks with 1.00; released, 1.00 is issued under a key of its own."""
    desk.put(rows(A="12.00"))
    desk.issue(ARGS)
    desk.put(rows(A="13.00"))
    held = desk.issue(ARGS)

    assert isinstance(held, Held)
    assert (held.code, held.facts["delta"]) == ("EFFECT_DIFFERS", Decimal("1.00"))
    assert issued(desk) == money(A="12.00")
    result = desk.issue(ARGS, released=["EFFECT_DIFFERS"]).result
    assert (result.issued_count, result.issued_amount) == (1, "1.00")
    assert issued(desk) == money(A="13.00")
    assert desk.effects() == [("A", 1, Decimal("12.00"), "issued"), ("A", 2, Decimal("1.00"), "issued")]
    assert desk.issue(ARGS).result.issued_count == 0


def test_what_was_issued_beyond_what_is_due_stays(desk):
    """Less is due, or nothing: it asks; released, nothing is issued for it, and that is what is then expected."""
    from dagster_planexec.checks.effect.credits.credits_are_issued import credits_are_issued

    tool = IssueCredit()
    desk.put(rows(A="12.00", B="5.00"))
    desk.issue(ARGS)
    desk.put(rows(A="10.00", C="1.00"))
    assert desk.issue(ARGS).code == "EFFECT_DIFFERS"
    preview = tool.preview(ARGS, desk.call()).observe(desk.ports)
    result = desk.issue(ARGS, released=["EFFECT_DIFFERS"]).result

    assert (result.issued_count, result.issued_amount) == (1, "1.00")
    assert issued(desk) == money(A="12.00", B="5.00", C="1.00")
    after = replace(desk.scope(tool, ARGS, result), preview=preview)
    (verdict,) = desk.verdicts(credits_are_issued, after, "post")
    assert verdict.opens, verdict.text
    desk.sql("update credits.issued set amount = 12.01 where line_key = 'A'")
    (verdict,) = desk.verdicts(credits_are_issued, after, "post")
    assert verdict.code == "EFFECT_UNKNOWN"


def test_an_intent_whose_line_was_raised_meanwhile_is_sent_as_it_was_meant_and_topped_up(desk):
    """A first delivery that arrives late is then the same credit, and 25.00 is never paid."""
    desk.put(rows(A="12.00"))
    odd(desk, before=breaks())
    desk.issue(ARGS)
    desk.put(rows(A="13.00"))
    api = odd(desk)
    result = desk.issue(ARGS).result

    assert (result.issued_count, result.issued_amount) == (1, "13.00")
    assert [(c.ordinal, c.amount) for c in api.sent] == [(1, Decimal("12.00")), (2, Decimal("1.00"))]
    assert issued(desk) == money(A="13.00")


def test_an_intent_that_is_more_than_what_is_due_now_is_for_a_person(desk):
    """It may still arrive, and both would be too much."""
    desk.put(rows(A="12.00"))
    odd(desk, before=breaks())
    desk.issue(ARGS)
    desk.put(rows(A="10.00"))
    api = odd(desk)

    outcome = desk.issue(ARGS)
    assert (outcome.code, api.sent) == ("EFFECT_UNKNOWN", [])
    effect = effects_of(desk.journal, SCOPE, "2026-03")[0]
    settle_effect(desk.journal, effect, state="not-issued", by="kim", reason="not in their books")
    assert desk.issue(ARGS).result.issued_amount == "10.00"
    assert issued(desk) == money(A="10.00")


def test_an_intent_for_which_nothing_is_due_any_more_is_never_sent(desk):
    """It is not there, and will not be."""
    desk.put(rows(A="12.00", B="1.00"))
    odd(desk, before=breaks())
    desk.issue(ARGS)
    desk.put(rows(B="1.00"))
    api = odd(desk)

    assert desk.issue(ARGS).result.issued_count == 1
    assert [credit.key for credit in api.sent] == ["B"]
    assert states(desk) == {"A": "not-issued", "B": "issued"}


# -- limits ----------------------------------------------------------------------------------------------------------


def test_the_cap_counts_what_was_issued_before_and_the_threshold_does_not(with_limits):
    """A cap is for the period; a batch that was interrupted goes on although its lines are many."""
    desk = with_limits(credit_lines_threshold=2, credit_cap=Decimal(10))
    desk.put(rows(A="3.00", B="3.00"))
    desk.issue(ARGS)
    desk.put(rows(A="3.00", B="3.00", C="1.00", D="1.00"))
    assert desk.issue(ARGS).result.issued_count == 2
    desk.put(rows(A="3.00", B="3.00", C="1.00", D="1.00", E="2.01"))
    held = desk.issue(ARGS)

    assert (held.code, held.facts["issued_amount"]) == ("CAP_EXCEEDED", Decimal("8.00"))
    assert desk.issue(ARGS, released=["CAP_EXCEEDED"]).result.issued_amount == "2.01"


def test_lines_that_changed_after_they_were_judged_are_not_issued(desk):
    """The preview saw others."""
    tool = IssueCredit()
    desk.put(rows(A="1.00"))
    shown = tool.preview(ARGS, desk.call()).observe(desk.ports)
    desk.put(rows(A="1.00", B="1.00"))
    run = desk.run("r", tool)
    from dagster_planexec.execute.effect.carry_out import carry_out

    outcome, _ = carry_out(run, tool, ARGS, replace(desk.call(), preview=shown), grace_s=1.0)

    assert isinstance(outcome, Failed)
    assert outcome.code == "APPROVAL_STALE"
    assert desk.effects() == []


def test_nothing_is_issued_before_effects_from_whoever_released_it(desk):
    """Not even by a call that somebody makes all the same."""
    desk.period = Period.parse("2026-01", "month")
    desk.put(rows(A="1.00"))
    api = odd(desk)
    outcome = desk.issue(ARGS, released=["APPROVAL_REQUIRED", "CAP_EXCEEDED", "EFFECT_DIFFERS"])

    assert (outcome.code, api.sent) == ("EFFECTS_NOT_DUE", [])


def test_nothing_is_issued_over_a_journal_in_memory(desk, monkeypatch):
    """It would be forgotten with the process."""
    from dagster_planexec.journal.journal import Journal

    desk.put(rows(A="1.00"))
    monkeypatch.setenv("PLANEXEC_JOURNAL_DEFAULT", "sqlite://")
    desk.journal.close()
    desk.journal = Journal()
    api = odd(desk)
    outcome = desk.issue(ARGS)

    assert (outcome.code, api.sent) == ("BAD_CONTRACT", [])


def test_a_tool_that_cannot_be_undone_and_issues_by_itself_is_refused():
    """The registry knows no tool that loops over its own lines."""

    class Loops(IssueCredit.__mro__[2]):
        contract = IssueCredit.contract

        def call(self, args, call): ...

        def seal(self, args, result, call): ...

    assert issubclass(Loops, Tool)
    with pytest.raises(PlanexecError, match="expected an EffectTool"):
        ToolRegistry([Loops()])
