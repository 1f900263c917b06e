"""What places in tool arguments take, and which results fit them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import Field

from dagster_planexec.checks.static.arg_shape import accepts, sample, shape_at, shape_of_model
from dagster_planexec.contract.tool import LandedDigest, Model, TableName


class Part(Model):
    table: TableName
    note: str | None = None


class Args(Model):
    table: TableName
    maybe: TableName | None = None
    many: tuple[LandedDigest, ...] = ()
    pair: list[LandedDigest] | TableName = ""
    named: dict[str, TableName] = Field(default_factory=dict)
    mapping: Mapping[str, int] = {}
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    mode: Literal["a", "b"] = "a"
    money: Decimal = Decimal(0)
    count: int = 0
    text: str = ""
    anything: Any = None
    bare: dict = Field(default_factory=dict)  # type: ignore[type-arg]


class Result(Model):
    table: TableName
    maybe: TableName | None
    landed: LandedDigest
    all_landed: tuple[LandedDigest, ...]
    tables: dict[str, TableName]
    part: Part
    count: int
    text: str
    maybe_text: str | None
    anything: Any


TAKERS = dict(shape_of_model(Args).fields)
GIVERS = dict(shape_of_model(Result).fields)


@pytest.mark.parametrize(
    ("taker", "givers"),
    [
        ("table", {"table", "maybe"}),
        ("maybe", {"table", "maybe"}),
        ("many", {"all_landed"}),
        ("pair", {"table", "maybe", "all_landed"}),
        ("named", {"tables"}),
        ("mapping", set()),
        ("part", {"part"}),
        ("parts", set()),
        ("mode", {"table", "maybe", "landed", "text", "maybe_text"}),
        ("money", {"table", "maybe", "landed", "text", "maybe_text", "count"}),
        ("count", {"count"}),
        ("text", {"table", "maybe", "landed", "text", "maybe_text"}),
        ("anything", set(GIVERS)),
        ("bare", {"tables"}),
    ],
)
def test_a_place_takes_only_what_fits(taker: str, givers: set[str]) -> None:
    """Kinds must agree where the taker names one; otherwise the types must; what may be anything fits everywhere."""
    assert {name for name, given in GIVERS.items() if accepts(TAKERS[taker], given)} == givers | {"anything"}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("many", 0), "landed"),
        (("many", "0"), None),
        (("named", "ledger"), "table"),
        (("pair", 3), "landed"),
        (("parts", 1, "table"), "table"),
        (("part", "note"), "str or null"),
        (("part", "nothing"), None),
        (("text", 0), None),
        (("anything", 5, "x"), "any"),
        (("bare", "x"), "any"),
        ((), "Args"),
    ],
)
def test_a_path_leads_to_what_stands_there(path: tuple[str | int, ...], shown: str | None) -> None:
    """Lists are entered by number, maps and models by name, unions through the option that has the place."""
    found = shape_at(shape_of_model(Args), path)
    assert (str(found) if found is not None else None) == shown


def test_samples_are_accepted_by_the_model_they_stand_in() -> None:
    """A model filled with samples of all its places validates, so a reference causes no error of its own."""
    Args.model_validate({name: sample(shape) for name, shape in TAKERS.items() if name != "mode"})


class Renamed(Model, extra="allow"):
    from_table: TableName = Field(alias="from")


def test_a_field_is_known_by_the_name_that_arguments_have() -> None:
    """An alias is that name; an open model takes whatever else there is."""
    shape = shape_of_model(Renamed)

    assert str(shape_at(shape, ("from",))) == "table"
    assert str(shape_at(shape, ("from_table",))) == "any"
    assert str(shape_at(shape, ("anything", 3, "else"))) == "any"
    assert shape_at(shape_of_model(Args), ("anything_else",)) is None
