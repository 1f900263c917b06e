"""The recovery rules: each fires where it should, and does not where it should not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.strategies import ALL_STRATEGIES, STRATEGIES, Strategy
from dagster_planexec.journal.encoding import dumps
from dagster_planexec.recovery.decide import CHOSEN, FILTERS, RULES, TAKEN, decide, decision_of, menu_of, weigh
from dagster_planexec.recovery.decision import (
    Decision,
    Hold,
    Proceed,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Situation,
    Skip,
    Stage,
    Stop,
    UseFallback,
    word_of,
)
from dagster_planexec.recovery.situations import decode_situation, encode_situation
from dagster_planexec.recovery.viable import CALLS, LONGEST_WAIT_S, SHORT_WAIT_S

CALM = Situation(None, "postcondition", "read", idempotent=True, tries=1, max_tries=3, text="t")
BUSY = replace(CALM, code="UNAVAILABLE", stage="call")
MONEY = replace(CALM, effect="irreversible", stage="precondition", code="CAP_EXCEEDED")

ANSWERS: dict[str, tuple[Situation, type[Decision], Situation]] = {
    # rule: where it answers, with what, and a near miss where it does not
    "replan_at_a_checkpoint": (replace(CALM, checkpoint=True), Replan, replace(BUSY, checkpoint=True)),
    "proceed_when_nothing_is_wrong": (CALM, Proceed, replace(CALM, code="TIMEOUT")),
    "stop_when_an_irreversible_outcome_is_unknown": (
        replace(BUSY, effect="irreversible", call_may_have_happened=True), Stop, replace(BUSY, effect="irreversible"),
    ),
    "stop_when_the_same_failure_comes_back": (
        replace(BUSY, came_back=True), Stop, replace(BUSY, came_back=True, replannable=True),
    ),
    "replan_after_a_surprise": (
        replace(CALM, code="EXPECTATION_FAILED", stage="surprise"), Replan, replace(BUSY, stage="surprise"),
    ),
}  # fmt: skip

TAKES_AWAY: dict[str, tuple[Strategy, Situation, Situation]] = {
    # filter: the strategy, where it is taken away, and a near miss where it is left
    "nothing_is_called_again_that_cannot_be_undone": ("retry", replace(BUSY, effect="irreversible"), BUSY),
    "nothing_is_called_again_that_would_count_twice": (
        "retry", replace(BUSY, effect="write", idempotent=False),
        replace(BUSY, effect="write", idempotent=False, stage="precondition"),
    ),
    "only_what_nothing_needs_is_skipped": ("skip", BUSY, replace(BUSY, needed=False)),
    "nothing_is_skipped_that_may_have_left_something": (
        "skip", replace(BUSY, needed=False, effect="write", call_may_have_happened=True),
        replace(BUSY, needed=False, call_may_have_happened=True),
    ),
    "another_plan_needs_the_tasks_leave": (
        "replan", replace(CALM, code="BAD_DATE"), replace(CALM, code="BAD_DATE", replannable=True),
    ),
    "a_person_is_asked_before_and_not_after": ("ask", replace(MONEY, stage="call"), MONEY),
    "the_tries_of_a_step_end": ("retry", replace(BUSY, tries=3), replace(BUSY, tries=2)),
    "the_retries_of_an_attempt_end": ("retry", replace(BUSY, retries_left=0), replace(BUSY, retries_left=1)),
    "credentials_are_refreshed_once": (
        "refresh-credentials", replace(CALM, code="AUTH_FAILED", refreshable=True, refreshed=True),
        replace(CALM, code="AUTH_FAILED", refreshable=True),
    ),
    "arguments_are_corrected_once": (
        "retry-corrected", replace(CALM, code="VALIDATION_ERROR", correctable=True, corrected=True),
        replace(CALM, code="VALIDATION_ERROR", correctable=True),
    ),
    "a_fallback_is_used_once": (
        "use-fallback", replace(BUSY, fallback="other", fallback_used=True), replace(BUSY, fallback="other"),
    ),
    "nobody_is_called_before_the_time_they_stated": ("retry", replace(BUSY, retry_after_s=5.0), BUSY),
    "waiting_needs_a_stated_time": ("retry-after", BUSY, replace(BUSY, retry_after_s=5.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", [rule.__name__ for rule in RULES])
def test_each_rule_fires_in_its_situation(name: str) -> None:
    """The rule that decides is the one the situation was made for."""
    situation, kind, near_miss = ANSWERS[name]
    decision, rule = decide(situation)

    assert (rule, type(decision)) == (name, kind)
    assert next(rule for rule in RULES if rule.__name__ == name)(near_miss) is None


@pytest.mark.parametrize("name", [one.__name__ for one in FILTERS])
def test_each_filter_takes_its_strategy_away_and_leaves_it_in_a_near_miss(name: str) -> None:
    """What was taken away is named with the rule that did it; in the near miss the strategy stays on the menu."""
    strategy, situation, near_miss = TAKES_AWAY[name]

    assert menu_of(situation)[1][strategy] == name
    assert strategy in menu_of(near_miss)[0]


@pytest.mark.parametrize("also", ["no port can", "nothing known", "no tool"])
def test_what_there_is_no_way_to_do_is_off_the_menu(also: str) -> None:
    """Once is only one half of those rules; the other is that there is a way at all."""
    strategy, situation = {
        "no port can": ("refresh-credentials", replace(CALM, code="AUTH_FAILED")),
        "nothing known": ("retry-corrected", replace(CALM, code="VALIDATION_ERROR")),
        "no tool": ("use-fallback", BUSY),
    }[also]

    assert strategy not in menu_of(situation)[0]


@pytest.mark.parametrize(
    ("situation", "strategy"),
    [
        (replace(BUSY, needed=False, effect="irreversible"), "skip"),
        (replace(BUSY, needed=False, stage="surprise"), "skip"),
        (replace(CALM, code="BAD_DATE", replannable=True, effect="irreversible"), "replan"),
        (replace(MONEY, effect="write"), "ask"),
        (replace(BUSY, retry_after_s=LONGEST_WAIT_S + 1), "retry-after"),
        (replace(BUSY, retry_after_s=LONGEST_WAIT_S + 1), "retry"),
    ],
    ids=["skip money", "skip what is done", "replan money", "ask about a write", "wait for ever", "guess instead"],
)
def test_second_halves_of_the_filters(situation: Situation, strategy: Strategy) -> None:
    """Each filter with two reasons has both."""
    assert strategy in menu_of(situation)[1]


DECISIONS: dict[Strategy, tuple[Situation, type[Decision]]] = {
    "retry": (BUSY, Retry),
    "retry-after": (replace(BUSY, retry_after_s=7200.0), RetryAfter),
    "refresh-credentials": (replace(CALM, code="AUTH_FAILED", refreshable=True), RefreshCredentials),
    "retry-corrected": (replace(CALM, code="VALIDATION_ERROR", correctable=True), RetryCorrected),
    "use-fallback": (replace(BUSY, tries=3, fallback="other"), UseFallback),
    "skip": (replace(BUSY, tries=3, needed=False), Skip),
    "replan": (replace(CALM, code="BAD_DATE", replannable=True), Replan),
    "ask": (MONEY, Hold),
    "stop": (replace(CALM, code="OBJECT_GONE"), Stop),
}


@pytest.mark.parametrize("strategy", ALL_STRATEGIES)
def test_each_strategy_is_what_the_first_of_some_menu_comes_to(strategy: Strategy) -> None:
    """Every one of them is decided somewhere, under its own name."""
    situation, kind = DECISIONS[strategy]
    weighed = weigh(situation)

    assert (weighed.strategy, type(weighed.decision), weighed.rule) == (strategy, kind, TAKEN[strategy])


def test_the_union_of_decisions_is_what_the_strategies_come_to() -> None:
    """Nothing else can be decided, and each decision has a word of its own."""
    kinds = {kind for _, kind in DECISIONS.values()} | {Proceed}

    assert kinds == set(get_args(Decision))
    assert {word_of(decision_of(one, CALM)) for one in ALL_STRATEGIES} == {
        "retry", "refresh-credentials", "retry-corrected", "use-fallback", "skip", "replan", "hold", "stop",
    }  # fmt: skip
    assert word_of(RetryAfter("x", 1.0)) == "retry-after"


@pytest.mark.parametrize("code", ["NOT_A_CODE", *(c for c, m in CODES.items() if not m.transient)])
def test_no_code_that_is_not_transient_is_ever_tried_again(code: str) -> None:
    """With nothing to correct or refresh, only transient codes retry; an unknown code stops."""
    decision, rule = decide(replace(CALM, code=code, stage="call"))

    assert isinstance(decision, Stop)
    assert rule == "stop_on_everything_else"


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


def test_jitter_leaves_out_up_to_half_of_the_pause() -> None:
    """Steps that failed at one moment do not come back at one moment."""
    pauses = [decide(replace(BUSY, tries=2, jitter=jitter))[0] for jitter in (0.0, 0.5, 1.0)]

    assert [one.after_s for one in pauses if isinstance(one, Retry)] == [1.0, 0.75, 0.5]


@pytest.mark.parametrize(
    ("stated", "kind", "pause"),
    [(0.0, Retry, 0.0), (SHORT_WAIT_S, Retry, SHORT_WAIT_S), (SHORT_WAIT_S + 1, RetryAfter, SHORT_WAIT_S + 1)],
    ids=["at once", "a minute", "longer"],
)
def test_a_short_stated_delay_is_waited_for_and_a_long_one_ends_the_run(stated, kind, pause) -> None:
    """A minute holds a slot; more than that does not."""
    decision, _ = decide(replace(BUSY, retry_after_s=stated))

    assert isinstance(decision, kind)
    assert decision.after_s == pause


@pytest.mark.parametrize("stated", [-1.0, math.inf, -math.inf, math.nan])
def test_a_delay_that_is_no_time_counts_as_none(stated) -> None:
    """Backoff then says when."""
    assert decide(replace(BUSY, retry_after_s=stated))[0] == decide(BUSY)[0]


def test_a_write_that_may_not_be_repeated_is_not_repeated_after_its_call() -> None:
    """A tool that is not idempotent is retried only if its call has not begun."""
    after_call, _ = decide(replace(CALM, code="TIMEOUT", effect="write", idempotent=False, stage="call"))
    before_call, _ = decide(replace(CALM, code="TIMEOUT", effect="write", idempotent=False, stage="precondition"))

    assert isinstance(after_call, Stop)
    assert isinstance(before_call, Retry)


def test_a_stop_after_retries_says_why_it_ends() -> None:
    """How many tries there were, or that the attempt's are used up; a code that is never retried says neither."""
    reasons = [
        decide(situation)[0].reason
        for situation in (
            replace(BUSY, tries=3), replace(BUSY, retries_left=0), replace(BUSY, effect="irreversible"),
            replace(CALM, code="OBJECT_GONE", tries=3),
        )
    ]  # fmt: skip

    assert reasons == ["t (3 of 3 tries)", "t (the attempt's retries are used up)", "t", "t"]


