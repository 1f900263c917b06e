"""The figures of the written audit are those of the tables."""

from __future__ import annotations

from assets.dependency_audit.probes import FiguresOfReport, FiguresOfTables
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "audit_matches_tables"


def audit_matches_tables(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The JSON file, parsed, against counts of both tables."""
    tables = FiguresOfTables(scope.args.looked_up, scope.args.fixes)
    return (Check(NAME, phase, FiguresOfReport(scope.args.name), tables, _judge, absent_code="REPORT_MISMATCH"),)


def _judge(report: Observation, tables: Observation | Stated) -> Finding:
    assert isinstance(tables, Observation)  # noqa: S101 - bound to a probe
    expected, seen = tables["figures"], report["figures"]
    if expected != seen:
        return Finding("failed", expected, seen, "the report's figures are not those of the tables", "REPORT_MISMATCH")
    return Finding("passed", expected, seen, "every figure of the report is that of the tables")
