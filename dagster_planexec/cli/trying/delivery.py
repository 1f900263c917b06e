"""One delivery tried against one contract: the task, its plan, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster_planexec.cli.frame import is_text
from dagster_planexec.cli.trying.bench import BUCKET, Bench, keys_of
from dagster_planexec.cli.trying.figures import Figures, figures_of
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.task import Deliverable, Drop, Limits, NamedInput, Scope, Task
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.period import Period

ANY_PERIOD = Period.parse("2000-01", "month")
"""What stands for the period of a delivery that is tried without one; nothing is judged by it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a delivery."""

    contract: FileContract
    files: Mapping[str, Path]
    period: Period | None
    report: RunReport
    figures: Figures
    admitted: tuple[AdmittedObject, ...] = ()
    """What was seen of the files before anything was loaded."""

    @property
    def key_of(self) -> dict[str, str]:
        """SHA-256 to the key that it was delivered as: landed copies are named by their digest."""
        return {one.sha256: one.facts.key for one in self.admitted}

    def name_of(self, sha256: str) -> str:
        """The key of a landed copy; what has none is named by what was given."""
        return self.key_of.get(sha256, sha256)

    @property
    def code(self) -> str | None:
        """The code it is refused with; None if it is accepted."""
        if self.report.status != "succeeded":
            return self.report.code
        return "NOT_FINAL" if self.figures.estimated_rows else None


def try_delivery(
    bench: Bench,
    contract: FileContract,
    files: Sequence[Path],
    period: Period | None,
    *,
    name: str = "delivery",
    schema: str = "staging",
) -> Tried:
    """Land, load and judge the files by the contract, as a month would.

    Args:
        bench: Where.
        contract: The delivery's.
        files: One delivery, in this order.
        period: The period it is for; None leaves every check of a period out.
        name: The delivery's name; its table is `table_of(name, period, schema)`.
        schema: Where its table is made.
    """
    judged = without_period(contract) if period is None else contract
    keys, at = keys_of(files), period or ANY_PERIOD
    table = table_of(name, at, schema)
    plan = Plan.model_validate(
        {"task": f"try_{name}", "period": at.text, "intent": f"Try {name}.", "expects": [],
         "steps": load_steps(name, keys, table)}
    )  # fmt: skip
    report, admitted = bench.settle(_task(judged, at, name, schema), at, plan, keys)
    figures = figures_of(bench.warehouse, contract, table, period)
    return Tried(contract, keys, period, report, figures, admitted)


def without_period(contract: FileContract) -> FileContract:
    """The contract of a delivery that is tried for no period: its date column is loaded, and nothing judged by it."""
    return contract.model_copy(update={"date": None, "window": None})


def table_of(name: str, period: Period, schema: str = "staging") -> str:
    """The table of a delivery that is tried."""
    return f"{schema}.{name}_{period.compact}"


def period_named(text: str | None) -> Period | None:
    """The month or quarter of that text.

    Raises:
        PlanexecError: UNKNOWN_PARTITION if it is neither.
    """
    if text is None:
        return None
    try:
        return Period.parse(text, "quarter" if "Q" in text else "month")
    except PlanexecError as error:
        raise PlanexecError(error.code, error.message, hint="write --period 2026-03 or --period 2026-Q1") from error


def must_be_files(files: Sequence[Path]) -> None:
    """Refuse what is not there, before anything is made.

    Raises:
        PlanexecError: FILE_GONE.
    """
    for path in files:
        if not is_text(str(path)):
            raise PlanexecError("VALIDATION_ERROR", f"{str(path)[:80]!r} has bytes that are no UTF-8", hint="rename it")
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there" if not path.exists() else "is no plain file"
            raise PlanexecError("FILE_GONE", f"file {path.name[:80]!r} {what}", hint="name the files of one delivery")


def _task(contract: FileContract, period: Period, name: str, schema: str) -> Task:
    return Task(
        name=f"try_{name}",
        version="1",
        goal=f"Try {name} against its contract.",
        granularity=period.granularity,
        first_period=period.text,
        zone="UTC",
        tools=("warehouse.create_table", "s3.get", "warehouse.load"),
        deliverables=(Deliverable(name, ("s3.get", "warehouse.load"), input=name),),
        limits=Limits(max_steps=10_000),
        scope=Scope(frozenset({schema}), frozenset({schema}), {BUCKET: ("",)}),
        drop=drop_of_files(name),
        inputs=(NamedInput(name, "lookup", name),),
        contracts={name: contract},
    )


def drop_of_files(name: str) -> Drop:
    """The drop of files that a person has named: whatever their names are is its pattern."""
    return Drop(BUCKET, "", "(?s:.*)|{period}", name, quiet_s=0)


def load_steps(contract: str, keys: Mapping[str, Path], table: str) -> list[dict[str, Any]]:
    """The steps of a plan that make a table of these files by the task's contract of that name; the last is `load`."""
    fetches = {f"fetch_{number}": key for number, key in enumerate(keys, 1)}
    steps: list[dict[str, Any]] = [
        {"id": "create", "tool": "warehouse.create_table", "args": {"target": table, "contract": contract}}
    ]
    for step, key in fetches.items():
        steps.append({"id": step, "tool": "s3.get", "args": {"bucket": BUCKET, "key": key}, "depends_on": ["create"]})
    sources = [{"ref": f"{step}.landed"} for step in fetches]
    load = {"sources": sources, "target": {"ref": "create.table"}}
    steps.append({"id": "load", "tool": "warehouse.load", "args": load, "depends_on": ["create", *fetches]})
    return steps
