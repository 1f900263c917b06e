"""What a record file states about itself, beside what is found in it."""

from __future__ import annotations

from dataclasses import dataclass

CUT = "the file ends"
"""What is found of a control record that is not there."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One control value."""

    name: str
    """Where it stands and what it counts, e.g. `SE01, segments from ST to SE`."""
    line: int
    """The physical line of the record that states it."""
    stated: str
    found: str

    @property
    def agrees(self) -> bool:
        """Whether they are the same. Both are written the same way: whole numbers without leading zeros."""
        return self.stated == self.found


def whole(text: str) -> str:
    """A number as it is compared: without leading zeros. What is no number stays as it is, and agrees with none."""
    return str(int(text)) if text.isascii() and text.isdigit() else f"{text[:20]!r}"
