"""Arguments written as the tool takes them, where only the spelling can have been meant. No model is asked.

Two corrections, of the arguments of a call and never of the plan. Both can come in by a reference, from what an earlier
step gave, where no check before the run could see them:

- blanks around a name (a table, a landed digest, a report): no such name has any;
- null for an argument that may be left out and does not take null: not given is what null says there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from dagster_planexec.checks.static.arg_shape import Shape, shape_of_model
from dagster_planexec.contract.tool import ToolContract


def respelt(raw: Mapping[str, Any], contract: ToolContract) -> Mapping[str, Any] | None:
    """The arguments in another spelling that the tool takes; None if there is none, or nothing to correct."""
    if contract.effect == "irreversible":
        return None  # what cannot be undone is done as it was written, or not at all
    shape = shape_of_model(contract.args)
    out: dict[str, Any] = {}
    for name, value in raw.items():
        taken = shape.field(name)
        if value is None and taken is not None and not _takes_null(taken) and _may_be_left_out(contract, name):
            continue
        out[name] = _trimmed(value, taken)
    if out == dict(raw):
        return None
    try:
        contract.args.model_validate(out)
    except ValidationError:
        return None
    return out


def _trimmed(value: Any, shape: Shape | None) -> Any:  # noqa: ANN401 - any JSON
    if shape is None:
        return value
    if isinstance(value, str):
        return value.strip() if shape.single_kind is not None else value
    if shape.base in {"list", "map"} and shape.inner:
        item = shape.inner[0]
        if isinstance(value, list | tuple):
            return [_trimmed(child, item) for child in value]
        if isinstance(value, Mapping):
            return {key: _trimmed(child, item) for key, child in value.items()}
    return value


def _takes_null(shape: Shape) -> bool:
    return shape.base in {"null", "any"} or any(_takes_null(option) for option in shape.inner if shape.base == "union")


def _may_be_left_out(contract: ToolContract, name: str) -> bool:
    field = contract.args.model_fields.get(name)
    return field is not None and not field.is_required()
