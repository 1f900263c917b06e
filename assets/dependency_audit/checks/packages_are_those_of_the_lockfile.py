"""The table holds exactly the packages that a second reader finds in the lockfile."""

from __future__ import annotations

from assets.dependency_audit.probes import PackagesOfLockfile, PackagesOfTables
from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation

NAME = "packages_are_those_of_the_lockfile"


def packages_are_those_of_the_lockfile(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Number and names: a lockfile read twice over, or by halves, has another set."""
    seen, read = PackagesOfTables((scope.args.target,)), PackagesOfLockfile(scope.args.path)
    return (Check(NAME, phase, seen, read, _judge, absent_code="TABLE_GONE"),)


def _judge(table: Observation, lockfile: Observation | Stated) -> Finding:
    assert isinstance(lockfile, Observation)  # noqa: S101 - bound to a probe
    if lockfile.state == "absent":
        return Finding("failed", "a lockfile", "none", f"the lockfile is not there: {lockfile.message}", "FILE_GONE")
    expected, rows = lockfile["rows"], table["rows"]
    if rows != expected:
        return Finding("failed", expected, rows, f"{rows} packages in the table, {expected} in the lockfile",
                       "ROWCOUNT_MISMATCH")  # fmt: skip
    if table["digest"] != lockfile["digest"]:
        text = f"{rows} packages in both, and not the same ones"
        return Finding("failed", expected, rows, text, "FILE_CHANGED")
    return Finding("passed", expected, rows, f"{rows} packages in the table, the same as in the lockfile")
