"""A situation as JSON and back, so that what was decided can be decided again by the rules of another day."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from dagster_planexec.recovery.decision import Situation


@cache  # building it takes milliseconds, and a process decides often
def _adapter() -> TypeAdapter[Situation]:
    return TypeAdapter(Situation)


def encode_situation(situation: Situation) -> dict[str, Any]:
    """Every fact of it as JSON, by name."""
    encoded: dict[str, Any] = _adapter().dump_python(situation, mode="json")
    return encoded


def decode_situation(value: Mapping[str, Any]) -> Situation:
    """The situation that `encode_situation` wrote, perhaps long ago.

    A fact that there was none of then has its default; one that there is none of any more is left out.

    Raises:
        ValueError: It says what no situation can be today, e.g. a stage that is no more.
    """
    return _adapter().validate_python(dict(value))
