"""Edits of the flagship plan, as case files write them: no Python is needed to add a case."""

from __future__ import annotations

import copy
from typing import Any

from dagster_planexec.plan.model import Plan
from tests.support.toolbox import flagship_json


def edited_plan(edits: list[dict[str, Any]]) -> Plan:
    """The flagship plan after these edits, in order.

    `{set: PATH, to: VALUE}`, `{remove: PATH}`, `{append: STEP}`, `{insert: STEP, before: ID}`,
    `{move: ID, before: ID}`, `{copies: N, of: STEP}` ("#" in its id is the number).
    A path is `period`, `expects/0/about` or `steps/<id>/args/key`.
    """
    data = flagship_json()
    for edit in edits:
        _apply(data, edit)
    return Plan.model_validate(data)


def _apply(data: dict[str, Any], edit: dict[str, Any]) -> None:
    steps = data["steps"]
    if "set" in edit:
        holder, key = _place(data, edit["set"])
        holder[key] = edit["to"]
    elif "remove" in edit:
        holder, key = _place(data, edit["remove"])
        del holder[key]
    elif "append" in edit:
        steps.append(edit["append"])
    elif "insert" in edit:
        steps.insert(_index(steps, edit["before"]), edit["insert"])
    elif "move" in edit:
        step = steps.pop(_index(steps, edit["move"]))
        steps.insert(_index(steps, edit["before"]), step)
    elif "copies" in edit:
        for number in range(edit["copies"]):
            step = copy.deepcopy(edit["of"])
            step["id"] = step["id"].replace("#", str(number))
            steps.append(step)
    else:
        msg = f"no such edit: {edit}"
        raise AssertionError(msg)


def _place(data: dict[str, Any], path: str) -> tuple[Any, Any]:
    parts = path.split("/")
    at: Any = data
    for part in parts[:-1]:
        at = at[_key(at, part)]
    return at, _key(at, parts[-1])


def _key(at: Any, part: str) -> Any:
    if not isinstance(at, list):
        return part
    return int(part) if part.isdigit() else _index(at, part)


def _index(steps: list[dict[str, Any]], step_id: str) -> int:
    return next(index for index, step in enumerate(steps) if step["id"] == step_id)
