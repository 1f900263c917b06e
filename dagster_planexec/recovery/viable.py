"""Rules that take a strategy off the menu. Each is pure and says what may not be done here, whoever would choose it."""

from __future__ import annotations

import math

from dagster_planexec.contract.strategies import Strategy
from dagster_planexec.recovery.decision import Situation

SHORT_WAIT_S = 60.0
"""A stated delay up to this is waited for in the run; for a longer one no run is kept."""
LONGEST_WAIT_S = 24 * 3600.0
"""A service that asks for more than a day is down, not busy: that is for a person."""

CALLS: frozenset[Strategy] = frozenset(
    {"retry", "retry-after", "refresh-credentials", "retry-corrected", "use-fallback"}
)
"""What ends in another call."""
_TRIES: frozenset[Strategy] = frozenset({"retry", "retry-after"})


def stated_delay(situation: Situation) -> float | None:
    """The delay that the service asked for; None if it asked for none, or for one that is no time."""
    stated = situation.retry_after_s
    return stated if stated is not None and math.isfinite(stated) and stated >= 0 else None


def nothing_is_called_again_that_cannot_be_undone(strategy: Strategy, situation: Situation) -> bool:
    """An irreversible step is called once, however its call ended."""
    return strategy in CALLS and situation.effect == "irreversible"


def nothing_is_called_again_that_would_count_twice(strategy: Strategy, situation: Situation) -> bool:
    """A call that is not idempotent is repeated only if it was not begun."""
    return strategy in CALLS and not situation.idempotent and situation.stage != "precondition"


def the_tries_of_a_step_end(strategy: Strategy, situation: Situation) -> bool:
    """A step is tried as often as its contract says."""
    return strategy in _TRIES and situation.tries >= situation.max_tries


def the_retries_of_an_attempt_end(strategy: Strategy, situation: Situation) -> bool:
    """All steps and all runs of an attempt share one number of retries."""
    return strategy in CALLS and situation.retries_left is not None and situation.retries_left <= 0


def nobody_is_called_before_the_time_they_stated(strategy: Strategy, situation: Situation) -> bool:
    """Where a service says when to come back, nobody guesses a pause."""
    return strategy == "retry" and stated_delay(situation) is not None


def waiting_needs_a_stated_time(strategy: Strategy, situation: Situation) -> bool:
    """Waiting long is for a delay that the service stated, and for no more than a day."""
    stated = stated_delay(situation)
    return strategy == "retry-after" and (stated is None or stated > LONGEST_WAIT_S)


def credentials_are_refreshed_once(strategy: Strategy, situation: Situation) -> bool:
    """Credentials that were just read anew are not read again, nor are any that no port can read anew."""
    return strategy == "refresh-credentials" and (situation.refreshed or not situation.refreshable)


def arguments_are_corrected_once(strategy: Strategy, situation: Situation) -> bool:
    """An argument is respelt once, and only if code knows how."""
    return strategy == "retry-corrected" and (situation.corrected or not situation.correctable)


def a_fallback_is_used_once(strategy: Strategy, situation: Situation) -> bool:
    """A fallback needs a tool that is at hand, and has one go."""
    return strategy == "use-fallback" and (situation.fallback is None or situation.fallback_used)


def only_what_nothing_needs_is_skipped(strategy: Strategy, situation: Situation) -> bool:
    """A step on the way to a deliverable, or needed by another step, is never left out; nor is one that is done."""
    return strategy == "skip" and (
        situation.needed or situation.effect == "irreversible" or situation.stage == "surprise"
    )


def nothing_is_skipped_that_may_have_left_something(strategy: Strategy, situation: Situation) -> bool:
    """A write of unknown outcome cannot be left out: it may be there, unjudged."""
    return strategy == "skip" and situation.effect != "read" and situation.call_may_have_happened


def another_plan_needs_the_tasks_leave(strategy: Strategy, situation: Situation) -> bool:
    """The task says after which codes another plan may be asked for; after what cannot be undone, never."""
    return strategy == "replan" and (not situation.replannable or situation.effect == "irreversible")


def a_person_is_asked_before_and_not_after(strategy: Strategy, situation: Situation) -> bool:
    """A hold is for a step that cannot be undone and has not happened: nothing else is a person's to release."""
    return strategy == "ask" and (situation.effect != "irreversible" or situation.stage != "precondition")
