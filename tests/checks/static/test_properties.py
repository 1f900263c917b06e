"""Whatever a model or anybody else writes, the checker answers: with findings, the same ones every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.checks.static.rule import code_of
from dagster_planexec.checks.static.static_check import (
    BAD_PLAN,
    RULES,
    STRUCTURAL,
    check_foreign,
    check_structure,
    static_check,
)
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.plans import import_plan
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan, parse_plan
from tests.support.random_plans import CATALOGUES, PLANS, broken_flagships, foreign_plans
from tests.support.toolbox import REGISTRY, SQL, TASK, flagship_json

ROOT = Path(__file__).resolve().parents[3]
BOUNDED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def read(data: dict[str, Any]) -> Plan | None:
    """The plan, as a model's answer is read; None if it is refused, which must be in our own words."""
    try:
        return parse_plan(json.dumps(data))
    except PlanexecError as error:
        if error.code != "PLAN_REJECTED":
            raise
        return None


def test_the_rules_without_a_task_are_among_all_rules_in_their_order() -> None:
    """What is found without a task is found with one, in the same order."""
    assert [rule for rule in RULES if rule in STRUCTURAL] == list(STRUCTURAL)


@given(broken_flagships())
@BOUNDED
def test_no_fault_in_the_flagships_plan_makes_the_check_raise(data: dict[str, Any]) -> None:
    """It is refused as no plan, or checked; a second look finds the same."""
    plan = read(data)
    if plan is None:
        return
    found = static_check(plan, TASK, REGISTRY, sql_texts=SQL)
    assert found == static_check(plan, TASK, REGISTRY, sql_texts=SQL)
    codes = {code_of(rule) for rule in STRUCTURAL}
    by_itself = check_structure(plan, REGISTRY.restricted_to([name for name in TASK.tools if name in REGISTRY]))
    assert [f for f in found if f.code in codes and f.code != "unknown-tool"] == [
        f for f in by_itself if f.code != "unknown-tool"
    ]


@given(PLANS)
@BOUNDED
def test_no_plan_makes_the_check_without_a_task_raise(data: dict[str, Any]) -> None:
    """Plans by their schema, against the flagship's tools and against none."""
    plan = Plan.model_validate(data)
    for registry in (REGISTRY, ToolRegistry(())):
        found = check_structure(plan, registry)
        assert found == check_structure(plan, registry)
        assert {finding.code for finding in found} <= {code_of(rule) for rule in STRUCTURAL}


@given(st.data())
@BOUNDED
def test_no_foreign_plan_makes_the_check_raise(data: st.DataObject) -> None:
    """Of any catalogue; a plan has findings of form or of structure, never both."""
    tools = data.draw(CATALOGUES)
    foreign = import_plan(data.draw(foreign_plans(tools)))
    found = check_foreign(foreign, tools)

    assert found == check_foreign(foreign, tools)
    codes = {finding.code for finding in found}
    assert codes == {BAD_PLAN} if foreign.plan is None else codes <= {code_of(rule) for rule in STRUCTURAL}


@given(PLANS | broken_flagships())
@BOUNDED
def test_an_order_has_each_step_once_and_behind_all_it_needs(data: dict[str, Any]) -> None:
    """There is one unless the checker finds a circle, and a circle only where there is none."""
    plan = read(data)
    if plan is None:
        return
    needs = edges(plan)
    circles = [finding for finding in check_structure(plan, REGISTRY) if finding.code == "cycle"]
    try:
        order = topological_order(needs)
    except PlanexecError:
        assert circles
        return
    assert not circles
    assert sorted(order) == sorted({step.id for step in plan.steps})
    place = {name: at for at, name in enumerate(order)}
    assert all(place[needed] < place[name] for name, found in needs.items() for needed in found)


SEEDED = """
import hashlib, random, sys
from dataclasses import astuple
from dagster_planexec.checks.static.static_check import static_check
from dagster_planexec.plan.model import Plan
from tests.support.toolbox import REGISTRY, SQL, TASK, flagship_json
dice, said = random.Random(7), hashlib.sha256()
for _ in range(150):
    data = flagship_json()
    for _ in range(dice.randint(1, 6)):
        step, other = dice.choice(data["steps"]), dice.choice(data["steps"])
        match dice.randrange(6):
            case 0: step["id"] = other["id"]
            case 1: step["tool"] = other["tool"]
            case 2: step["args"] = dict(other["args"]) | {"x": {"ref": step["id"]}}
            case 3: step["depends_on"] = [other["id"], "nobody"]
            case 4: step["claims"] = [{"claim": "looks_nice"}]
            case 5: data["steps"].reverse()
    for finding in static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL):
        said.update(repr(astuple(finding)).encode())
print(said.hexdigest())
"""


def test_findings_do_not_depend_on_the_process() -> None:
    """Hash seeds differ between workers; not one letter of any finding may."""
    assert flagship_json()["steps"]
    said = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SEEDED],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}, cwd=ROOT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1
