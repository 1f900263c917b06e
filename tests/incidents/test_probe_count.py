"""How often the flagship asks the world between its steps: counted in a healthy run, and stated in README."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.model import Plan, parse_plan
from dagster_planexec.plan.reference import references
from dagster_planexec.tools import BUILTIN_TOOLS
from tests.support.planexec import PROJECT, planexec

FLOOR = 11
"""What the story of the Saturday run counts for its seven steps."""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Plan]:
    """One healthy month, and the plan it ran."""
    home = tmp_path_factory.mktemp("counted") / "home"
    document = planexec("demo", "--partition", "2026-02", "--home", home).document
    stored = planexec("show", document["plan"]["digest"], "--home", home).document
    return document, parse_plan(json.dumps(stored["plan"]))


def checks_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Every check of every step. A check on three files is three: each looks at a file of its own."""
    return [check for step in document["steps"] for check in step["checks"]]


def test_readme_states_the_number(healthy):
    """A probe is a check of a step that looked at the world; one that contract or task rules out did not look."""
    document, _ = healthy
    checks = checks_of(document)
    probes = [check for check in checks if check["observed"]["value"] != "not observed"]

    said = re.search(r"seven steps, (\d+) probes", (PROJECT / "README.md").read_text(encoding="utf-8"))

    assert document["status"] == "succeeded"
    assert len(document["steps"]) == 7
    assert {check["verdict"] for check in checks if check not in probes} == {"not-applicable"}
    assert said is not None, f"README.md does not say 'seven steps, {len(probes)} probes'"
    assert int(said[1]) == len(probes)
    assert len(probes) >= FLOOR


def test_no_probe_is_left_out(healthy):
    """Every check that a step's tool names, before and after the call, and one for each result that it takes."""
    document, plan = healthy
    tools = ToolRegistry(BUILTIN_TOOLS)
    for step in document["steps"]:
        contract = tools[step["tool"]].contract
        seen = {(check["phase"], check["check"]) for check in step["checks"]}
        inherited = [check for check in step["checks"] if check["check"] == "input_still_holds"]
        taken = {reference.step for reference in references(plan.step(step["id"]))}

        assert {("pre", name) for name in contract.preconditions} <= seen
        assert {("post", name) for name in contract.postconditions} <= seen
        assert len(inherited) == len(taken)
