"""The lineage rules on tasks of other shapes: what is not declared is not asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dagster_planexec.checks.static.static_check import is_rejected, static_check
from dagster_planexec.contract.task import Deliverable, NamedInput, Task
from dagster_planexec.contract.tool import LandedDigest, Model, ToolRegistry
from dagster_planexec.plan.model import Plan
from tests.support.plan_edits import edited_plan
from tests.support.toolbox import REGISTRY, SQL, TASK, TOOLS, idle_tool

LINEAGE = {"input-from-elsewhere", "delivery-unread", "result-not-judged"}


class Landed(Model):
    landed: LandedDigest


def found_of(task: Task, plan: Plan, registry: ToolRegistry = REGISTRY) -> list[tuple[str, str | None]]:
    """(code, step) of what the lineage rules find."""
    found = static_check(plan, task, registry, sql_texts=SQL)
    return [(f.code, f.step) for f in found if f.code in LINEAGE]


def fetched(number: int) -> dict[str, Any]:
    """A fetch of one more file."""
    args = {"bucket": "vendor-drops", "key": f"vendor/exports/2026-03-invoice-{number}.csv"}
    return {"insert": {"id": f"fetch_{number}", "tool": "s3.get", "args": args}, "before": "load_staging"}


@pytest.mark.parametrize(
    "task",
    [
        replace(TASK, inputs=(), deliverables=()),
        replace(TASK, inputs=TASK.inputs[:2], deliverables=(Deliverable("lines", ("run_sql",)),)),
    ],
    ids=["nothing-declared", "no-result-and-no-delivery"],
)
def test_what_a_task_does_not_declare_is_not_asked_for(task: Task) -> None:
    """Without inputs nothing is bound, without a deliverable nobody knows what fills one, without a result none."""
    plan = edited_plan(
        [{"set": "steps/issue_credit/args/source", "to": "recon.old"}, {"remove": "steps/write_report"}]
    )  # fmt: skip
    assert found_of(task, plan) == []


def test_an_input_nobody_makes_is_still_bound_by_reference() -> None:
    """An input without source and deliverable may come from any step, and from no table by name."""
    task = replace(TASK, inputs=(*TASK.inputs, NamedInput("regions", "lookup", "ledger_charges")))
    create = {
        "id": "regions",
        "tool": "warehouse.create_table",
        "args": {"target": "staging.r_202603", "contract": "x"},
    }
    by_step = edited_plan(
        [
            {"insert": create, "before": "reconcile"},
            {"set": "steps/reconcile/args/inputs/regions", "to": {"ref": "regions.table"}},
        ]
    )
    by_name = edited_plan([{"set": "steps/reconcile/args/inputs/regions", "to": "staging.regions"}])

    assert found_of(task, by_step) == []
    assert found_of(task, by_name) == [("input-from-elsewhere", "reconcile")]


def test_a_file_may_go_through_another_step_on_its_way() -> None:
    """What is unpacked from a fetched file stands for it; what is unpacked and not loaded is unread."""
    unpack = idle_tool("unpack", Landed, Landed, effect="read", writes=None)
    registry = ToolRegistry((*TOOLS, unpack))
    task = replace(TASK, tools=(*TASK.tools, "unpack"))
    step = {"id": "unpacked", "tool": "unpack", "args": {"landed": {"ref": "fetch_export.landed"}}}
    through = edited_plan(
        [
            {"insert": step, "before": "load_staging"},
            {"set": "steps/load_staging/args/sources", "to": [{"ref": "unpacked.landed"}]},
        ]
    )
    beside = edited_plan([{"insert": step, "before": "load_staging"}])

    assert found_of(task, through, registry) == []
    assert found_of(task, beside, registry) == [("delivery-unread", "unpacked")]


def test_two_deliveries_are_two_inputs() -> None:
    """Each side is filled by a load of its own contract, from files of its own."""
    task = replace(
        TASK,
        inputs=(NamedInput("ledger", "side", "ledger_charges"), TASK.inputs[1]),
        deliverables=(Deliverable("ledger", ("s3.get", "warehouse.load"), input="ledger"), *TASK.deliverables),
    )
    stage = {"target": "staging.ledger_202603", "contract": "ledger_charges"}
    edits: list[dict[str, Any]] = [
        fetched(2),
        {"set": "steps/scope_ledger/tool", "to": "warehouse.create_table"},
        {"set": "steps/scope_ledger/args", "to": stage},
        {
            "insert": {
                "id": "load_ledger",
                "tool": "warehouse.load",
                "args": {"sources": [{"ref": "fetch_2.landed"}], "target": {"ref": "scope_ledger.table"}},
            },
            "before": "reconcile",
        },
        {"set": "steps/reconcile/args/inputs/ledger", "to": {"ref": "load_ledger.table"}},
    ]
    sides = {"ledger": {"ref": "load_staging.table"}, "vendor": {"ref": "load_ledger.table"}}
    swapped = [*edits, {"set": "steps/reconcile/args/inputs", "to": sides}]
    one_file = [*edits, {"set": "steps/load_ledger/args/sources", "to": [{"ref": "fetch_export.landed"}]}]

    assert found_of(task, edited_plan(edits)) == []
    assert found_of(task, edited_plan(swapped)) == [("input-from-elsewhere", "reconcile")] * 2
    assert found_of(task, edited_plan(one_file)) == [
        ("delivery-unread", "fetch_2"),
        ("delivery-unread", "load_staging"),
    ]


def test_a_projects_own_check_may_be_claimed_of_any_step_without_parameters() -> None:
    """No contract names it, so no tool owns it; that a parameter of it is stricter nobody can tell."""
    bare = edited_plan([{"set": "steps/issue_credit/claims", "to": [{"claim": "volume_is_plausible"}]}])
    given = edited_plan(
        [{"set": "steps/issue_credit/claims", "to": [{"claim": "volume_is_plausible", "args": {"most": 3}}]}]
    )  # fmt: skip

    assert not is_rejected(static_check(bare, TASK, REGISTRY, known_checks=["volume_is_plausible"]))
    assert is_rejected(static_check(given, TASK, REGISTRY, known_checks=["volume_is_plausible"]))
