"""The recovery rules: each fires where it should, and does not where it should not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.recovery.decide import RULES, decide
from dagster_planexec.recovery.decision import Hold, Proceed, Replan, Retry, Situation, Stop

CALM = Situation(None, "postcondition", "read", idempotent=True, tries=1, max_tries=3, text="t")

FIRES = {
    "replan_at_a_checkpoint": (replace(CALM, checkpoint=True), Replan),
    "replan_after_a_surprise": (replace(CALM, code="EXPECTATION_FAILED", stage="surprise"), Replan),
    "replan_when_the_task_allows_it": (
        replace(CALM, code="DROP_INCOMPLETE", stage="precondition", replannable=True),
        Replan,
    ),
    "proceed_when_nothing_is_wrong": (CALM, Proceed),
    "stop_when_an_irreversible_outcome_is_unknown": (
        replace(CALM, code="TIMEOUT", effect="irreversible", stage="call", call_may_have_happened=True),
        Stop,
    ),
    "hold_when_a_person_must_decide": (
        replace(CALM, code="CAP_EXCEEDED", effect="irreversible", stage="precondition"),
        Hold,
    ),
    "stop_when_the_object_is_missing": (replace(CALM, code="OBJECT_GONE", stage="precondition"), Stop),
    "stop_when_tries_are_used_up": (replace(CALM, code="UNAVAILABLE", stage="call", tries=3), Stop),
    "retry_what_is_transient": (replace(CALM, code="UNAVAILABLE", stage="call"), Retry),
    "stop_on_everything_else": (replace(CALM, code="ROWCOUNT_MISMATCH"), Stop),
}

STANDS_BACK = {
    "replan_at_a_checkpoint": replace(CALM, code="OBJECT_GONE", checkpoint=True),
    "replan_after_a_surprise": replace(CALM, code="EXPECTATION_FAILED", stage="surprise", effect="irreversible"),
    "replan_when_the_task_allows_it": replace(CALM, code="DROP_INCOMPLETE", effect="irreversible", replannable=True),
    "proceed_when_nothing_is_wrong": replace(CALM, code="TIMEOUT"),
    "stop_when_an_irreversible_outcome_is_unknown": replace(CALM, code="TIMEOUT", effect="irreversible"),
    "hold_when_a_person_must_decide": replace(CALM, code="CAP_EXCEEDED", effect="write", stage="precondition"),
    "stop_when_the_object_is_missing": replace(CALM, code="OBJECT_CHANGED"),
    "stop_when_tries_are_used_up": replace(CALM, code="UNAVAILABLE", tries=2),
    "retry_what_is_transient": replace(CALM, code="UNAVAILABLE", effect="irreversible"),
}


@pytest.mark.parametrize("name", [rule.__name__ for rule in RULES])
def test_each_rule_fires_in_its_situation(name: str) -> None:
    """The rule that decides is the one the situation was made for."""
    situation, kind = FIRES[name]

    decision, rule = decide(situation)

    assert (rule, type(decision)) == (name, kind)


@pytest.mark.parametrize("name", sorted(STANDS_BACK))
def test_each_rule_stands_back_elsewhere(name: str) -> None:
    """A near miss is left to a later rule."""
    rule = next(rule for rule in RULES if rule.__name__ == name)

    assert rule(STANDS_BACK[name]) is None


@pytest.mark.parametrize("code", ["NOT_A_CODE", *(c for c, m in CODES.items() if not m.transient)])
def test_no_code_that_is_not_transient_is_ever_tried_again(code: str) -> None:
    """Only transient codes retry; an unknown code stops."""
    decision, _ = decide(replace(CALM, code=code, stage="call"))

    assert isinstance(decision, Stop)


def test_the_pause_before_a_retry_grows_and_is_bounded() -> None:
    """Backoff doubles up to its bound."""
    pauses = []
    for tries in range(1, 12):
        decision, _ = decide(replace(CALM, code="THROTTLED", stage="call", tries=tries, max_tries=99))
        assert isinstance(decision, Retry)
        pauses.append(decision.after_s)

    assert pauses == sorted(pauses)
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert pauses[-1] == 30.0


def test_a_write_that_may_not_be_repeated_is_not_repeated_after_its_call() -> None:
    """A tool that is not idempotent is retried only if its call has not begun."""
    after_call, _ = decide(replace(CALM, code="TIMEOUT", effect="write", idempotent=False, stage="call"))
    before_call, _ = decide(replace(CALM, code="TIMEOUT", effect="write", idempotent=False, stage="precondition"))

    assert isinstance(after_call, Stop)
    assert isinstance(before_call, Retry)
