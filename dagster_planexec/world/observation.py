"""Facts that were seen, each with its source: which subject, read by what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, TypeAlias

from dagster_planexec.world.subject import Subject

Fact: TypeAlias = "str | int | bool | Decimal | datetime | tuple[Fact, ...] | Mapping[str, Fact] | None"
"""A value that can be observed. Money and quantities are `Decimal` or `int`; there is no float."""

State = Literal["seen", "absent", "errored"]

NOT_OBSERVERS = frozenset({"plan", "tool", "journal"})
"""Systems that repeat what somebody said. A fact from them is never the observed side of a check."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from: the subject, the reader that read it, and the time of the reading."""

    subject: Subject
    reader: str
    """The code or call that read it: `HEAD`, `csv module`, `SQL count(*)`, `min_rows`, ..."""
    at: datetime | None = None
    """When it was read; None for what is stated once and for all (a contract, a task)."""

    def __str__(self) -> str:
        """`s3:bucket/key read by HEAD at 2026-03-07T09:12:04.250Z`."""
        # To the millisecond: the two sides of an *unchanged* check may differ in nothing else.
        when = f" at {self.at:%Y-%m-%dT%H:%M:%S}.{self.at.microsecond // 1000:03d}Z" if self.at else ""
        return f"{self.subject} read by {self.reader}{when}"

    def is_independent_of(self, other: Source, *, by_time: bool = False) -> bool:
        """Whether the two can disagree: another subject, another reader, or (by_time) another moment."""
        if self.subject != other.subject or self.reader != other.reader:
            return True
        return by_time and other.at is not None and self.at != other.at


@dataclass(frozen=True, slots=True)
class Observation:
    """What one probe saw of one subject. `absent` is an answer; `errored` is none."""

    source: Source
    state: State
    facts: Mapping[str, Fact] = field(default_factory=lambda: MappingProxyType({}))
    code: str | None = None
    """For `errored`: the stable code of what went wrong while looking."""
    message: str = ""
    retry_after_s: float | None = None
    """For `errored`: seconds after which the service asked to be looked at again."""

    def __getitem__(self, name: str) -> Fact:
        """The fact of that name. A fact nobody observed is a KeyError, never None."""
        return self.facts[name]
