"""What every payload passes on its way into the journal: nothing secret, and no more than there is room for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_planexec.journal.door.redact import is_suspicious, redacted

LARGEST_PAYLOAD = 200_000
"""Characters of one event."""
LEFT_OUT = "left_out"
"""The name under which a payload says what is not in it."""
MOST_NAMED = 20
"""Places in it that are named; all are counted."""
_ROOMS = ((1_000, 2_000), (300, 1_000), (100, 400), (30, 200), (12, 100), (12, 30))
"""Entries of a list or mapping, characters of a text: the first room in which a payload fits is taken.

No mapping that the harness itself writes has more than twelve entries, so its structure is kept in all of them.
"""


@dataclass(slots=True)
class _Cut:
    """How one payload is cut, and what that costs it."""

    entries: int
    characters: int
    at: dict[str, str] = field(default_factory=dict)
    places: int = 0

    def fitted(self, value: Any, where: str) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, str):
            if len(value) <= self.characters:
                return value
            self._note(where, f"{len(value) - self.characters} of {len(value)} characters")
            return f"{value[: self.characters]}… ({len(value)} characters)"
        if isinstance(value, Mapping):
            kept = list(value.items())[: self.entries]
            if len(kept) < len(value):
                self._note(where, f"{len(value) - len(kept)} of {len(value)} entries")
            return {name: self.fitted(child, f"{where}.{name}" if where else str(name)) for name, child in kept}
        if isinstance(value, Sequence):
            if len(value) > self.entries:
                self._note(where, f"{len(value) - self.entries} of {len(value)} entries")
            return [self.fitted(child, f"{where}[{n}]") for n, child in enumerate(value[: self.entries])]
        return value

    def _note(self, where: str, what: str) -> None:
        self.places += 1
        if len(self.at) < MOST_NAMED:
            self.at[(where or "the payload")[:200]] = what


def dumps(value: Any) -> str:  # noqa: ANN401 - JSON
    """JSON text for a payload column."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def payload_text(payload: Mapping[str, Any]) -> str:
    """The JSON text that is stored of a payload.

    What is too large is cut where it is long, and keeps its structure; `left_out` then names the places and counts
    them, so that nobody takes the rest for all there was.
    """
    clean: Mapping[str, Any] = payload
    text = dumps(payload)
    if is_suspicious(text):  # looked at as one text, as nearly every payload is clean and going through it takes long
        clean = redacted(payload)
        text = dumps(clean)
    if len(text) <= LARGEST_PAYLOAD:
        return text
    for entries, characters in _ROOMS:
        cut = _Cut(entries, characters)
        fitted = cut.fitted(clean, "")
        fitted[LEFT_OUT] = {"characters": len(text), "places": cut.places, "at": cut.at}
        smaller = dumps(fitted)
        if len(smaller) <= LARGEST_PAYLOAD:
            return smaller
    return dumps({LEFT_OUT: {"characters": len(text), "places": 1, "at": {"the payload": "all of it"}}})
