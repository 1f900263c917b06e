"""Every static rule against its case file: tests/cases/static/<rule>.yaml."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from dagster_planexec.checks.static import static_check as module
from dagster_planexec.checks.static.rule import code_of
from dagster_planexec.checks.static.static_check import RULES, static_check
from tests.support.plan_edits import edited_plan
from tests.support.toolbox import REGISTRY, SQL, TASK

CASES = Path(__file__).parents[2] / "cases" / "static"
ALWAYS = {"perishable-read-late"}
"""The flagship plan itself is warned of this."""


def _cases(kind: str) -> list[Any]:
    return [
        pytest.param(path.stem, case, id=f"{path.stem}: {case['case']}")
        for path in sorted(CASES.glob("*.yaml"))
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))[kind]
    ]


def _check(case: dict[str, Any]) -> list[Any]:
    sql = {**SQL, **case.get("sql", {})}
    task = dataclasses.replace(TASK, **case.get("task", {}))
    earlier = [edited_plan(edits) for edits in case.get("earlier", ())]
    plan = edited_plan(case["edits"])
    left = case.get("replans_left", 0)
    return list(static_check(plan, task, REGISTRY, sql_texts=sql, earlier=earlier, replans_left=left))


@pytest.mark.parametrize(("rule", "case"), _cases("fires"))
def test_a_rule_fires_on_its_case(rule: str, case: dict[str, Any]) -> None:
    """A rule reports exactly the findings its case names, and no other rule than those named speaks."""
    code = rule.replace("_", "-")
    found = _check(case)
    mine = [finding for finding in found if finding.code == code]
    assert len(mine) == len(case["findings"]), mine
    for finding, expected in zip(mine, case["findings"], strict=True):
        for name, text in expected.items():
            seen = getattr(finding, name)
            assert seen == text or (isinstance(text, str) and name != "step" and text in (seen or "")), (name, finding)
    others = {finding.code for finding in found} - {code} - ALWAYS
    assert others == set(case.get("also", ())), [f for f in found if f.code in others]


@pytest.mark.parametrize(("rule", "case"), _cases("quiet"))
def test_a_rule_is_quiet_on_its_counter_case(rule: str, case: dict[str, Any]) -> None:
    """A rule does not fire on what only looks like a breach of it."""
    code = rule.replace("_", "-")
    assert [finding for finding in _check(case) if finding.code == code] == []


def test_every_rule_has_a_case_file_with_both_kinds() -> None:
    """Each rule has a file of its name with a case that fires and one that does not, and no file is without a rule."""
    names = {code_of(rule).replace("-", "_") for rule in RULES}
    assert {path.stem for path in CASES.glob("*.yaml")} == names
    for path in CASES.glob("*.yaml"):
        cases = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert cases["fires"], path.name
        assert cases["quiet"], path.name


def test_every_rule_file_is_a_rule() -> None:
    """The files of the rule folders and RULES are the same list: no rule is written and not run."""
    folder = Path(module.__file__).parent
    files = {path.stem for room in folder.iterdir() if room.is_dir() for path in room.glob("[a-z]*.py")}
    assert files == {rule.__name__ for rule in RULES}
    assert all(rule.__module__.endswith(f".{rule.__name__}") for rule in RULES)
