"""What may be a secret, taken out of what is remembered of a call."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

TAKEN_OUT = "(redacted)"
SHORTEST_SECRET = 12
"""Characters: a shorter value of the environment may be a word like any other."""

_SECRET_NAME = re.compile(r"(?i)passw|secret|token|api_?key|access_?key|authori[sz]ation|credential|private_?key")
_IN_URL = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


def redacted(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The JSON value without texts under names of secrets, credentials in URLs, and secrets of this environment."""
    return _taken_out(value, _secrets())


def _taken_out(value: Any, secrets: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, TAKEN_OUT)
        return _IN_URL.sub(TAKEN_OUT, value)
    if isinstance(value, Mapping):
        return {
            name: TAKEN_OUT if isinstance(child, str) and _SECRET_NAME.search(str(name)) else _taken_out(child, secrets)
            for name, child in value.items()
        }
    if isinstance(value, list | tuple):
        return [_taken_out(child, secrets) for child in value]
    return value


def _secrets() -> tuple[str, ...]:
    found = (v for name, v in os.environ.items() if _SECRET_NAME.search(name) and len(v) >= SHORTEST_SECRET)
    return tuple(sorted(found, key=len, reverse=True))
