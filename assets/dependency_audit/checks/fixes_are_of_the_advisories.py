"""Every match has its row; every fix is free of its advisory, and where none is named none is released."""

from __future__ import annotations

from assets.dependency_audit.places import advisories
from assets.dependency_audit.probes import FixesOfTable, VerdictsOfTable
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "fixes_are_of_the_advisories"


def fixes_are_of_the_advisories(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The table against the matches it was made of, each row against its advisory."""
    seen = FixesOfTable(scope.args.target, scope.args.source, advisories(scope.period))
    return (Check(NAME, phase, seen, VerdictsOfTable(scope.args.source), _judge, absent_code="TABLE_GONE"),)


def _judge(fixes: Observation, matches: Observation | Stated) -> Finding:
    assert isinstance(matches, Observation)  # noqa: S101 - bound to a probe
    if matches.state == "absent":
        return Finding("failed", "a looked-up table", "none", matches.message, "TABLE_GONE")
    wrong, rows, due = fixes["wrong"], fixes["rows"], matches["matches"]
    if rows != due:
        return Finding("failed", due, rows, f"{rows} rows for {due} matches", "ROWCOUNT_MISMATCH")
    if wrong:
        assert isinstance(wrong, tuple)  # noqa: S101 - the probe's own fact
        text = f"{len(wrong)} rows are not what their advisory says: {', '.join(repr(one) for one in wrong[:3])}"
        return Finding("failed", due, f"{len(wrong)} wrong", text, "IDENTITY_BROKEN")
    return Finding("passed", due, rows, f"{fixes['found']} fixed and {fixes['absent']} without a released fix")
