"""What a file contract says beyond its columns: trailers, signs, when a bill is final, which days belong to it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from dagster_planexec.contract.file.column import Closed, Word
from dagster_planexec.world.ingest import SignRule, Trailer

Position = Annotated[int, Field(ge=1, le=10_000)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class TrailerRule(Closed):
    """A record at the end of a file that is no data. What it states is a control total."""

    equals: Word | None = None
    """The whole text of its first field."""
    starts_with: Word | None = None
    """What its first field begins with."""
    rows: Position | None = None
    """The field, counted from 1, that states the number of records."""
    sums: dict[str, Position] = Field(default_factory=dict)
    """Column to the field that states its sum."""
    required: bool = True
    """Whether every file must have it."""

    @model_validator(mode="after")
    def _is_known_by_one_mark(self) -> TrailerRule:
        if (self.equals is None) == (self.starts_with is None):
            msg = "a trailer is known by `equals` or by `starts_with`, and by one of them"
            raise ValueError(msg)
        return self

    @property
    def flat(self) -> Trailer:
        """For loaders and counters."""
        return Trailer(self.equals, self.starts_with, self.rows, tuple(self.sums.items()), self.required)


class Sign(Closed):
    """The sign of an amount, by the kind of its document."""

    column: str
    positive: tuple[Word, ...] = Field(min_length=1)
    negative: tuple[Word, ...] = Field(min_length=1)

    @property
    def flat(self) -> SignRule:
        """For loaders and counters."""
        return SignRule(self.column, self.positive, self.negative)


class Final(Closed):
    """What makes a line final: its column is filled, holds one of these words, or none of those."""

    column: str
    filled: bool = False
    one_of: tuple[Word, ...] = ()
    none_of: tuple[Word, ...] = ()

    @model_validator(mode="after")
    def _asks_something(self) -> Final:
        if not (self.filled or self.one_of or self.none_of):
            msg = f"says nothing of {self.column!r}: give `filled`, `one_of` or `none_of`"
            raise ValueError(msg)
        return self


class Window(Closed):
    """Days around the period that a row may be dated on; a row outside is OUT_OF_PERIOD."""

    days_before: int = Field(default=0, ge=0, le=3660)
    days_after: int = Field(default=0, ge=0, le=3660)


class Allowed(Closed):
    """Rejects that do not stop a load: these codes, and no more rows than this. They stay in the rejects table."""

    codes: tuple[str, ...] = Field(min_length=1)
    at_most: int = Field(ge=1)
