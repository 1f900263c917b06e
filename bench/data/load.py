"""A load with every check of its step, beside DuckDB's own typed load of the same file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bench.scene import HEADERS, MARCH, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.tool import Admission, ToolCall
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.execute.observer import look, observe
from dagster_planexec.journal.encoding import same_facts
from dagster_planexec.tools.warehouse.create_table import CreateTableArgs, WarehouseCreateTable
from dagster_planexec.tools.warehouse.load import LoadArgs, WarehouseLoad
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe

BUDGET = 1.6
TYPES = ("BIGINT", "VARCHAR", "VARCHAR", "DATE", "VARCHAR", "DECIMAL(18,2)")
TARGET = "staging.invoice"


@dataclass(frozen=True)
class Load:
    """A scene whose invoice is landed, and the ways to load it."""

    on: Scene

    def make_table(self) -> None:
        """As the step before a load does."""
        WarehouseCreateTable().call(CreateTableArgs(target=TARGET, contract="vendor_invoice"), self._call)

    def duckdb(self) -> None:
        """What DuckDB does by itself, told all types."""
        columns = ", ".join(f"'{header}': '{kind}'" for header, kind in zip(HEADERS, TYPES, strict=True))
        path = self.on.ports.roots.landed_path(self._args.sources[0])
        reader = f"read_csv('{path}', header=true, auto_detect=false, delim=',', quote='\"', columns={{{columns}}})"
        self.on.run(f"delete from {TARGET}", f"insert into {TARGET} select * from {reader}")

    def tool(self) -> Any:  # noqa: ANN401 - each tool has its own result
        """The load without a check; its result."""
        outcome = WarehouseLoad().call(self._args, self._call)
        assert isinstance(outcome, Done), outcome
        return outcome.result

    def with_every_check(self) -> None:
        """Preconditions, the load, its seal, postconditions, and its seal again: as the step runner does."""
        contract = WarehouseLoad.contract
        scope = StepScope(
            self.on.task, MARCH, "load_staging", contract, self._args, None, self._admission, self.on.ports.roots
        )
        self._judge(contract.preconditions, scope, "pre")
        with self.on.warehouse.together():
            result = self.tool()
            seal = WarehouseLoad().seal(self._args, result, self._call)
            left = look(seal, self.on.ports)
            self._judge(contract.postconditions, replace(scope, result=result), "post", {seal: left})
            assert same_facts(left, look(seal, self.on.ports))

    def loaded(self) -> tuple[int, str]:
        """Rows and sum of what is in the table."""
        ((rows, total),) = self.on.run(f"select count(*), sum(amount) from {TARGET}")
        return rows, str(total)

    def _judge(
        self, names: tuple[str, ...], scope: StepScope, phase: Phase, seen: Mapping[Probe, Observation] | None = None
    ) -> None:
        """As the step runner judges: all probes of a phase once, then every verdict."""
        checks = [check for name in names for check in BINDERS[name](scope, phase)]
        probes = [p for c in checks if not isinstance(c, NotApplicable) for p in c.probes]
        answers = observe(probes, self.on.ports, seen=seen)
        for check in checks:
            verdict = check.verdict() if isinstance(check, NotApplicable) else check.verdict(answers)
            assert verdict.opens, verdict.text

    @cached_property
    def _admission(self) -> Admission:
        return self.on.admission(self.on.landed())

    @cached_property
    def _args(self) -> LoadArgs:
        return LoadArgs(sources=(self.on.landed().sha256,), target=TARGET)

    @cached_property
    def _call(self) -> ToolCall:
        return ToolCall(self.on.task, MARCH, "load_staging", self.on.ports, self._admission, 900.0)


def load(on: Scene, *, rows: int, runs: int) -> Measured:
    """Against `insert into ... select * from read_csv`."""
    made = Load(on)
    made.make_table()
    found = medians(
        {"duckdb": made.duckdb, "tool_alone": made.tool, "with_every_check": made.with_every_check},
        runs,
    )
    ratio = found["with_every_check"] / found["duckdb"]
    return Measured("load", ratio, "ratio", BUDGET, found, runs, {"rows": rows})
