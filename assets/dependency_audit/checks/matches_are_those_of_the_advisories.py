"""The matches are those that a second reading of the advisories finds for the same packages."""

from __future__ import annotations

from assets.dependency_audit.places import advisories
from assets.dependency_audit.probes import MatchesAgain, MatchesOfTable
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "matches_are_those_of_the_advisories"


def matches_are_those_of_the_advisories(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """What the table says against the same packages, judged anew: none too many, and above all none too few."""
    again = MatchesAgain(tuple(dict.fromkeys(scope.args.packages)), advisories(scope.period))
    return (Check(NAME, phase, MatchesOfTable(scope.args.target), again, _judge, absent_code="TABLE_GONE"),)


def _judge(table: Observation, again: Observation | Stated) -> Finding:
    assert isinstance(again, Observation)  # noqa: S101 - bound to a probe
    if again.state == "absent":
        return Finding("failed", "packages and advisories", "none", again.message, "FILE_GONE")
    expected, seen = again["matches"], table["matches"]
    if table["digest"] != again["digest"]:
        text = f"{seen} matches in the table, {expected} by a second reading, and not the same ones"
        return Finding("failed", expected, seen, text, "IDENTITY_BROKEN")
    return Finding("passed", expected, seen, f"{seen} matches, the same by a second reading of the advisories")
