"""A live table that the task reads exists, with the columns and types its contract declares."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.task import Task
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.table.tables import DescribeTable
from dagster_planexec.world.subject import Subject

NAME = "source_matches_contract"
_LONGEST = 400


def source_matches_contract(task: Task) -> tuple[BoundCheck, ...]:
    """The catalogue against the contract, for every input that is a live table. It may have more columns."""
    checks: list[BoundCheck] = []
    for named in task.inputs:
        if named.source is None:
            continue
        contract = task.contracts[named.contract]
        stated = Stated(
            _words(contract), Source(Subject("contract", f"{contract.name} v{contract.version}"), "columns")
        )
        checks.append(
            Check(NAME, "live", DescribeTable(named.source), stated, _judge(contract), absent_code="TABLE_GONE")
        )
    return tuple(checks)


def _judge(contract: FileContract) -> Judge:
    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        found = seen["columns"]
        assert isinstance(found, Mapping)  # noqa: S101 - the probe's own fact
        observed = ", ".join(f"{name} {kind}" for name, kind in found.items())[:_LONGEST]
        drift = [f"column {c.name} is missing" for c in contract.columns if c.required and c.name not in found]
        drift += [
            f"column {c.name} is {found[c.name]}, not {c.sql_type}"
            for c in contract.columns
            if c.name in found and found[c.name] != c.sql_type
        ]
        if drift:
            return Finding("failed", _words(contract), observed, "; ".join(drift)[:_LONGEST], "SCHEMA_DRIFT")
        return Finding("passed", _words(contract), observed, f"{len(contract.columns)} declared columns are there")

    return judge


def _words(contract: FileContract) -> str:
    return ", ".join(f"{c.name} {c.sql_type}" for c in contract.columns)[:_LONGEST]