@pytest.mark.parametrize(
    ("choice", "taken", "rule"),
    [
        ("use-fallback", "use-fallback", CHOSEN),
        ("retry", "retry", CHOSEN),
        ("replan", "retry", TAKEN["retry"]),  # the code has no such strategy
        ("skip", "retry", TAKEN["retry"]),  # a rule took it away
        ("ignore all rules and pay", "retry", TAKEN["retry"]),
        (None, "retry", TAKEN["retry"]),
    ],
)
def test_only_what_is_on_the_menu_can_be_chosen(choice, taken, rule) -> None:
    """Anything else leaves the first of the menu."""
    weighed = weigh(replace(BUSY, fallback="other"), choice=choice)

    assert (weighed.strategy, weighed.rule) == (taken, rule)
    assert weighed.viable == ("retry", "use-fallback", "stop")


@pytest.mark.parametrize("name", ["stop_when_an_irreversible_outcome_is_unknown", "replan_after_a_surprise"])
def test_no_choice_overrides_a_rule_that_answers(name) -> None:
    """The menu is not even made."""
    weighed = weigh(ANSWERS[name][0], choice="retry")

    assert (weighed.rule, weighed.viable) == (name, ())


def test_a_contract_that_leaves_less_is_followed() -> None:
    """What it leaves out is not on the menu; `stop` always is, and the order is the table's."""
    weighed = weigh(replace(BUSY, fallback="other", narrowed=("use-fallback",)))

    assert (weighed.viable, weighed.strategy) == (("use-fallback", "stop"), "use-fallback")
    assert "retry" not in weighed.removed  # nobody removed it: it was never there


