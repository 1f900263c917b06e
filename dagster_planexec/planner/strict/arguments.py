"""The form of a tool's arguments, made from what its pydantic model says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema

from dagster_planexec.planner.strict.forms import (
    ANY,
    OPEN,
    PAIRS,
    REF,
    TEXT,
    Form,
    object_form,
    union_form,
    word_form,
)

ROOM = 6
"""Levels that are left inside one argument: above it are the plan, its steps, a step and the arguments."""
_SCALARS = {
    "string": TEXT, "integer": Form("integer"), "number": Form("number"), "boolean": Form("boolean"),
    "null": Form("null"),
}  # fmt: skip


def form_of(model: type[BaseModel]) -> Form:
    """The arguments of a tool: an object, or named JSON values where the model takes anything or cannot say."""
    try:
        said = model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return OPEN
    if said.get("additionalProperties") not in {None, False} or "$ref" in said:
        return OPEN
    defined = said.get("$defs", {})
    required = said.get("required", ())
    fields: dict[str, tuple[Form, bool]] = {}
    for name, schema in said.get("properties", {}).items():
        fields[name] = (_form(schema, defined, 0).fitted(ROOM) or ANY, name in required)
    return object_form(fields)


def _form(schema: Any, defined: Mapping[str, Any], depth: int) -> Form:  # noqa: ANN401 - any JSON Schema
    """The form of one place. What recurs, lies very deep, or is said in words that are not known is any JSON."""
    if not isinstance(schema, Mapping) or depth > ROOM:
        return ANY
    if "$ref" in schema:
        target = defined.get(str(schema["$ref"]).removeprefix("#/$defs/"))
        return _form(target, defined, depth + 1)
    if "enum" in schema or "const" in schema:
        return word_form(schema["enum"] if "enum" in schema else [schema["const"]])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return union_form([_form(option, defined, depth) for option in schema[word]])
    if len(schema.get("allOf", ())) == 1:
        return _form(schema["allOf"][0], defined, depth)
    declared = schema.get("type")
    if isinstance(declared, list):
        return union_form([_form({**schema, "type": one}, defined, depth) for one in declared])
    if declared == "array" and "prefixItems" not in schema:
        return Form("list", (_form(schema.get("items", True), defined, depth + 1),))
    if declared == "object":
        return _object(schema, defined, depth)
    return _SCALARS.get(str(declared), ANY)


def _object(schema: Mapping[str, Any], defined: Mapping[str, Any], depth: int) -> Form:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    patterns = [*schema.get("patternProperties", {}).values()]
    if properties:
        names = [*properties]
        if more not in {None, False} or patterns or names[0] in {REF, PAIRS}:
            return ANY
        required = schema.get("required", ())
        return object_form({n: (_form(s, defined, depth + 1), n in required) for n, s in properties.items()})
    if len(patterns) == 1 and more in {None, False}:
        return Form("map", (_form(patterns[0], defined, depth + 1),))
    if more is None or more is False or patterns:
        return ANY
    return Form("map", (_form(more, defined, depth + 1),))
