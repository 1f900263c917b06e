"""What the arguments of a plan may hold at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.digest import full_digest, semantic_digest
from dagster_planexec.plan.model import MAX_DEPTH, Plan, parse_plan


def _plan(args: Any) -> Plan:
    return Plan.model_validate({"task": "t", "period": "p", "steps": [{"id": "a", "tool": "x", "args": args}]})


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(_nested(MAX_DEPTH), "nested deeper", id="nesting"),
        pytest.param(1.5, "float", id="float"),
        pytest.param(float("nan"), "float", id="not a number"),
        pytest.param(2**63, "int", id="an integer beyond 64 bits"),
        pytest.param(10**5000, "int", id="an integer that has no text"),
        pytest.param("\ud800", "surrogate", id="half a character"),
        pytest.param({"\udfff": 1}, "surrogate", id="half a character in a key"),
        pytest.param({1: 2}, "key", id="a key that is a number"),
        pytest.param(b"x", "bytes", id="bytes"),
        pytest.param({"a", "b"}, "set", id="a set"),
    ],
)
def test_what_is_not_plain_json_is_no_argument(value: Any, words: str) -> None:
    """An argument that has no canonical text is refused when the plan is read, not when it is hashed."""
    with pytest.raises(ValueError, match=words):
        _plan({"k": value})


def test_the_deepest_plan_has_digests() -> None:
    """What the model lets pass can be hashed."""
    plan = _plan({"k": _nested(MAX_DEPTH - 2), "n": -(2**63)})
    assert full_digest(plan) != semantic_digest(plan)


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, '"\\ud800"'], ids=["nesting", "half a character"])
def test_text_that_is_no_plan_is_rejected_with_its_place(value: str) -> None:
    """The rejection names the step whose arguments are wrong."""
    text = json.dumps({"task": "t", "period": "p", "steps": [{"id": "a", "tool": "x", "args": {"k": 0}}]})
    with pytest.raises(PlanexecError, match=r"steps\.0\.args") as caught:
        parse_plan(text.replace('{"k": 0}', f'{{"k": {value}}}'))
    assert caught.value.code == "PLAN_REJECTED"