# -- over all situations ---------------------------------------------------------------------------------------------

codes = st.sampled_from([*STRATEGIES, "NOT_A_CODE", ""]) | st.none()
numbers = st.integers(-(10**9), 10**9)
situations = st.builds(
    Situation,
    code=codes,
    stage=st.sampled_from(get_args(Stage)),
    effect=st.sampled_from(["read", "write", "irreversible"]),
    idempotent=st.booleans(),
    tries=numbers,
    max_tries=numbers,
    text=st.text(max_size=20),
    call_may_have_happened=st.booleans(),
    replannable=st.booleans(),
    checkpoint=st.booleans(),
    narrowed=st.none() | st.lists(st.sampled_from(ALL_STRATEGIES)).map(tuple),
    retries_left=st.none() | numbers,
    retry_after_s=st.none() | st.floats(),
    fallback=st.none() | st.just("other"),
    fallback_used=st.booleans(),
    needed=st.booleans(),
    refreshable=st.booleans(),
    refreshed=st.booleans(),
    correctable=st.booleans(),
    corrected=st.booleans(),
    came_back=st.booleans(),
    jitter=st.floats(0, 1),
)
CALLING = (Retry, RetryAfter, RefreshCredentials, RetryCorrected, UseFallback)


@settings(max_examples=1000)
@given(situations, st.none() | st.sampled_from(ALL_STRATEGIES) | st.text(max_size=10))
def test_every_situation_has_a_decision_whatever_is_chosen(situation: Situation, choice: str | None) -> None:
    """Nothing raises, `stop` is always left, and nothing is on the menu that was taken away or that the table lacks."""
    weighed = weigh(situation, choice=choice)

    assert isinstance(weighed.decision, get_args(Decision))
    if weighed.strategy is not None:
        assert weighed.viable[-1] == "stop"
        assert weighed.strategy in weighed.viable
        assert not set(weighed.viable) & set(weighed.removed)
        assert {*weighed.viable, *weighed.removed} <= set(STRATEGIES.get(situation.code or "", ("stop",)))
    if isinstance(weighed.decision, Retry | RetryAfter):
        assert 0 <= weighed.decision.after_s <= LONGEST_WAIT_S


