"""How long the static check of a long plan takes."""

from __future__ import annotations

from bench.plans.long_plan import long_plan
from bench.scene import MARCH, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.static.static_check import static_check
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.tools import BUILTIN_TOOLS

BUDGET_MS = 100.0
_TOO_LONG = {"budget-exceeded", "missing-deliverable", "delivery-unread", "perishable-read-late", "over-planned"}
"""What the rules find in a plan that does one thing over and over. Anything else would be work of another kind."""


def check_plan(on: Scene, *, steps: int, runs: int) -> Measured:
    """Every static rule over one plan."""
    plan = long_plan(steps)
    registry = ToolRegistry(BUILTIN_TOOLS).restricted_to(on.task.tools)

    def check() -> None:
        sql = read_sql(on.ports.roots.sql)
        findings = static_check(plan, on.task, registry, known_checks=BINDERS, sql_texts=sql, period=MARCH)
        assert {finding.code for finding in findings} <= _TOO_LONG, findings[:3]

    found = medians({"check": check}, runs)
    return Measured("check_plan", found["check"] * 1000, "ms", BUDGET_MS, found, runs, {"steps": steps})
