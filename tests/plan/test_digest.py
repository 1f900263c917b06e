"""Two digests: of all a plan says, and of what it does."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import HealthCheck, given, settings

from dagster_planexec.plan.digest import full_digest, semantic_digest
from dagster_planexec.plan.model import Plan, as_json, parse_plan
from tests.support.plan_edits import edited_plan
from tests.support.random_plans import PLANS
from tests.support.toolbox import flagship


def _shuffled(value: Any, dice: random.Random) -> Any:
    """The same value, its objects written in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: _shuffled(value[key], dice) for key in keys}
    return [_shuffled(child, dice) for child in value] if isinstance(value, list) else value


@given(PLANS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_digests_do_not_depend_on_the_order_of_keys(data: dict[str, Any]) -> None:
    """However a plan's objects are written, and also after it went through JSON once more."""
    plan, other = Plan.model_validate(data), Plan.model_validate(_shuffled(data, random.Random(1)))
    again = parse_plan(json.dumps(_shuffled(as_json(plan), random.Random(2))))

    assert full_digest(plan) == full_digest(other) == full_digest(again)
    assert semantic_digest(plan) == semantic_digest(other) == semantic_digest(again)


def test_the_order_of_a_list_counts_and_that_of_dependencies_only_in_the_text() -> None:
    """Arguments mean what their order says; a set of dependencies means the same in any."""
    lists = [edited_plan([{"set": "steps/reconcile/args/x", "to": value}]) for value in ([1, 2], [2, 1])]
    waits = [
        edited_plan([{"set": "steps/reconcile/depends_on", "to": value}])
        for value in (["load_staging", "scope_ledger"], ["scope_ledger", "load_staging"])
    ]

    assert len({semantic_digest(plan) for plan in lists}) == 2
    assert len({semantic_digest(plan) for plan in waits}) == 1
    assert len({full_digest(plan) for plan in waits}) == 2
    assert semantic_digest(flagship()) != semantic_digest(waits[0])
