"""Which file contract a step works by, where its landed copies lie, and what reads them beside the loader."""

from __future__ import annotations

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.layout import drop_of
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, Model
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.observation import Source
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract, CountExtracts
from dagster_planexec.world.subject import Subject


def contract_of(task: Task, args: Model) -> FileContract:
    """The contract that the arguments name, or that of the input they read, or that of the task's drop.

    Raises:
        PlanexecError: BAD_CONTRACT if the task has no contract of that name.
    """
    name = getattr(args, "contract", None)
    if name is None:
        source = getattr(args, "source", None)
        read = [named.contract for named in task.inputs if source is not None and named.source == source]
        name = read[0] if read else task.input(drop_of(task).input).contract
    if name not in task.contracts:
        raise PlanexecError(
            "BAD_CONTRACT",
            f"task {task.name!r} has no file contract {name[:80]!r}; it has {', '.join(sorted(task.contracts))}",
            hint="name one of the task's contracts",
        )
    return task.contracts[name]


def stated(contract: FileContract, clause: str) -> Source:
    """The source of something that a file contract states."""
    return Source(Subject("contract", f"{contract.name} v{contract.version}"), clause)


def target_of(scope: StepScope) -> str:
    """The table that the step leaves behind: what its result names, or before that its argument."""
    made = getattr(scope.result, "table", None)
    return str(made if made is not None else scope.args.target)


def format_of(contract: FileContract, admission: Admission, sha256: str) -> FileFormat:
    """How to read a landed copy. It is named by its digest; the key it was fetched as says what it is.

    Raises:
        PlanexecError: VALIDATION_ERROR if nothing of that digest was admitted, or under keys of two formats;
            BAD_CONTRACT if the key has no suffix of a format that can be counted.
    """
    keys = sorted({admitted.facts.key for admitted in admission.objects if admitted.sha256 == sha256})
    formats = {contract.format_of(key) for key in keys}
    if len(formats) != 1:
        what = "was not admitted" if not keys else f"was admitted in {len(formats)} formats"
        raise PlanexecError(
            "VALIDATION_ERROR",
            f"the landed copy {sha256[:12]!r} {what}",
            hint="load what a fetch step of the same plan has landed",
        )
    return formats.pop()


def records_of(scope: StepScope, *, at_most: int | None = None) -> Probe:
    """The independent count of what a load step reads; with the sum of its amounts, unless only the first count."""
    parts = extracts_of(scope, at_most=at_most)
    return parts[0] if len(parts) == 1 else CountExtracts(parts)


def extracts_of(scope: StepScope, *, at_most: int | None = None) -> tuple[CountExtract, ...]:
    """The same of each file by itself, in the order of the arguments."""
    contract = contract_of(scope.task, scope.args)
    return tuple(
        CountExtract(
            scope.roots.landed_path(sha256),
            format_of(contract, scope.admission, sha256),
            None if at_most is not None else contract.counted,
            at_most,
            contract.broken_may_be_refused,
        )
        for sha256 in scope.args.sources
    )
