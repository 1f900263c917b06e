"""What a strict schema may be at most, as published, and how much of it one uses.

The figures are those of OpenAI's guide to Structured Outputs, section "Supported schemas"
(https://platform.openai.com/docs/guides/structured-outputs#supported-schemas), as of February 2026: 5,000 object
properties and 10 levels in total; 120,000 characters of property names, definition names, enum and const values; 1,000
enum values, and 15,000 characters of one enum with more than 250 values. Objects are closed, every field is required,
the root is an object and no `anyOf`; `oneOf`, `allOf`, `not` and `default` are not among what is supported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_PROPERTIES = 5_000
MOST_LEVELS = 10
MOST_LETTERS = 120_000
MOST_ENUM_VALUES = 1_000
MOST_WORDS = 100
"""Words of one enum that are listed; a longer list stays below the bound on long enums by not being one."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a schema is."""

    properties: int
    letters: int
    enum_values: int

    @property
    def beyond(self) -> str | None:
        """The first limit that it passes, in words."""
        for name, seen, most in (
            ("object properties", self.properties, MOST_PROPERTIES),
            ("characters of names and enum values", self.letters, MOST_LETTERS),
            ("enum values", self.enum_values, MOST_ENUM_VALUES),
        ):
            if seen > most:
                return f"{seen:,} {name}; at most {most:,} are taken"
        return None


def size_of(schema: dict[str, Any]) -> Size:
    """What the limits count, each definition once."""
    properties = letters = enum_values = 0
    for node in _nodes(schema):
        names = [*node.get("properties", ()), *node.get("$defs", ())]
        words = node.get("enum", ())
        properties += len(node.get("properties", ()))
        letters += sum(len(str(name)) for name in (*names, *words))
        enum_values += len(words)
    return Size(properties, letters, enum_values)


def _nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for group in ("properties", "$defs"):
        for child in schema.get(group, {}).values():
            yield from _nodes(child)
    for child in (schema.get("items"), *schema.get("anyOf", ())):
        if child is not None:
            yield from _nodes(child)
