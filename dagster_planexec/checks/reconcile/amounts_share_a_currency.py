"""Amounts that are compared and added up are of one currency, unless the contracts declare several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.reconcile.closing_identities_hold import currencies_of
from dagster_planexec.checks.reconcile.views import compared_views
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import comparison
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.identities import SideFigures

NAME = "amounts_share_a_currency"
_SHOWN = 5


def amounts_share_a_currency(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Bind the check to a step that compared the task's sides."""
    task = scope.task
    sides = comparison(task, scope.period).sides
    constants = {side.currency for side in sides}
    named = task.limits.currency
    if len(constants) == 1 and None not in constants and (named is None or constants == {named}):
        reason = f"both sides declare {named or sides[0].currency} for every amount"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("reconciliation.currency")),)
    several = {code for side in task.declared_sides for code in side.contract.currencies}
    declared = several | {side.contract.currency for side in task.declared_sides if side.contract.currency}
    allowed = frozenset({named} if named is not None else declared if several else ())
    expected = " or ".join(sorted(allowed)) or "one currency"
    views = compared_views(task, scope.period, scope.args.inputs)
    probe = SideFigures(views, currencies_of(task))
    clause = scope.stated_by_task("limits.currency" if named is not None else "contracts.currencies")
    return (Check(NAME, phase, probe, Stated(expected, clause), judge_with(allowed), absent_code="TABLE_GONE"),)


def judge_with(allowed: frozenset[str]) -> Judge:
    """The judge: these currencies and no other; of none named, any one."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else " or ".join(sorted(allowed))
        found: Mapping[str, Any] = seen["by_currency"]  # type: ignore[assignment]
        codes = sorted({code for currencies in found.values() for code in currencies})
        other = [code for code in codes if not code or (allowed and code not in allowed)]
        if other or (not allowed and len(codes) > 1):
            parts = [
                f"{side} {figures['rows']} rows of {figures['sum']} in {_shown(code)}"
                for side, currencies in found.items()
                for code, figures in list(currencies.items())[:_SHOWN]
            ]
            return Finding("failed", expected, tuple(codes[:20]), f"amounts of {', '.join(parts)}", "MIXED_CURRENCY")
        return Finding("passed", expected, tuple(codes), f"amounts are in {', '.join(codes) or 'no currency'}")

    return judge


def _shown(code: str) -> str:
    return repr(code) if code else "no currency"
