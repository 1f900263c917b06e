"""No advisory matches more packages than one advisory can be about."""

from __future__ import annotations

from assets.dependency_audit.probes import VerdictsOfTable
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "no_advisory_is_everywhere"
MOST = 25
"""Packages of one advisory. The widest are of projects that publish dozens together; one of hundreds is damaged."""


def no_advisory_is_everywhere(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The widest advisory against the bound: a report in which everything is vulnerable says nothing."""
    stated = Stated(MOST, scope.stated_by_contract("packages of one advisory"))
    return (Check(NAME, phase, VerdictsOfTable(scope.args.target), stated, _judge, absent_code="TABLE_GONE"),)


def _judge(seen: Observation, _: Observation | Stated) -> Finding:
    width, widest = seen["width"], str(seen["widest"])[:80]
    assert isinstance(width, int)  # noqa: S101 - the probe's own fact
    if width > MOST:
        text = f"advisory {widest!r} matches {width} packages; one that is about so many is damaged, or no advisory"
        return Finding("failed", MOST, width, text, "BAD_FORMAT")
    return Finding("passed", MOST, width, f"the widest advisory matches {width} packages")
