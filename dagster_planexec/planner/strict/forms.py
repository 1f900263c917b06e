"""What stands at one place of a tool's arguments, as a strict schema can say it, and values there and back.

A strict schema knows no open objects. So a mapping is a list of `{name, value}` pairs there, an optional argument that
is left out is null, and where a type is open or lies too deep any JSON may stand, in which an object is
`{"pairs": [{name, value}]}`. A reference is itself, at every place but the arguments as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dagster_planexec.planner.strict.limits import MOST_WORDS

Kind = Literal["any", "text", "integer", "number", "boolean", "null", "word", "tag", "list", "map", "object", "union"]

REF, PAIRS, NAME, VALUE = "ref", "pairs", "name", "value"
REFERENCE = {"$ref": "#/$defs/reference"}
JSON = {"$ref": "#/$defs/json"}
NULL = {"type": "null"}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these fields."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    """A list of these."""
    return {"type": "array", "items": items}


DEFINITIONS: dict[str, Any] = {
    "reference": closed({REF: {"type": "string"}}),
    "pair": closed({NAME: {"type": "string"}, VALUE: JSON}),
    "json": {
        "anyOf": [
            {"type": "string"}, {"type": "integer"}, {"type": "boolean"}, NULL, listed(JSON), REFERENCE,
            closed({PAIRS: listed({"$ref": "#/$defs/pair"})}),
        ]
    },
}  # fmt: skip
"""What every plan's schema refers to."""
ANY_DEPTH = 3
"""Levels of `json` where it is not repeated: the object, its pairs, a pair."""


class NotOfThisFormError(ValueError):
    """A value cannot stand at a place; says where, and what could."""

    def __init__(self, expected: str, where: Sequence[str] = ()) -> None:
        super().__init__(f"{'.'.join(where)[:200] or 'value'}: expected {expected}")
        self.expected, self.where = expected, tuple(where)

    def below(self, name: object) -> NotOfThisFormError:
        """The same, seen from one level above."""
        return NotOfThisFormError(self.expected, (str(name)[:60], *self.where))


@dataclass(frozen=True, slots=True)
class Form:
    """What may stand at one place, beside a reference."""

    kind: Kind
    inner: tuple[Form, ...] = ()
    """The item of a list or the value of a map; the options of a union."""
    names: tuple[str, ...] = ()
    """Of an object: its fields, whose forms are `inner`."""
    required: frozenset[str] = frozenset()
    words: tuple[str | int, ...] = ()
    """Of a word or a tag: what it may be."""

    @property
    def depth(self) -> int:
        """Levels of objects and lists, a reference included."""
        below = max((form.depth for form in self.inner), default=1)
        own = {"any": ANY_DEPTH, "list": 1 + below, "map": 2 + below, "object": 1 + below, "union": below}
        return max(1, own.get(self.kind, 1))

    def fitted(self, room: int) -> Form | None:
        """The form with open JSON in place of what lies too deep; None if not even that has room."""
        if self.depth <= room:
            return self
        taken = {"list": 1, "map": 2, "object": 1}.get(self.kind, 0)
        fitting = [form.fitted(room - taken) for form in self.inner]
        parts = tuple(form for form in fitting if form is not None)
        if not parts or len(parts) < len(fitting) or (self.kind == "union" and ANY in parts):
            return ANY if room >= ANY_DEPTH else None
        return Form(self.kind, parts, self.names, self.required, self.words)

    def schema(self, *, optional: bool = False) -> dict[str, Any]:
        """What may stand there: a value, a reference, or null where it may be left out."""
        if self.kind == "any":
            return JSON
        if self.kind == "tag":  # nothing may stand beside what tells objects apart
            return self.options()[0]
        options = [*self.options(), REFERENCE]
        return {"anyOf": options if not optional or NULL in options else [*options, NULL]}

    def options(self) -> list[dict[str, Any]]:
        """The schemas of the values themselves."""
        match self.kind:
            case "text":
                return [{"type": "string"}]
            case "number":  # plans hold no floats; a fraction is a decimal string
                return [{"type": "integer"}, {"type": "string"}]
            case "word" | "tag":
                return [{"type": "string" if isinstance(self.words[0], str) else "integer", "enum": [*self.words]}]
            case "list":
                return [listed(self.inner[0].schema())]
            case "map":
                return [listed(closed({NAME: {"type": "string"}, VALUE: self.inner[0].schema()}))]
            case "object":
                return [self.as_object()]
            case "union":
                return [schema for form in self.inner for schema in form.options()]
            case _:
                return [{"type": self.kind}]

    def as_object(self) -> dict[str, Any]:
        """An object's schema without the reference beside it: the arguments as a whole are none."""
        fields = zip(self.names, self.inner, strict=True)
        return closed({name: form.schema(optional=name not in self.required) for name, form in fields})


ANY = Form("any")
TEXT = Form("text")
OPEN = Form("map", (ANY,))
"""Arguments of which nothing is declared."""


def word_form(words: Sequence[Any]) -> Form:
    """One of these words. Very many are a text: the tool itself refuses the others."""
    of_one_type = all(isinstance(word, str) for word in words) or all(type(word) is int for word in words)
    if not words or not of_one_type:
        return ANY
    kind: Kind = "text" if isinstance(words[0], str) else "integer"
    return Form("word", words=tuple(words)) if len(words) <= MOST_WORDS else Form(kind)


def union_form(options: Sequence[Form]) -> Form:
    """Any of these, if a reader can tell them apart by their looks; else any JSON."""
    flat = list(dict.fromkeys(part for form in options for part in (form.inner if form.kind == "union" else (form,))))
    objects = [form for form in flat if form.kind == "object"]
    lists = [form for form in flat if form.kind in {"list", "map"}]
    if not flat or ANY in flat or len(lists) > 1:
        return ANY
    told_apart = _told_apart(objects)
    if told_apart is None:
        return ANY
    parts = [*told_apart, *(form for form in flat if form.kind != "object")]
    return parts[0] if len(parts) == 1 else Form("union", tuple(parts))


def object_form(fields: dict[str, tuple[Form, bool]]) -> Form:
    """An object with these fields, each with whether it is required."""
    required = frozenset(name for name, (_, is_required) in fields.items() if is_required)
    return Form("object", tuple(form for form, _ in fields.values()), tuple(fields), required)


def _told_apart(objects: Sequence[Form]) -> list[Form] | None:
    """The objects with first fields that differ, or that hold one word each, all different; None if there are none.

    The service refuses objects of one `anyOf` that share their first key, unless its value tells them apart.
    """
    firsts = [form.names[0] if form.names else "" for form in objects]
    if len(set(firsts)) == len(firsts) and not {REF, PAIRS} & set(firsts):
        return list(objects)
    for name in objects[0].names:
        moved = [_led_by(form, name) for form in objects]
        words = [form.inner[0].words for form in moved if form is not None]
        if name not in {REF, PAIRS} and len(words) == len(objects) == len({*words}) and all(map(_is_one, words)):
            return [form for form in moved if form is not None]
    return None


def _is_one(words: tuple[str | int, ...]) -> bool:
    return len(words) == 1


def _led_by(form: Form, name: str) -> Form | None:
    """The same object with this field first, as the tag that tells it from others."""
    if name not in form.names:
        return None
    at = form.names.index(name)
    rest = [i for i in range(len(form.names)) if i != at]
    names = (name, *(form.names[i] for i in rest))
    inner = (Form("tag", words=form.inner[at].words), *(form.inner[i] for i in rest))
    return Form("object", inner, names, form.required | {name})
