"""Argument values as a plan has them, and as a strict answer has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dagster_planexec.planner.strict.forms import ANY, NAME, PAIRS, REF, VALUE, Form, NotOfThisFormError

_SAID = {
    "text": "a string", "integer": "an integer", "number": "an integer or a decimal string", "boolean": "a boolean",
    "null": "null", "list": "a list", "map": "named values", "object": "an object",
}  # fmt: skip


def strict_arguments(form: Form, args: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """The arguments of a step as a strict answer has them.

    Raises:
        NotOfThisFormError: They are not what the tool takes, and a strict answer cannot say them.
    """
    return _object_to_strict(form, args) if form.kind == "object" else _pairs_of(form, args, _to_strict)


def plain_arguments(form: Form, args: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """The arguments of a strict answer as a plan has them: what is left out is not there.

    Raises:
        NotOfThisFormError: They are not of the strict form.
    """
    return _object_to_plain(form, args) if form.kind == "object" else _mapping_of(form, args)


def _is_reference(value: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(value, Mapping) and set(value) == {REF} and isinstance(value[REF], str)


def _to_strict(form: Form, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if _is_reference(value) and form.kind != "tag":
        return dict(value)
    if form.kind == "any" and isinstance(value, Mapping):
        return {PAIRS: _pairs_of(Form("map", (ANY,)), value, _to_strict)}
    if form.kind == "map":
        return _pairs_of(form, value, _to_strict)
    if form.kind == "object":
        return _object_to_strict(form, value)
    return _same_both_ways(form, value, _to_strict)


def _to_plain(form: Form, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if _is_reference(value) and form.kind != "tag":
        return dict(value)
    if form.kind == "any" and isinstance(value, Mapping):
        if set(value) != {PAIRS}:
            raise NotOfThisFormError(f"a reference, or an object as {PAIRS!r}")
        return _under(PAIRS, _mapping_of, Form("map", (ANY,)), value[PAIRS])
    if form.kind == "map":
        return _mapping_of(form, value)
    if form.kind == "object":
        return _object_to_plain(form, value)
    return _same_both_ways(form, value, _to_plain)


def _same_both_ways(form: Form, value: Any, turn: Callable[[Form, Any], Any]) -> Any:  # noqa: ANN401 - any JSON
    """What looks the same in a plan and in a strict answer, but for what is inside."""
    match form.kind:
        case "list" | "any" if isinstance(value, list | tuple):
            inner = form.inner[0] if form.inner else ANY
            return [_under(at, turn, inner, item) for at, item in enumerate(value)]
        case "union":
            for option in form.inner:
                try:
                    return turn(option, value)
                except NotOfThisFormError:
                    continue
        case "any" if value is None or isinstance(value, str | int):
            return value
        case "word" | "tag" if any(value == word and type(value) is type(word) for word in form.words):
            return value
        case "text" if isinstance(value, str):
            return value
        case "integer" if type(value) is int:
            return value
        case "number" if type(value) in {int, str}:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "null" if value is None:
            return value
        case _:
            pass
    raise NotOfThisFormError(_said(form))


def _said(form: Form) -> str:
    if form.kind == "union":
        return " or ".join(_said(option) for option in form.inner[:10])
    if form.kind in {"word", "tag"}:
        return "one of " + ", ".join(repr(word)[:40] for word in form.words[:10])
    return _SAID.get(form.kind, "JSON without fractions")


def _under(name: object, turn: Callable[[Form, Any], Any], form: Form, value: Any) -> Any:  # noqa: ANN401 - any JSON
    try:
        return turn(form, value)
    except NotOfThisFormError as error:
        raise error.below(name) from error


def _pairs_of(form: Form, value: Any, turn: Callable[[Form, Any], Any]) -> list[dict[str, Any]]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        raise NotOfThisFormError(_said(form))
    return [{NAME: name, VALUE: _under(name, turn, form.inner[0], child)} for name, child in value.items()]


def _mapping_of(form: Form, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    if not isinstance(value, list | tuple):
        raise NotOfThisFormError("a list of pairs of name and value")
    found: dict[str, Any] = {}
    for at, pair in enumerate(value):
        if not isinstance(pair, Mapping) or set(pair) != {NAME, VALUE} or not isinstance(pair[NAME], str):
            raise NotOfThisFormError("a pair of name and value", (str(at),))
        if pair[NAME] in found:
            raise NotOfThisFormError(f"the name {pair[NAME][:40]!r} once", (str(at),))
        found[pair[NAME]] = _under(pair[NAME], _to_plain, form.inner[0], pair[VALUE])
    return found


def _object_to_strict(form: Form, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    if not isinstance(value, Mapping) or not form.required <= set(value) <= set(form.names):
        raise NotOfThisFormError(f"an object with {', '.join(sorted(form.required))[:200] or 'no field'}")
    out: dict[str, Any] = {}
    for name, inner in zip(form.names, form.inner, strict=True):
        given = value.get(name)
        is_out = given is None and name not in form.required
        out[name] = None if is_out else _under(name, _to_strict, inner, given)
    return out


def _object_to_plain(form: Form, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    if not isinstance(value, Mapping) or set(value) != set(form.names):
        raise NotOfThisFormError(f"an object with exactly {', '.join(form.names)[:200] or 'no field'}")
    out: dict[str, Any] = {}
    for name, inner in zip(form.names, form.inner, strict=True):
        if value[name] is not None or name in form.required:
            out[name] = _under(name, _to_plain, inner, value[name])
    return out