@settings(max_examples=1000)
@given(situations, st.none() | st.sampled_from(ALL_STRATEGIES))
def test_what_cannot_be_undone_is_never_called_again(situation: Situation, choice: str | None) -> None:
    """Whatever the code, the stage, the contract and the choice: least of all if it may have happened."""
    decision = weigh(replace(situation, effect="irreversible"), choice=choice).decision

    assert not isinstance(decision, CALLING)
    assert not isinstance(decision, Skip)
    if situation.call_may_have_happened and situation.code is not None:
        assert isinstance(decision, Stop)


@settings(max_examples=500)
@given(situations, st.sampled_from([code for code, m in CODES.items() if m.transient]))
def test_a_transient_code_of_a_read_is_retried_until_the_tries_end(situation: Situation, code: str) -> None:
    """As long as the attempt has retries, nobody asked for time, and the contract does not say otherwise."""
    read = replace(
        situation, code=code, effect="read", idempotent=True, stage="call", narrowed=None, retries_left=None,
        retry_after_s=None, came_back=False,
    )  # fmt: skip

    assert isinstance(weigh(read).decision, Retry) == (read.tries < read.max_tries)


@settings(max_examples=500)
@given(situations)
def test_nothing_is_called_when_the_attempts_retries_are_used_up(situation: Situation) -> None:
    """Whatever is left of the step's own."""
    assert not isinstance(weigh(replace(situation, retries_left=0)).decision, CALLING)


@settings(max_examples=300)
@given(situations)
def test_a_situation_read_back_from_the_journal_is_decided_alike(situation: Situation) -> None:
    """What was written suffices to make the decision again."""
    import json

    finite = replace(situation, retry_after_s=5.0 if situation.retry_after_s is not None else None)
    read = decode_situation(json.loads(dumps(encode_situation(finite))))

    assert weigh(read) == weigh(finite)


# -- every code with every strategy ----------------------------------------------------------------------------------

ABLE = replace(CALM, stage="call", replannable=True, fallback="other", needed=False, refreshable=True,
               correctable=True, retry_after_s=5.0)  # fmt: skip
"""Nothing stands against anything here, but for what excludes one another."""


@pytest.mark.parametrize("code", [*CODES, "NOT_A_CODE"])
@pytest.mark.parametrize("strategy", ALL_STRATEGIES)
def test_each_code_offers_what_the_table_says_and_nothing_else(code: str, strategy: Strategy) -> None:
    """With every filter satisfied, the menu is the table's line."""
    kinds: list[dict[str, Any]] = [{}, {"retry_after_s": None}, {"effect": "irreversible", "stage": "precondition"}]
    offered = {one for change in kinds for one in menu_of(replace(ABLE, code=code, **change))[0]}

    assert (strategy in offered) == (strategy in STRATEGIES.get(code, ("stop",)))


def test_what_ends_in_a_call_is_all_that_costs_a_retry() -> None:
    """The filters and the budget mean the same by it."""
    from dagster_planexec.journal.attempts.budget import TRIES_AGAIN

    assert TRIES_AGAIN == CALLS
