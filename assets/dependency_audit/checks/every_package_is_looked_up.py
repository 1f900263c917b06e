"""Affected, clean and undecided packages together are the packages of the lockfiles: none was left out."""

from __future__ import annotations

from assets.dependency_audit.probes import PackagesOfTables, VerdictsOfTable
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "every_package_is_looked_up"


def every_package_is_looked_up(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The closing identity of the lookup, both sides by SQL."""
    seen, wanted = VerdictsOfTable(scope.args.target), PackagesOfTables(tuple(dict.fromkeys(scope.args.packages)))
    return (Check(NAME, phase, seen, wanted, _judge, absent_code="TABLE_GONE"),)


def _judge(result: Observation, inputs: Observation | Stated) -> Finding:
    assert isinstance(inputs, Observation)  # noqa: S101 - bound to a probe
    if inputs.state == "absent":
        return Finding("failed", "tables of packages", "none", inputs.message, "TABLE_GONE")
    parts = [result[name] for name in ("affected", "clean", "undecided")]
    total = sum(part for part in parts if isinstance(part, int))
    expected = inputs["packages"]
    text = f"{parts[0]} affected + {parts[1]} clean + {parts[2]} undecided = {total}; {expected} packages were read"
    if total != expected or result["packages"] != expected:
        return Finding("failed", expected, total, text, "IDENTITY_BROKEN")
    return Finding("passed", expected, total, text)
