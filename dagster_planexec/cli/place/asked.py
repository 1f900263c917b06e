"""What was asked for by a name: found, or refused with the names there are, the one that was meant first."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING

from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.world.period import Period

MOST_NAMES = 30
"""Names in a hint."""


def no_such(kind: str, name: str, known: Collection[str], *, more: str = "") -> PlanexecError:
    """The refusal of a name: what it may have been meant to be, and what there is.

    Args:
        kind: What it was to be the name of, e.g. `fault`.
        name: As it was given.
        known: The names there are.
        more: Where more about them can be read, as a command.
    """
    return PlanexecError("BAD_CONTRACT", f"there is no {kind} {name[:80]!r}", hint=_hint(kind, name, known, more))


def _hint(kind: str, name: str, known: Collection[str], more: str) -> str:
    near = nearest(name, known)
    names = ", ".join(list(known)[:MOST_NAMES]) + (", ..." if len(known) > MOST_NAMES else "")
    there = f"there is {names}" if known else f"there are no {kind}s"
    return " ".join(part for part in (f"did you mean {near}?" if near else there, more) if part)


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is nearest to a mistyped one, or None if none is near."""
    found = get_close_matches(name[:200].lower(), [one.lower() for one in known], n=1, cutoff=0.6)
    return next((one for one in known if found and one.lower() == found[0]), None)


def period_of(planned: PlannedTask, text: str, *, ended: bool = True) -> Period:
    """The task's period of that name.

    Args:
        planned: The task.
        text: As it was given.
        ended: Whether it must be over: the running month is no partition yet.

    Raises:
        PlanexecError: UNKNOWN_PARTITION with the first and the last partition there are.
    """
    from dagster_planexec.definitions.partitions import just_closed  # noqa: PLC0415 - Dagster, where it is needed
    from dagster_planexec.world.period import Period  # noqa: PLC0415 - with it

    task = planned.binding.task
    newest = just_closed(task, planned.binding.resources.clock.now())
    first = Period.parse(task.first_period, task.granularity)
    end = Period.parse(task.last_period, task.granularity) if task.last_period else None
    last = min(newest, end) if end else newest
    there = f"{first.text} to {last.text}" if first <= last else f"{first.text} on, and none has ended yet"
    hint = f"`planexec status {task.name}` shows how each of them stands"
    try:
        period = Period.parse(text, task.granularity)
    except PlanexecError as error:
        said = f"{error.message}; the partitions of {task.name} are {there}"
        raise PlanexecError(error.code, said, hint=hint) from error
    is_over = period <= newest or not ended
    if first <= period and is_over and (end is None or period <= end):
        return period
    why = "" if is_over else ": the period has not ended"
    raise PlanexecError(
        "UNKNOWN_PARTITION", f"partition {period.text} is outside the partitions of {task.name} ({there}){why}",
        hint=hint,
    )  # fmt: skip
