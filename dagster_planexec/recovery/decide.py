"""What now? Rules that answer at once, then the code's strategies without those that a rule takes away, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from dagster_planexec.contract.strategies import Strategy, strategies_of
from dagster_planexec.recovery.decision import (
    Decision,
    Hold,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Situation,
    Skip,
    Stop,
    UseFallback,
)
from dagster_planexec.recovery.rules import (
    proceed_when_nothing_is_wrong,
    replan_after_a_surprise,
    replan_at_a_checkpoint,
    stop_when_an_irreversible_outcome_is_unknown,
    stop_when_the_same_failure_comes_back,
)
from dagster_planexec.recovery.viable import (
    SHORT_WAIT_S,
    a_fallback_is_used_once,
    a_person_is_asked_before_and_not_after,
    another_plan_needs_the_tasks_leave,
    arguments_are_corrected_once,
    credentials_are_refreshed_once,
    nobody_is_called_before_the_time_they_stated,
    nothing_is_called_again_that_cannot_be_undone,
    nothing_is_called_again_that_would_count_twice,
    nothing_is_skipped_that_may_have_left_something,
    only_what_nothing_needs_is_skipped,
    stated_delay,
    the_retries_of_an_attempt_end,
    the_tries_of_a_step_end,
    waiting_needs_a_stated_time,
)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
_DOUBLINGS = 10
"""More than the longest pause needs; an exponent without a bound is too large for a number of seconds."""

Rule = Callable[[Situation], Decision | None]
Filter = Callable[[Strategy, Situation], bool]

RULES: tuple[Rule, ...] = (
    replan_at_a_checkpoint,  # before the rule that would go on
    proceed_when_nothing_is_wrong,
    stop_when_an_irreversible_outcome_is_unknown,  # before everything that could repeat the call
    stop_when_the_same_failure_comes_back,
    replan_after_a_surprise,
)
"""The first that answers decides."""

FILTERS: tuple[Filter, ...] = (
    # First what must never be, so that the journal names it and not a lesser reason.
    nothing_is_called_again_that_cannot_be_undone,
    nothing_is_called_again_that_would_count_twice,
    only_what_nothing_needs_is_skipped,
    nothing_is_skipped_that_may_have_left_something,
    another_plan_needs_the_tasks_leave,
    a_person_is_asked_before_and_not_after,
    # Then what is used up.
    the_tries_of_a_step_end,
    the_retries_of_an_attempt_end,
    credentials_are_refreshed_once,
    arguments_are_corrected_once,
    a_fallback_is_used_once,
    # Then what there is no occasion for.
    nobody_is_called_before_the_time_they_stated,
    waiting_needs_a_stated_time,
)
"""Where none of the rules answers: the first that takes a strategy away is named for it."""


TAKEN: Mapping[Strategy, str] = MappingProxyType(
    {
        "retry": "retry_what_is_transient",
        "retry-after": "retry_when_the_stated_time_has_come",
        "refresh-credentials": "refresh_credentials_that_are_refused",
        "retry-corrected": "correct_what_has_one_meaning",
        "use-fallback": "use_the_named_fallback",
        "skip": "skip_what_nothing_needs",
        "replan": "replan_when_the_task_allows_it",
        "ask": "hold_when_a_person_must_decide",
        "stop": "stop_on_everything_else",
    }
)
"""What is journalled as the rule where the first strategy left of a code's is taken."""
CHOSEN = "chosen_from_the_menu"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A decision, with everything that went into it."""

    decision: Decision
    rule: str
    """The rule that answered; else what the taken strategy is called in `TAKEN`, or `chosen_from_the_menu`."""
    strategy: Strategy | None = None
    """The strategy of the table that was taken; None if a rule answered."""
    viable: tuple[Strategy, ...] = ()
    """The menu: what could be done here, in order of preference."""
    removed: Mapping[Strategy, str] = field(default_factory=dict)
    """What the table has for the code and a rule took away, with that rule."""


def decide(situation: Situation) -> tuple[Decision, str]:
    """The decision, and the name of the rule that made it."""
    weighed = weigh(situation)
    return weighed.decision, weighed.rule


def weigh(situation: Situation, *, choice: str | None = None) -> Weighed:
    """The decision, and what else there was to do.

    Args:
        situation: The facts.
        choice: What somebody picked from the menu. What is not on it counts as nothing picked.
    """
    for rule in RULES:
        decision = rule(situation)
        if decision is not None:
            return Weighed(decision, rule.__name__)
    viable, removed = menu_of(situation)
    picked = next((strategy for strategy in viable if strategy == choice), None)
    taken = picked or viable[0]
    return Weighed(
        decision_of(taken, situation),
        TAKEN[taken] if picked is None else CHOSEN,
        taken,
        viable,
        removed,
    )


def menu_of(situation: Situation) -> tuple[tuple[Strategy, ...], dict[Strategy, str]]:
    """What could be done, in order, and what could not, with the rule that forbids it. `stop` is never forbidden."""
    code = situation.code or "INTERNAL"
    narrowed = None if situation.narrowed is None else {code: situation.narrowed}
    viable: list[Strategy] = []
    removed: dict[Strategy, str] = {}
    for strategy in strategies_of(code, narrowed):
        against = next((f.__name__ for f in FILTERS if f(strategy, situation)), None)
        if against is None:
            viable.append(strategy)
        else:
            removed[strategy] = against
    return tuple(viable), removed


def decision_of(strategy: Strategy, situation: Situation) -> Decision:
    """What a strategy comes to in a situation."""
    text = situation.text or f"stopped: {situation.code}"
    match strategy:
        case "retry":
            return Retry(f"{text}; try {situation.tries + 1} of {situation.max_tries}", backoff(situation))
        case "retry-after":
            after_s = stated_delay(situation) or 0.0
            said = f"{text}; the service asked to be called again after {after_s:g} s"
            return Retry(said, after_s) if after_s <= SHORT_WAIT_S else RetryAfter(said, after_s)
        case "refresh-credentials":
            return RefreshCredentials(f"{text}; the credentials are read anew")
        case "retry-corrected":
            return RetryCorrected(f"{text}; the arguments are respelt")
        case "use-fallback":
            tool = situation.fallback or ""
            return UseFallback(f"{text}; {tool} makes the call instead", tool)
        case "skip":
            return Skip(f"{text}; nothing needs this step, so it is left out")
        case "replan":
            return Replan(situation.text)
        case "ask":
            return Hold(situation.text)
        case "stop":
            return Stop(_why_it_ends(text, situation))
        case _:
            assert_never(strategy)


def backoff(situation: Situation) -> float:
    """The pause before the next try: twice as long each time, up to a bound, and up to half of it left out."""
    doublings = min(max(situation.tries - 1, 0), _DOUBLINGS)
    pause = min(FIRST_PAUSE_S * (1 << doublings), LONGEST_PAUSE_S)
    return pause * (1 - min(max(situation.jitter, 0.0), 1.0) / 2)


def _why_it_ends(text: str, situation: Situation) -> str:
    """The sentence, and how often it was tried where it could have been tried again."""
    if "retry" not in strategies_of(situation.code or "INTERNAL"):
        return text
    if situation.tries >= situation.max_tries:
        return f"{text} ({situation.tries} of {situation.max_tries} tries)"
    if situation.retries_left is not None and situation.retries_left <= 0:
        return f"{text} (the attempt's retries are used up)"
    return text
