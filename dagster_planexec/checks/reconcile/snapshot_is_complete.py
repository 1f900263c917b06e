"""A snapshot holds what its live table holds in scope of the period: as many rows, and the same money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, NotApplicable, Stated
from dagster_planexec.checks.reconcile.views import input_with_source
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import view_of
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.identities import SideFigures

NAME = "snapshot_is_complete"


def snapshot_is_complete(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Bind the check to a step that copied `source` to `target`."""
    named = input_with_source(scope.task, scope.args.source)
    if named is None:
        reason = (
            f"no input of task {scope.task.name} comes from {scope.args.source[:80]}, so no contract says its scope"
        )
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("inputs.source")),)
    # The copy is looked at as a whole: rows out of scope would be a fault of the copy.
    copy = SideFigures((view_of(scope.task, scope.period, named, scope.args.target, whole=True),))
    live = SideFigures((view_of(scope.task, scope.period, named, scope.args.source),))
    return (Check(NAME, phase, copy, live, _judge, absent_code="TABLE_GONE"),)


def _judge(seen: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return Finding("failed", "a live table", "absent", f"{against.source.subject} is not there", "TABLE_GONE")
    expected, observed = _figures(against), _figures(seen)
    if seen["rows"] != against["rows"]:
        return Finding(
            "failed",
            expected,
            observed,
            f"the live table has {expected} in scope, the copy {observed}",
            "ROWCOUNT_MISMATCH",
        )
    if seen["sums"] != against["sums"]:
        return Finding(
            "failed",
            expected,
            observed,
            f"the live table has {expected} in scope, the copy {observed}",
            "CONTROL_TOTAL_MISMATCH",
        )
    return Finding("passed", expected, observed, f"the copy has {observed}, as the live table in scope")


def _figures(seen: Observation) -> str:
    rows: Mapping[str, Any] = seen["rows"]  # type: ignore[assignment]
    sums: Mapping[str, Any] = seen["sums"]  # type: ignore[assignment]
    return ", ".join(f"{rows[name]} rows of {name} worth {sums[name]}" for name in rows)
