"""The rules that decide, each pure, each named after what it does. `decide.RULES` orders them."""

from __future__ import annotations

from dagster_planexec.contract.codes import meaning
from dagster_planexec.recovery.decision import Decision, Hold, Proceed, Replan, Retry, Situation, Stop

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

HOLDS = frozenset({"CAP_EXCEEDED", "APPROVAL_REQUIRED", "EFFECT_DIFFERS"})
"""Codes of an irreversible step that a person can settle."""


def replan_at_a_checkpoint(situation: Situation) -> Decision | None:
    """Asks for the next steps where the plan ends on purpose: they depend on what was just seen."""
    if situation.code is None and situation.checkpoint:
        return Replan("checkpoint: the next steps depend on what was seen here")
    return None


def proceed_when_nothing_is_wrong(situation: Situation) -> Decision | None:
    """Hands the result on if the step has no code."""
    return Proceed("every check passed") if situation.code is None else None


def stop_when_an_irreversible_outcome_is_unknown(situation: Situation) -> Decision | None:
    """Never repeats a call that cannot be undone and may have happened: it is looked up, not tried again."""
    if situation.effect == "irreversible" and situation.call_may_have_happened:
        return Stop(f"an irreversible call may have happened ({situation.code}); look it up: {situation.text}")
    return None


def replan_after_a_surprise(situation: Situation) -> Decision | None:
    """Asks for another plan when a step is done and what it showed contradicts the rest of the plan."""
    if situation.code is not None and situation.stage == "surprise" and situation.effect != "irreversible":
        return Replan(situation.text)
    return None


def replan_when_the_task_allows_it(situation: Situation) -> Decision | None:
    """Asks for another plan where the task says that one can help; never after a call that cannot be undone."""
    if situation.code is not None and situation.replannable and situation.effect != "irreversible":
        return Replan(situation.text)
    return None


def hold_when_a_person_must_decide(situation: Situation) -> Decision | None:
    """Holds an irreversible step whose own gate asks for a person, before anything has happened."""
    if situation.code in HOLDS and situation.effect == "irreversible" and situation.stage == "precondition":
        return Hold(situation.text)
    return None


def stop_when_the_object_is_missing(situation: Situation) -> Decision | None:
    """Stops on a missing object: waiting does not bring it back, and the next step would load nothing."""
    if situation.code == "OBJECT_GONE":
        return Stop(situation.text)
    return None


def stop_when_tries_are_used_up(situation: Situation) -> Decision | None:
    """Stops retrying a transient failure eventually."""
    if situation.code and meaning(situation.code).transient and situation.tries >= situation.max_tries:
        return Stop(f"{situation.text} ({situation.tries} of {situation.max_tries} tries)")
    return None


def retry_what_is_transient(situation: Situation) -> Decision | None:
    """Tries a transient failure again, waiting longer each time, if repeating the call is safe."""
    if situation.code is None or not meaning(situation.code).transient:
        return None
    if situation.effect == "irreversible" or not (situation.idempotent or situation.stage == "precondition"):
        return None
    pause = min(FIRST_PAUSE_S * 2 ** (situation.tries - 1), LONGEST_PAUSE_S)
    return Retry(f"{situation.text}; try {situation.tries + 1} of {situation.max_tries}", pause)


def stop_on_everything_else(situation: Situation) -> Decision | None:
    """Stops on every other code, and on a code nobody knows."""
    return Stop(situation.text or f"stopped: {situation.code}")
