"""The static check as a whole: the flagship, its order and bounds, and plans written to break it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.checks.static.rule import MAX_FINDINGS, code_of
from dagster_planexec.checks.static.static_check import RULES, is_rejected, message_of, static_check
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.model import Plan
from tests.support.plan_edits import edited_plan
from tests.support.toolbox import REGISTRY, SQL, TASK, CreditArgs, GetArgs, LoadArgs, SqlArgs, flagship, flagship_json


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
        for text in asdict(finding).values():
            assert text is None or (text.isprintable() and len(text) <= 300), finding


_NAMES = st.sampled_from(
    [
        "scope_ledger",
        "fetch_export",
        "load_staging",
        "reconcile",
        "issue_credit",
        "a",
        "",
        "x-y",
        "\n",
        "class",
        "é" * 9,
    ]
)
_TOOLS = st.sampled_from([*REGISTRY, "nothing", ""])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.text(max_size=30)
    | st.sampled_from(
        ["ledger.charges", "recon.a_202602", "TBD", "9" * 4000, "NaN", "reconcile.sql", "../x", "$X", "\x00"]
    )
    | st.sampled_from(["<" * 3000, "{" * 900 + "}" * 900, "- " * 2000, ".\n" * 999, "\u202e" * 50, "your " * 500])
)
_REFS = st.builds(
    lambda step, field, more: {"ref": f"{step}{field}"} | more,
    _NAMES,
    st.sampled_from(["", ".", ".table", ".landed", ".rows", ".a.b.c", "..", ".issued"]),
    st.sampled_from([{}, {}, {"ref": 5}, {"more": None}, {"ref": None}]),
)
_VALUES = st.recursive(
    _SCALARS | _REFS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | _NAMES, inner, max_size=3),
    max_leaves=6,
)
_MORE = ("name", "prefix", "contract", "max_lines", "ref", "a.b", "\x00")
_ARGUMENTS = st.dictionaries(
    st.sampled_from(
        [*CreditArgs.model_fields, *SqlArgs.model_fields, *LoadArgs.model_fields, *GetArgs.model_fields, *_MORE]
    ),
    _VALUES,
    max_size=6,
)
_STEPS = st.fixed_dictionaries(
    {
        "id": _NAMES,
        "tool": _TOOLS,
        "args": _ARGUMENTS,
        "depends_on": st.lists(_NAMES, max_size=3),
        "claims": st.lists(
            st.fixed_dictionaries(
                {
                    "claim": st.sampled_from(["row_counts_agree", "", "in prose"]),
                    "args": st.dictionaries(st.sampled_from(["min_rows", "min_matched_share", "cap", "x"]), _VALUES),
                }
            ),
            max_size=2,
        ),
    }
)
_EXPECTATIONS = st.fixed_dictionaries(
    {
        "about": st.sampled_from(["drop", "input:ledger", "input:", "", "\n"]) | st.text(max_size=20),
        "measure": st.sampled_from(["rows", "objects", ""]),
        "op": st.sampled_from(["==", "<"]),
        "value": st.integers() | st.text(max_size=5),
    }
)
_PLANS = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["vendor_reconciliation", "", "x"]),
        "period": st.sampled_from(["2026-03", "0000-00", "", "2026-Q1", "9999-12"]) | st.text(max_size=10),
        "expects": st.lists(_EXPECTATIONS, max_size=2),
        "steps": st.lists(_STEPS, max_size=6),
    }
)


@given(_PLANS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_plan_makes_the_check_raise(data: dict[str, Any]) -> None:
    """Whatever a model writes, as long as it is a plan by its schema, comes back as findings that are plain JSON."""
    found = static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL)
    again = static_check(Plan.model_validate(data), TASK, REGISTRY, sql_texts=SQL)
    assert found == again
    json.dumps([asdict(finding) for finding in found], allow_nan=False).encode()
    assert {finding.code for finding in found} <= {code_of(rule) for rule in RULES}


def test_nesting_is_bounded_where_the_plan_is_read() -> None:
    """The deepest nesting a plan may have is checked without trouble; deeper is no plan."""
    value: Any = "x"
    for _ in range(30):
        value = {"ref": value}
    deepest = edited_plan([{"set": "steps/reconcile/args/inputs", "to": value}])
    assert is_rejected(static_check(deepest, TASK, REGISTRY, sql_texts=SQL))
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        edited_plan([{"set": "steps/reconcile/args/inputs", "to": {"a": {"b": value}}}])
