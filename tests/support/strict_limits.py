"""What OpenAI publishes about strict schemas, judged by a reader of its own.

https://platform.openai.com/docs/guides/structured-outputs#supported-schemas, as of February 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs"}
"""The keywords this project uses; each is on the published list. `oneOf`, `allOf`, `not` and `default` are not."""


def faults(schema: dict[str, Any]) -> list[str]:
    """Everything that the service would refuse."""
    return [*_root(schema), *_nodes(schema, "#"), *_totals(schema), *_unions(schema, schema, "#")]


def _root(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object" or "anyOf" in schema:
        yield "the root is no object"
    if (deep := depth(schema, schema)) > 10:
        yield f"{deep} levels"


def _nodes(node: dict[str, Any], at: str) -> Iterator[str]:
    if unknown := set(node) - KNOWN:
        yield f"{at}: {sorted(unknown)}"
    if not {"type", "anyOf", "$ref"} & set(node):
        yield f"{at}: neither type nor anyOf nor $ref"
    if node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            yield f"{at}: open"
        if node.get("required") != list(node["properties"]):
            yield f"{at}: not every field is required"
    if "enum" in node:
        words = node["enum"]
        if not words or len({*words}) != len(words) or len({type(word) for word in words}) != 1:
            yield f"{at}: odd enum"
        if len(words) > 250 and sum(len(str(word)) for word in words) > 15_000:
            yield f"{at}: long enum"
    for name, child in children(node):
        yield from _nodes(child, f"{at}/{name}")


def _totals(schema: dict[str, Any]) -> Iterator[str]:
    found = [node for _, node in _all(schema)]
    properties = sum(len(node.get("properties", ())) for node in found)
    values = sum(len(node.get("enum", ())) for node in found)
    letters = sum(
        len(str(word)) for node in found for key in ("properties", "$defs", "enum") for word in node.get(key, ())
    )
    for name, seen, most in (("properties", properties, 5_000), ("enum values", values, 1_000),
                             ("letters", letters, 120_000)):  # fmt: skip
        if seen > most:
            yield f"{seen} {name}"


def _unions(node: dict[str, Any], root: dict[str, Any], at: str) -> Iterator[str]:
    """Objects of one `anyOf` share a first key only if one word each tells them apart there."""
    seen: dict[str, list[Any]] = {}
    for option in node.get("anyOf", ()):
        target = resolve(option, root)
        if target.get("type") == "object" and target["properties"]:
            first, held = next(iter(target["properties"].items()))
            seen.setdefault(first, []).append(held.get("enum"))
    for first, words in seen.items():
        told_apart = all(one is not None and len(one) == 1 for one in words) and len({str(w) for w in words}) == len(
            words
        )
        if len(words) > 1 and not told_apart:
            yield f"{at}: objects share the first key {first!r}"
    for name, child in children(node):
        yield from _unions(child, root, f"{at}/{name}")


def children(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema."""
    for key in ("properties", "$defs"):
        yield from node.get(key, {}).items()
    if "items" in node:
        yield "items", node["items"]
    for at, option in enumerate(node.get("anyOf", ())):
        yield f"anyOf[{at}]", option


def _all(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "#", node
    for name, child in children(node):
        yield from ((f"{name}/{at}", found) for at, found in _all(child))


def resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema itself where there is only its name."""
    while "$ref" in node:
        node = root["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return node


def depth(node: dict[str, Any], root: dict[str, Any], inside: tuple[str, ...] = ()) -> int:
    """Levels of objects and lists; a definition inside itself counts no more."""
    name = node.get("$ref")
    if name is not None:
        return 0 if name in inside else depth(resolve(node, root), root, (*inside, name))
    own = 1 if node.get("type") in {"object", "array"} else 0
    below = [depth(child, root, inside) for at, child in children(node) if at not in node.get("$defs", {})]
    return own + max(below, default=0)
