"""What each place in a tool's arguments takes and each field of its result gives, read from its pydantic models."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from dagster_planexec.contract.tool import Kind

Segment = str | int


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of one place, as far as references need it."""

    base: str
    """`str`, `int`, ..., `list`, `map`, `null`, `union`, `any`, or a model's name."""
    kind: str | None = None
    """What a string stands for: `table`, `landed`, `report`; None if nothing in particular."""
    inner: tuple[Shape, ...] = ()
    """The item of a list or map, or the options of a union."""
    fields: tuple[tuple[str, Shape], ...] = ()
    """The fields of a model, by the names that arguments have."""
    is_open: bool = False
    """Of a model: whether it takes other fields too."""

    def __str__(self) -> str:
        """`table`, `list of landed`, `str or null`: what findings show."""
        if self.base in {"list", "map"}:
            return f"{self.base} of {self.inner[0]}"
        if self.base == "union":
            return " or ".join(str(option) for option in self.inner)
        return self.kind or self.base

    def field(self, name: str) -> Shape | None:
        """The field of a model; None if it has none of that name."""
        return next((shape for known, shape in self.fields if known == name), ANY if self.is_open else None)

    @property
    def single_kind(self) -> str | None:
        """What one value stands for, also where null may stand in its place."""
        if self.base != "union":
            return self.kind
        return next((kind for option in self.inner if (kind := option.single_kind) is not None), None)

    def holds(self, kind: str) -> bool:
        """Whether something of a kind stands here or anywhere inside."""
        inside = (*self.inner, *(shape for _, shape in self.fields))
        return self.kind == kind or any(shape.holds(kind) for shape in inside)


ANY = Shape("any")


@cache
def shape_of_model(model: type[BaseModel]) -> Shape:
    """The shape of a model with all its fields. Cached: a model's fields never change."""
    fields = [(info.alias or name, _shape(info.annotation, info.metadata)) for name, info in model.model_fields.items()]
    return Shape(model.__name__, fields=tuple(fields), is_open=model.model_config.get("extra") == "allow")


def shape_at(shape: Shape, segments: Sequence[Segment]) -> Shape | None:
    """The shape at a path inside an argument; None if nothing can stand there."""
    if not segments:
        return shape
    first, rest = segments[0], segments[1:]
    if shape.base == "any":
        return ANY
    if shape.base == "union":
        return next((found for option in shape.inner if (found := shape_at(option, segments))), None)
    if shape.base == "list" and isinstance(first, int):
        return shape_at(shape.inner[0], rest)
    if shape.base == "map" and isinstance(first, str):
        return shape_at(shape.inner[0], rest)
    inner = shape.field(first) if isinstance(first, str) else None
    return None if inner is None else shape_at(inner, rest)


def accepts(taker: Shape, giver: Shape) -> bool:
    """Whether a value of one shape can stand where another is taken. Kinds must agree where the taker names one."""
    if "any" in {taker.base, giver.base}:
        return True
    if giver.base == "union":
        return all(accepts(taker, option) for option in giver.inner if option.base != "null")
    if taker.base == "union":
        return any(accepts(option, giver) for option in taker.inner)
    if taker.base in {"list", "map"}:
        return giver.base == taker.base and accepts(taker.inner[0], giver.inner[0])
    if taker.kind is not None and taker.kind != giver.kind:
        return False
    return giver.base in _TAKES.get(taker.base, (taker.base,))


def sample(shape: Shape) -> Any:  # noqa: ANN401 - any JSON
    """A harmless value of a shape: it stands for a reference while the other arguments are validated."""
    if shape.kind in _SAMPLES:
        return _SAMPLES[shape.kind]
    if shape.base == "union":
        return sample(next((option for option in shape.inner if option.base != "null"), shape.inner[0]))
    if shape.base == "list":
        return [sample(shape.inner[0])]
    if shape.base == "map":
        return {"reference": sample(shape.inner[0])}
    if shape.fields:
        return {name: sample(inner) for name, inner in shape.fields}
    return _SAMPLES.get(shape.base, "reference")


_TAKES = {"Decimal": ("Decimal", "int", "str"), "float": ("float", "int")}
_SAMPLES: dict[str, Any] = {
    "table": "reference.reference",
    "landed": "0" * 64,
    "report": "reference",
    "int": 1,
    "bool": True,
    "Decimal": "1",
    "null": None,
}


def _shape(annotation: Any, metadata: Sequence[Any] = ()) -> Shape:  # noqa: ANN401 - annotations are any object
    kind = next((mark.name for mark in metadata if isinstance(mark, Kind)), None)
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        return _shape(inner, (*metadata, *marks))
    if origin is Literal:
        return Shape("str" if isinstance(get_args(annotation)[0], str) else "int", kind)
    if origin in {Union, types.UnionType}:
        return Shape("union", inner=tuple(_shape(option, metadata) for option in get_args(annotation)))
    if annotation is Any or annotation is object:
        return ANY
    if annotation is type(None):
        return Shape("null")
    plain = origin or annotation
    if not isinstance(plain, type):
        return ANY
    if issubclass(plain, BaseModel):
        return shape_of_model(plain)
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    if issubclass(plain, Mapping):
        return Shape("map", inner=(_shape(arguments[1]) if len(arguments) > 1 else ANY,))
    if issubclass(plain, Sequence | AbstractSet) and not issubclass(plain, str | bytes):
        return Shape("list", inner=(_shape(arguments[0]) if arguments else ANY,))
    return Shape(plain.__name__, kind)
