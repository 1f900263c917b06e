"""Observations as a planner is shown them."""

from __future__ import annotations

from collections.abc import Iterable

from dagster_planexec.planner.request import Seen
from dagster_planexec.world.observation import Observation


def seen_of(sights: Iterable[tuple[str, Observation]]) -> tuple[Seen, ...]:
    """What each look is about, who looked and when, and what was seen; or that it was not, and why."""
    return tuple(_seen(about, sight) for about, sight in sights)


def _seen(about: str, sight: Observation) -> Seen:
    if sight.state == "errored":
        return Seen(about, str(sight.source), None, f"{sight.code or 'INTERNAL'}: {sight.message}")
    if sight.state == "absent":
        return Seen(about, str(sight.source), {"absent": True, **({"why": sight.message} if sight.message else {})})
    return Seen(about, str(sight.source), sight.facts)
