"""A load with every check of its step, beside DuckDB's own typed load of the same file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.scene import MARCH, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.tool import Admission, ToolCall
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.execute.observer import look, observe
from dagster_planexec.tools.warehouse_create_table import CreateTableArgs, WarehouseCreateTable
from dagster_planexec.tools.warehouse_load import LoadArgs, WarehouseLoad

BUDGET = 1.6
_HEADERS = ("Line", "Charge Ref", "Account", "Service Date", "Line Description", "Net Amount")
_TYPES = ("BIGINT", "VARCHAR", "VARCHAR", "DATE", "VARCHAR", "DECIMAL(18,2)")


def load(on: Scene, *, rows: int, runs: int) -> Measured:
    """Preconditions, the load, postconditions and the seal, against `insert into ... select * from read_csv`."""
    file = on.folder / "invoice.csv"
    headers = ", ".join(f'{column} as "{header}"' for column, header in zip(_columns(on), _HEADERS, strict=True))
    on.run(f"copy (select {headers} from staging.vendor) to '{file}' (header, delimiter ',')")
    landed = on.land(file)
    path, admission = on.ports.roots.landed_path(landed.sha256), on.admission(landed)
    args = LoadArgs(sources=(landed.sha256,), target="staging.invoice")
    call = ToolCall(on.task, MARCH, "load_staging", on.ports, admission, 900.0)
    types = ", ".join(f"'{header}': '{kind}'" for header, kind in zip(_HEADERS, _TYPES, strict=True))
    typed = f"read_csv('{path}', header=true, auto_detect=false, delim=',', quote='\"', columns={{{types}}})"

    def duckdb() -> None:
        on.run("delete from staging.invoice", f"insert into staging.invoice select * from {typed}")

    def tool() -> None:
        assert isinstance(WarehouseLoad().call(args, call), Done)

    def checked() -> None:
        _load_as_a_step_does(on, args, call, admission)

    WarehouseCreateTable().call(CreateTableArgs(target="staging.invoice", contract="vendor_invoice"), call)
    found = medians({"duckdb": duckdb, "tool_alone": tool, "with_every_check": checked}, runs)
    return Measured("load", found["with_every_check"] / found["duckdb"], "ratio", BUDGET, found, {"rows": rows})


def _columns(on: Scene) -> tuple[str, ...]:
    return tuple(column.name for column in on.task.contracts["vendor_invoice"].columns)


def _load_as_a_step_does(on: Scene, args: LoadArgs, call: ToolCall, admission: Admission) -> None:
    tool, contract = WarehouseLoad(), WarehouseLoad.contract
    scope = StepScope(on.task, MARCH, "load_staging", contract, args, None, admission, on.ports.roots)
    _judge(on, contract.preconditions, scope, "pre")
    outcome = tool.call(args, call)
    assert isinstance(outcome, Done), outcome
    result: Any = outcome.result
    _judge(on, contract.postconditions, replace(scope, result=result), "post")
    assert look(tool.seal(args, result, call), on.ports).state == "seen"


def _judge(on: Scene, names: tuple[str, ...], scope: StepScope, phase: Phase) -> None:
    """As the step runner judges: all probes of a phase once, then every verdict."""
    checks = [check for name in names for check in BINDERS[name](scope, phase)]
    seen = observe([p for c in checks if not isinstance(c, NotApplicable) for p in c.probes], on.ports)
    for check in checks:
        verdict = check.verdict() if isinstance(check, NotApplicable) else check.verdict(seen)
        assert verdict.opens, verdict.text
