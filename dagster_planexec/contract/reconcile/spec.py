"""What a typed reconciliation compares, and when two lines agree. YAML beside the task, written by a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dagster_planexec.contract.file.column import Closed
from dagster_planexec.contract.file.reading import read_yaml
from dagster_planexec.world.sides.comparison.shape import Match, Word

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
"""A side, or a column of one."""
Code = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
"""An ISO 4217 code. In capitals, so it is never taken for a column."""
Digits = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$")]
"""A number as text. YAML would make a float of it without the quotes, and that is refused."""
Share = Annotated[str, Field(pattern=r"^0\.[0-9]{1,9}$")]
BySide = Name | dict[Name, Name]
"""One column name, or each side's own."""


class Tolerance(Closed):
    """How far apart two numbers may be and still agree. None of the three: they are the same."""

    absolute: Digits | None = None
    """At most so much, e.g. `"0.01"`."""
    relative: Share | None = None
    """At most this share of the smaller of the two, e.g. `"0.001"`."""
    last_digit: int | None = Field(default=None, ge=1, le=100)
    """At most so many units of the last digit that both sides are written with, from the declared scales."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Tolerance:
        if sum(given is not None for given in (self.absolute, self.relative, self.last_digit)) != 1:
            msg = "a tolerance is `absolute`, `relative` or `last_digit`, and one of them"
            raise ValueError(msg)
        return self


class Compared(Closed):
    """A further column that has to agree."""

    column: BySide
    tolerance: Tolerance | None = None
    """For numbers. Text and dates agree or do not; blank and absent are the same."""


class ReconcileSpec(Closed):
    """A typed reconciliation of the task's two sides. What it leaves out, the sides' file contracts say."""

    key: tuple[BySide, ...] | None = Field(default=None, min_length=1)
    """Columns that identify a line. Null: the key of both contracts, in which case their names are the same."""
    key_normalise: tuple[Literal["trim"] | Word, ...] = ()
    """What is done to the text of every key column on both sides. Blanks at its ends always go."""
    amount: BySide | None = None
    tolerance: Tolerance | None = None
    """Of the amount."""
    compare: tuple[Compared, ...] = ()
    currency: Code | Name | dict[Name, Code | Name] | None = None
    """A code in capitals for all amounts, or the column that says it."""
    match: Match = "one-to-one"
    many: Name | None = None
    """Of `one-to-many`: the side whose rows of one key are added up against the other side's one row."""
    period: BySide | None = None
    """The columns that date a row. Null: those of the contracts."""

    @model_validator(mode="after")
    def _can_be_followed(self) -> ReconcileSpec:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            raise ValueError(wrong)
        return self

    def _wrong(self) -> Iterator[str]:
        if (self.match == "one-to-many") is not (self.many is not None):
            yield "`many` names the side with several rows of a key, for match: one-to-many and no other"
        if self.match == "multiset" and (self.compare or self.tolerance):
            yield "a multiset counts lines of one key and amount: it has no tolerance and compares nothing else"
        if {"upper", "lower"} <= set(self.key_normalise):
            yield "key_normalise says upper and lower"
        if len(set(self.key_normalise)) != len(self.key_normalise):
            yield "key_normalise says one thing twice"
        for where, given in self._by_side():
            if isinstance(given, Mapping) and len(given) != 2:  # noqa: PLR2004 - two sides
                yield f"{where} names columns of {len(given)} sides; a reconciliation has two"

    def _by_side(self) -> Iterator[tuple[str, Any]]:
        yield from ((f"key.{n}", part) for n, part in enumerate(self.key or ()))
        yield from ((f"compare.{n}", compared.column) for n, compared in enumerate(self.compare))
        yield from (("amount", self.amount), ("currency", self.currency), ("period", self.period))


def load_spec(path: Path) -> ReconcileSpec:
    """Read a specification from YAML.

    Raises:
        PlanexecError: BAD_CONTRACT with every field that is wrong.
    """
    return read_yaml(path, ReconcileSpec, whole="spec", page="docs/reconcile.md", empty=True)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a specification, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ReconcileSpec.model_json_schema()}
