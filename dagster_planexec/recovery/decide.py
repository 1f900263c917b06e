"""What now? Ordered, named, pure rules; the first that answers decides."""

from __future__ import annotations

from collections.abc import Callable

from dagster_planexec.recovery.decision import Decision, Situation
from dagster_planexec.recovery.rules import (
    hold_when_a_person_must_decide,
    proceed_when_nothing_is_wrong,
    replan_after_a_surprise,
    replan_at_a_checkpoint,
    replan_when_the_task_allows_it,
    retry_what_is_transient,
    stop_on_everything_else,
    stop_when_an_irreversible_outcome_is_unknown,
    stop_when_the_object_is_missing,
    stop_when_tries_are_used_up,
)

Rule = Callable[[Situation], Decision | None]

RULES: tuple[Rule, ...] = (
    replan_at_a_checkpoint,  # before the rule that would go on
    proceed_when_nothing_is_wrong,
    stop_when_an_irreversible_outcome_is_unknown,  # before every rule that could repeat the call
    hold_when_a_person_must_decide,
    replan_after_a_surprise,
    replan_when_the_task_allows_it,
    stop_when_the_object_is_missing,
    stop_when_tries_are_used_up,  # before the rule that would try again
    retry_what_is_transient,
    stop_on_everything_else,  # last: an unknown code stops
)


def decide(situation: Situation) -> tuple[Decision, str]:
    """The decision, and the name of the rule that made it.

    Raises:
        AssertionError: No rule answered; `stop_on_everything_else` makes that impossible.
    """
    for rule in RULES:
        decision = rule(situation)
        if decision is not None:
            return decision, rule.__name__
    msg = f"no rule answered {situation!r}"
    raise AssertionError(msg)
