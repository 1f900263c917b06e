"""What one thing is now, beside what it was: a line of `planexec observe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.encoding import encode_source
from dagster_planexec.journal.told.line import shown, shown_side
from dagster_planexec.world.observation import Fact, Observation, Source

About = Literal["drop", "landed", "table", "sql", "watched", "result", "credits"]
Word = Literal["unchanged", "changed", "gone", "new", "not observed"]

GONE_CODES = frozenset({"TABLE_GONE", "BUCKET_GONE", "OBJECT_GONE"})
"""Codes of looks that failed because there is nothing to look at: an answer, and not a silence."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One thing that a period relies on: remembered, seen again, and what that means."""

    about: About
    expected: Side
    """What was admitted, sealed or reported; the only side that the journal may speak for."""
    seen: Side
    """What a probe sees now."""
    word: Word
    stands: bool
    """Whether what the period was settled on still holds. An expired drop whose copy was landed stands."""
    means: str
    code: str | None = None

    @property
    def subject(self) -> str:
        """`s3:vendor-drops/vendor/exports/2026-03-invoice.csv`."""
        return str(self.seen.source.subject)

    @property
    def verdict(self) -> str:
        """`unchanged`, `gone`, `not observed: UNAVAILABLE`."""
        return f"{self.word}: {self.code}" if self.word == "not observed" else self.word

    def as_json(self) -> dict[str, Any]:
        """The line as the document has it."""
        sides = {
            name: {"value": shown(side.value), "source": str(side.source), "at": encode_source(side.source)["at"]}
            for name, side in (("expected", self.expected), ("seen", self.seen))
        }
        return {
            "about": self.about, "subject": self.subject, **sides, "verdict": self.verdict, "stands": self.stands,
            "code": self.code, "means": self.means,
        }  # fmt: skip

    def __str__(self) -> str:
        """One line: `changed s3:...: expected ..., saw ...`."""
        return f"{self.verdict} {self.subject}: expected {shown_side(self.expected)}, saw {shown_side(self.seen)}"


@dataclass(frozen=True, slots=True)
class Reobserved:
    """Everything that a period relies on, as it is now."""

    task: str
    partition: str
    attempt: str | None
    """None if nothing was ever admitted for the period: then there is nothing that could have changed."""
    at: datetime
    sightings: tuple[Sighting, ...]

    @property
    def finding(self) -> Sighting | None:
        """The first thing that does not stand; what changed outweighs what could not be seen."""
        shut = [sighting for sighting in self.sightings if not sighting.stands]
        return next((s for s in shut if s.word != "not observed"), shut[0] if shut else None)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many things are what."""
        words: tuple[Word, ...] = ("unchanged", "changed", "gone", "new", "not observed")
        return {word: sum(1 for s in self.sightings if s.word == word) for word in words}


def not_seen(about: About, expected: Side, seen: Observation) -> Sighting:
    """The sighting of a look that failed."""
    code = seen.code or "INTERNAL"
    if code in GONE_CODES:
        side = Side("nothing", seen.source)
        return Sighting(about, expected, side, "gone", stands=False, means=seen.message or "it is gone", code=code)
    side = Side("not observed", seen.source)
    return Sighting(about, expected, side, "not observed", stands=False, means=seen.message, code=code)


def compared(about: About, verdict: Verdict, *, same: str, otherwise: str) -> Sighting:
    """The sighting that a verdict about something *unchanged* comes to."""
    if verdict.status in {"errored", "not-evaluated"}:
        return not_seen(
            about, verdict.expected, Observation(verdict.observed.source, "errored", {}, verdict.code, verdict.text)
        )
    word: Word = "unchanged" if verdict.opens else ("gone" if verdict.observed.value == "absent" else "changed")
    means = same if verdict.opens else otherwise
    seen = Side("nothing", verdict.observed.source) if word == "gone" else verdict.observed
    return Sighting(about, verdict.expected, seen, word, stands=verdict.opens, means=means, code=verdict.code)


def admitted(value: Fact, source: Source) -> Side:
    """What was admitted of something; `nothing` where it was not."""
    return Side("nothing" if value is None else value, source)
