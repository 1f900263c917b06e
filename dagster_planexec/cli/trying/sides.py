"""Two files tried against each other: both loaded by their contracts, then compared as a specification says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from dagster_planexec.cli.trying.bench import BUCKET, Bench, keys_of
from dagster_planexec.cli.trying.delivery import (
    ANY_PERIOD,
    Tried,
    drop_of_files,
    load_steps,
    table_of,
    try_delivery,
    without_period,
)
from dagster_planexec.cli.trying.figures import figures_of
from dagster_planexec.contract.file.column import Closed
from dagster_planexec.contract.file.reading import read_yaml
from dagster_planexec.contract.file_contract import FileContract, load_contract
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.contract.task import Deliverable, Limits, NamedInput, Scope, Task
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.period import Period

VENDOR, LEDGER = "vendor", "ledger"


class TrySpec(Closed):
    """What `planexec reconcile` is told: the two contracts, and what is compared."""

    vendor: str
    """The vendor's file contract, beside this file."""
    ledger: str
    """The ledger's."""
    min_matched_share: Annotated[str, Field(pattern=r"^(0|1|0\.[0-9]{1,9})$")] = "0"
    """Least share of each side's keys that the other side must have. A task that moves money has to state it."""
    reconcile: ReconcileSpec = ReconcileSpec()


@dataclass(frozen=True, slots=True)
class TriedSides:
    """What became of the two sides."""

    vendor: Tried
    ledger: Tried
    spec: TrySpec
    report: RunReport | None
    """Of the comparison; None if a side was refused, and nothing could be compared."""
    task: Task | None
    table: str | None

    @property
    def refused_sides(self) -> tuple[str, ...]:
        """The sides whose files are refused."""
        return tuple(name for name, side in ((VENDOR, self.vendor), (LEDGER, self.ledger)) if _stops(side))

    @property
    def code(self) -> str | None:
        """The code of the refusal: the vendor's first, then the ledger's, then the comparison's."""
        for side in (self.vendor, self.ledger):
            if _stops(side):
                return side.code
        if self.report is not None and self.report.status != "succeeded":
            return self.report.code
        return self.vendor.code or self.ledger.code  # a bill that is an estimate is compared all the same


def load_try_spec(path: Path) -> tuple[TrySpec, FileContract, FileContract]:
    """The specification and the contracts of vendor and ledger, which lie beside it.

    Raises:
        PlanexecError: BAD_CONTRACT with every field that is wrong.
    """
    spec = read_yaml(path, TrySpec, whole="spec", page="docs/reconcile.md", empty=True)
    return spec, load_contract(path.parent / spec.vendor), load_contract(path.parent / spec.ledger)


def try_sides(
    bench: Bench, spec: TrySpec, vendor: FileContract, ledger: FileContract, files: Mapping[str, Path],
    period: Period | None,
) -> TriedSides:  # fmt: skip
    """Load both sides and compare them.

    Args:
        bench: Where.
        spec: What is compared.
        vendor: The vendor's contract.
        ledger: The ledger's.
        files: `vendor` and `ledger` to their files.
        period: The period it is about; None leaves every check of a period out.
    """
    ours = try_delivery(bench, ledger, [files[LEDGER]], period, name="lines", schema=LEDGER)
    if _stops(ours):  # the vendor's file is looked at all the same: both may be at fault
        theirs = try_delivery(bench, vendor, [files[VENDOR]], period, name=VENDOR)
        return TriedSides(theirs, ours, spec, None, None, None)
    at, keys = period or ANY_PERIOD, keys_of([files[VENDOR]])
    judged = [contract if period is not None else without_period(contract) for contract in (vendor, ledger)]
    task, table = _task(spec, judged[0], judged[1], at), table_of("compared", at)
    report, admitted = bench.settle(task, at, _plan(keys, at, table), keys)
    figures = figures_of(bench.warehouse, vendor, table_of(VENDOR, at), period)
    theirs = Tried(vendor, keys, period, _of_loading(report), figures, admitted)
    return TriedSides(theirs, ours, spec, report, task, table)


def _stops(side: Tried) -> bool:
    return side.code not in {None, "NOT_FINAL"}


def _of_loading(report: RunReport) -> RunReport:
    """The report as far as it is about the vendor's file: what the comparison found is no fault of the file."""
    load = report.step("load")
    if load is None or load.outcome not in {"done", "reused"}:
        return report
    steps = tuple(step for step in report.steps if step.id == "load" or step.id.startswith(("create", "fetch")))
    return replace(report, status="succeeded", code=None, text="", hint=None, steps=steps)


def _task(spec: TrySpec, vendor: FileContract, ledger: FileContract, period: Period) -> Task:
    return Task(
        name="try_reconcile",
        version="1",
        goal="Compare two files.",
        granularity=period.granularity,
        first_period=period.text,
        zone="UTC",
        tools=("warehouse.snapshot", "warehouse.create_table", "s3.get", "warehouse.load", "reconcile"),
        deliverables=(
            Deliverable("vendor_lines", ("s3.get", "warehouse.load"), input=VENDOR),
            Deliverable("compared_lines", ("warehouse.snapshot", "reconcile")),
        ),
        limits=Limits(min_matched_share=Decimal(spec.min_matched_share), max_steps=100),
        scope=Scope(frozenset({"staging", LEDGER}), frozenset({"staging"}), {BUCKET: ("",)}),
        drop=drop_of_files(VENDOR),
        inputs=(
            NamedInput(LEDGER, "side", LEDGER, source=table_of("lines", period, LEDGER)),
            NamedInput(VENDOR, "side", VENDOR),
        ),
        contracts={VENDOR: vendor, LEDGER: ledger},
        reconciliation=spec.reconcile,
    )


def _plan(keys: Mapping[str, Path], period: Period, table: str) -> Plan:
    source, target = table_of("lines", period, LEDGER), table_of(LEDGER, period)
    inputs = {LEDGER: {"ref": "scope.table"}, VENDOR: {"ref": "load.table"}}
    steps: list[dict[str, Any]] = [
        {"id": "scope", "tool": "warehouse.snapshot", "args": {"source": source, "target": target}},
        *load_steps(VENDOR, keys, table_of(VENDOR, period)),
        {"id": "compare", "tool": "reconcile", "args": {"inputs": inputs, "target": table},
         "depends_on": ["scope", "load"]},
    ]  # fmt: skip
    return Plan.model_validate(
        {"task": "try_reconcile", "period": period.text, "intent": "Compare two files.", "expects": [], "steps": steps}
    )
