"""Rules that answer at once, whatever the table of strategies says. Each is pure and named after what it does."""

from __future__ import annotations

from dagster_planexec.contract.codes import meaning
from dagster_planexec.recovery.decision import Decision, Proceed, Replan, Situation, Stop


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


def stop_when_the_same_failure_comes_back(situation: Situation) -> Decision | None:
    """Stops on a failure that came back unchanged after something was done about it: the same again would not help."""
    if situation.code is not None and situation.came_back and not situation.replannable:
        return Stop(f"{situation.text}; the same failure was met before in this attempt, and came back")
    return None


def replan_after_a_surprise(situation: Situation) -> Decision | None:
    """Asks for another plan when a step is done and what it showed contradicts the rest of the plan."""
    if situation.code is None or situation.stage != "surprise" or situation.effect == "irreversible":
        return None
    # A look that failed shows nothing about the plan: it is looked at again.
    return None if meaning(situation.code).transient else Replan(situation.text)
