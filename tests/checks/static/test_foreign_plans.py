"""Every plan that others wrote: the checker finds what plain arithmetic finds, pair by pair, and nothing else."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.checks.static.static_check import check_foreign
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.plan.foreign.plans import import_plan, read_plans
from tests.support.foreign import FAULTS, SETS, as_facts, catalogue, facts_of, records, unpacked

DISPUTED: dict[str, str] = {}
"""Plans whose stated facts are wrong, with the reason. There is none."""
COUNTS = {"nestful": (300, 82), "tau2": (272, 6), "taskbench-huggingface-pred": (500, 305)}
"""Plans, and plans with a fault, as their publisher's README counts them."""


@pytest.fixture(scope="module", params=SETS)
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """A set's name, its plans and its tools."""
    plans, tools = unpacked(request.param, tmp_path_factory.mktemp(request.param))
    return request.param, plans, tools


def found_facts(findings: Iterable[StaticFinding]) -> dict[str, Any]:
    """The findings in the words of `facts`, from their machine-readable parts."""
    by_code: dict[str, list[StaticFinding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)

    def pairs(code: str, key: str) -> set[tuple[Any, Any]]:
        return {(found.step, getattr(found, key)) for found in by_code.get(code, ())}

    return {
        "duplicate_ids": {found.step for found in by_code.get("duplicate-id", ())},
        "unknown_tools": {ast.literal_eval(found.seen or "") for found in by_code.get("unknown-tool", ())},
        "unknown_args": pairs("unknown-arg", "arg"),
        "missing_required": pairs("missing-arg", "arg"),
        "type_mismatch": pairs("bad-arg-type", "arg"),
        "dangling_refs": pairs("dangling-ref", "ref"),
        "forward_refs": pairs("forward-ref", "ref"),
        "undeclared_ref_deps": pairs("undeclared-ref-dependency", "ref"),
        "self_refs": {found.step for found in by_code.get("self-ref", ())},
        "cycle": "cycle" in by_code,
    }


def test_findings_are_the_stated_facts(foreign: tuple[str, Path, Path]) -> None:
    """Of every plan, in both directions and pair by pair: what is stated is found, what is found is stated."""
    name, plans, tools = foreign
    registry = read_catalogue(tools)
    stated = records(plans)
    differ, faulty = {}, 0
    for record, plan in zip(stated, read_plans(plans), strict=True):
        assert (plan.plan_id, plan.faults) == (record["plan_id"], ())
        expected, found = as_facts(record), found_facts(check_foreign(plan, registry))
        faulty += any(expected.values())
        if found != expected and plan.plan_id not in DISPUTED:
            differ[plan.plan_id] = {key: (found[key], expected[key]) for key in FAULTS if found[key] != expected[key]}

    assert differ == {}
    assert (len(stated), faulty) == COUNTS[name]


def test_a_plan_without_a_stated_fault_has_no_finding(foreign: tuple[str, Path, Path]) -> None:
    """Not even a warning, and of no other rule either."""
    _, plans, tools = foreign
    registry = read_catalogue(tools)
    wrong = {
        plan.plan_id: check_foreign(plan, registry)
        for record, plan in zip(records(plans), read_plans(plans), strict=True)
        if not any(as_facts(record).values())
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_the_arithmetic_of_this_test_is_that_of_the_facts(foreign: tuple[str, Path, Path]) -> None:
    """What changed plans are compared with agrees with what is stated of the unchanged ones."""
    _, plans, tools = foreign
    known = catalogue(tools)
    differ = [record["plan_id"] for record in records(plans) if facts_of(record["steps"], known) != as_facts(record)]
    assert differ == []


def _without_a_dependency(steps: list[dict[str, Any]], dice: random.Random) -> None:
    step = dice.choice(steps)
    if step["deps"]:
        step["deps"].pop(dice.randrange(len(step["deps"])))


def _with_a_dependency(steps: list[dict[str, Any]], dice: random.Random) -> None:
    dice.choice(steps)["deps"].append(dice.choice([*(step["id"] for step in steps), "nobody"]))


def _of_one_id(steps: list[dict[str, Any]], dice: random.Random) -> None:
    dice.choice(steps)["id"] = dice.choice(steps)["id"]


def _at_another_place(steps: list[dict[str, Any]], dice: random.Random) -> None:
    steps.insert(dice.randrange(len(steps)), steps.pop(dice.randrange(len(steps))))


def _of_another_tool(steps: list[dict[str, Any]], dice: random.Random) -> None:
    dice.choice(steps)["tool"] = dice.choice([step["tool"] for step in steps] + ["no such tool"])


def _without_an_argument(steps: list[dict[str, Any]], dice: random.Random) -> None:
    step = dice.choice(steps)
    if step["args"]:
        del step["args"][dice.choice(list(step["args"]))]


def _of_another_type(steps: list[dict[str, Any]], dice: random.Random) -> None:
    args = dice.choice(steps)["args"]
    values = [None, True, 1, 10**30, 1.5, 2.0, "x", "1.5", [], [1.5], {}, {"a": 1.5}]
    values += [{"$ref": dice.choice(steps)["id"], "path": "a.b[0].c"}, [{"$ref": "nobody"}], {"deep": {"$ref": "x y"}}]
    args[dice.choice([*args, "an argument", "from", "$x", "ref"])] = dice.choice(values)


CHANGES = (
    _without_a_dependency,
    _with_a_dependency,
    _of_one_id,
    _at_another_place,
    _of_another_tool,
    _without_an_argument,
    _of_another_type,
)


def test_changed_plans_are_found_out_too(foreign: tuple[str, Path, Path]) -> None:
    """Each plan after one to four faults of every kind, undeclared references among them, which no file has."""
    _, plans, tools = foreign
    registry, known, dice = read_catalogue(tools), catalogue(tools), random.Random(20261130)
    differ, met = {}, dict.fromkeys(FAULTS, 0)
    for record in records(plans):
        steps = copy.deepcopy(record["steps"])
        for _ in range(dice.randint(1, 4)):
            dice.choice(CHANGES)(steps, dice)
        expected = facts_of(steps, known)
        found = found_facts(check_foreign(import_plan({"plan_id": record["plan_id"], "steps": steps}), registry))
        for fault in FAULTS:
            met[fault] += bool(expected[fault])
        if found != expected:
            differ[record["plan_id"]] = {
                key: (found[key], expected[key]) for key in FAULTS if found[key] != expected[key]
            }

    assert differ == {}
    of_types = {"unknown_args", "missing_required", "type_mismatch"} if "taskbench" in foreign[0] else set()
    assert {fault for fault, count in met.items() if count < 5} <= of_types, met  # taskbench declares no arguments
