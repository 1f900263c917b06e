"""Edits that code makes to a refused plan: they correct findings, and change nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dagster_planexec.checks.static.edits import mechanical_edits
from dagster_planexec.checks.static.static_check import static_check
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.diff import Update, describe
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan, parse_plan
from tests.support.plan_edits import edited_plan
from tests.support.random_plans import broken_flagships
from tests.support.toolbox import REGISTRY, SQL, TASK, flagship, flagship_json


def check(plan: Plan) -> tuple[Any, ...]:
    """Everything that is wrong with a plan."""
    return static_check(plan, TASK, REGISTRY, sql_texts=SQL)


def corrected(plan: Plan) -> tuple[Plan, tuple[Any, ...]]:
    """The plan after the edits."""
    return mechanical_edits(check(plan), plan)


def test_a_missing_dependency_of_a_reference_is_added_and_shown():
    """The reference said so already."""
    plan, edits = corrected(edited_plan([{"set": "steps/load_staging/depends_on", "to": []}]))

    assert plan.step("load_staging").depends_on == ("fetch_export", "stage_table")
    assert {finding.code for finding in check(plan)} == {"perishable-read-late"}
    assert [describe(edit) for edit in edits] == [
        "~ load_staging: depends_on none -> fetch_export, stage_table",
        "~ reconcile: depends_on load_staging -> load_staging, scope_ledger",  # it had waited for it through the other
    ]


def test_a_sound_plan_is_left_as_it_is():
    """Warnings are nobody's to correct."""
    plan = flagship()

    assert corrected(plan) == (plan, ())


@pytest.mark.parametrize(
    "edits",
    [
        [{"set": "steps/reconcile/tool", "to": "run_sqll"}],
        [{"set": "steps/fetch_export/args", "to": {"Bucket": "vendor-drops", "key": "vendor/exports/x.csv"}}],
        [{"set": "steps/load_staging/depends_on", "to": ["fetch_exportt", "stage_table", "fetch_export"]}],
        [{"set": "steps/load_staging/depends_on", "to": ["load_staging", "fetch_export"]}],
        [{"set": "steps/issue_credit/args/cap", "to": "99999.00"}],
        [{"set": "expects/0/about", "to": "drops"}],
    ],
    ids=["near tool", "case of an argument", "near dependency", "itself", "cap", "expectation"],
)  # fmt: skip
def test_what_could_mean_something_else_is_left_to_its_author(edits):
    """One near name is a guess, however near."""
    plan = edited_plan(edits)

    assert {finding.severity for finding in check(plan)} >= {"error"}
    assert corrected(plan) == (plan, ())


def test_an_id_that_occurs_twice_is_not_waited_for_by_code():
    """Which of the two is meant, the plan does not say."""
    data = flagship_json()
    data["steps"].insert(3, {**data["steps"][2]})
    data["steps"][4]["depends_on"] = []
    plan = Plan.model_validate(data)

    edited, _ = corrected(plan)

    assert edited.step("load_staging").depends_on == ("stage_table",)


def _key(finding: Any) -> tuple[Any, ...]:
    return (finding.code, finding.step, finding.field, finding.ref)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(broken_flagships(), st.sets(st.integers(0, 6)))
def test_an_edited_plan_has_fewer_findings_no_new_one_and_the_same_meaning(broken: dict[str, Any], cut: set[int]):
    """Whatever else is wrong with it: only dependencies are added, and only those that hold by a reference."""
    import json

    if isinstance(broken.get("steps"), list):
        for n in cut:
            if n < len(broken["steps"]) and isinstance(broken["steps"][n], dict):
                broken["steps"][n]["depends_on"] = []
    try:
        plan = parse_plan(json.dumps(broken))
    except PlanexecError:
        assume(False)
        return
    before = check(plan)
    edited, edits = mechanical_edits(before, plan)
    after = check(edited)
    if not edits:
        assert edited == plan
        return

    assert len(after) < len(before)
    assert not Counter(map(_key, after)) - Counter(map(_key, before))
    assert all(isinstance(edit, Update) and edit.fields == ("depends_on",) for edit in edits)
    assert edges(edited) == edges(plan)
    for old, new in zip(plan.steps, edited.steps, strict=True):
        assert old.model_copy(update={"depends_on": ()}) == new.model_copy(update={"depends_on": ()})
        assert new.depends_on[: len(old.depends_on)] == old.depends_on
    assert mechanical_edits(after, edited) == (edited, ())
