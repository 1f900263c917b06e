"""The static check as a whole: the flagship, its order and bounds, and plans written to break it."""

from __future__ import annotations

import json
from dataclasses import asdict
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from bench.plans.long_plan import long_plan
from dagster_planexec.checks.static.rule import MAX_FINDINGS, code_of
from dagster_planexec.checks.static.static_check import RULES, is_rejected, message_of, static_check
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.model import Plan
from dagster_planexec.tools import BUILTIN_TOOLS
from tests.support.plan_edits import edited_plan
from tests.support.random_plans import PLANS
from tests.support.toolbox import REGISTRY, SQL, TASK, flagship, flagship_json


def test_the_flagship_plan_is_accepted_with_one_warning() -> None:
    """The seven-step plan of the design breaks no rule; it is warned that its fetch waits for a table."""
    found = static_check(flagship(), TASK, REGISTRY, sql_texts=SQL, period=TASK.period("2026-03"))
    assert [(finding.code, finding.step, finding.severity) for finding in found] == [
        ("perishable-read-late", "fetch_export", "warning")
    ]
    assert not is_rejected(found)


def test_all_findings_come_in_one_pass() -> None:
    """Several breaches of several rules are all reported at once, in the order of the rules."""
    plan = edited_plan(
        [
            {"set": "task", "to": "other"},
            {"set": "steps/fetch_export/tool", "to": "s3.gett"},
            {"set": "steps/reconcile/args/target", "to": "payroll.x"},
            {"set": "steps/issue_credit/args/cap", "to": "9000"},
            {"set": "steps/load_staging/depends_on", "to": ["nobody"]},
        ]
    )
    codes = [finding.code for finding in static_check(plan, TASK, REGISTRY)]
    order = [code_of(rule) for rule in RULES]
    assert codes == sorted(codes, key=order.index)
    assert set(codes) >= {"unknown-tool", "dangling-ref", "out-of-scope", "cap-above-policy"}


def test_another_period_than_the_one_asked_for_is_refused() -> None:
    """A plan for March is refused by a run for April, although March is a period of the task."""
    found = static_check(flagship(), TASK, REGISTRY, period=TASK.period("2026-04"))
    assert [(f.code, f.field, f.expected, f.seen) for f in found if f.severity == "error"] == [
        ("out-of-scope", "period", "2026-04", "'2026-03'")
    ]


def test_a_claim_may_be_any_check_of_the_catalogue() -> None:
    """A check that no tool contract names is known once the catalogue is given."""
    plan = edited_plan([{"set": "steps/load_staging/claims", "to": [{"claim": "volume_is_plausible"}]}])
    assert is_rejected(static_check(plan, TASK, REGISTRY))
    assert not is_rejected(static_check(plan, TASK, REGISTRY, known_checks=["volume_is_plausible"]))


def test_a_file_is_not_looked_for_where_no_texts_are_given() -> None:
    """Without the SQL texts nothing is said about what is in them."""
    plan = edited_plan([{"set": "steps/reconcile/args/file", "to": "elsewhere.sql"}])
    assert not is_rejected(static_check(plan, TASK, REGISTRY))
    assert is_rejected(static_check(plan, TASK, REGISTRY, sql_texts=SQL))


def test_no_tools_at_all_are_findings_and_not_an_error() -> None:
    """With an empty registry every step names an unknown tool."""
    found = static_check(flagship(), TASK, ToolRegistry(()))
    assert [finding.step for finding in found if finding.code == "unknown-tool"] == [s.id for s in flagship().steps]


def test_one_rule_never_floods_the_report() -> None:
    """A thousand breaches of one rule are a hundred findings and one that says so."""
    data = flagship_json()
    data["steps"][1]["depends_on"] = [f"nobody_{n}" for n in range(1000)]
    found = [f for f in static_check(Plan.model_validate(data), TASK, REGISTRY) if f.code == "dangling-ref"]
    assert len(found) == MAX_FINDINGS + 1
    assert found[-1].seen == "more of the same"


def test_every_rule_says_what_it_asks_for_in_one_sentence() -> None:
    """The docstring of a rule is a sentence for people, and `message_of` finds it by the code."""
    for rule in RULES:
        text = message_of(code_of(rule))
        assert text.endswith("."), rule
        assert len(text) > 20, rule
    with pytest.raises(KeyError):
        message_of("no-such-rule")


def test_a_finding_is_plain_bounded_text() -> None:
    """Foreign text is quoted and cut wherever a finding shows it, so that no line break or bell reaches a terminal."""
    hostile = "x\n\x1b[31m\u202e" + "y" * 5000
    data = flagship_json()
    data["steps"][2]["id"] = hostile[:200]
    data["steps"][2]["tool"] = hostile[:200]
    data["steps"][2]["args"] = {hostile: hostile, "key": hostile}
    data["steps"][3]["depends_on"] = [hostile]
    data["steps"][4]["args"]["inputs"] = {hostile: hostile}
    data["expects"][0]["about"] = hostile[:200]
    found = static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL)
    assert found
    for finding in found:
        for text in (value for name, value in asdict(finding).items() if name != "fix"):  # `fix` is for code alone
            assert text is None or (text.isprintable() and len(text) <= 300), finding


@given(PLANS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_plan_makes_the_check_raise(data: dict[str, Any]) -> None:
    """Whatever a model writes, as long as it is a plan by its schema, comes back as findings that are plain JSON."""
    found = static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL)
    again = static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL)
    assert found == again
    json.dumps([asdict(finding) for finding in found], allow_nan=False).encode()
    assert {finding.code for finding in found} <= {code_of(rule) for rule in RULES}


def test_the_time_grows_with_the_steps_and_not_with_their_square() -> None:
    """Four times the steps take well below sixteen times as long, whatever else the machine does."""
    task, registry = VENDOR_RECONCILIATION.binding.task, ToolRegistry(BUILTIN_TOOLS)

    def best_of(plan: Plan) -> float:
        spent = []
        for _ in range(4):
            begun = process_time()
            static_check(plan, task, registry)
            spent.append(process_time() - begun)
        return min(spent)

    assert best_of(long_plan(1000)) < 8 * best_of(long_plan(250))


def test_nesting_is_bounded_where_the_plan_is_read() -> None:
    """The deepest nesting a plan may have is checked without trouble; deeper is no plan."""
    value: Any = "x"
    for _ in range(30):
        value = {"ref": value}
    deepest = edited_plan([{"set": "steps/reconcile/args/inputs", "to": value}])
    assert is_rejected(static_check(deepest, TASK, REGISTRY, sql_texts=SQL))
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        edited_plan([{"set": "steps/reconcile/args/inputs", "to": {"a": {"b": value}}}])
