"""What the fetch checks share: the admitted object of a step, where that is stated, and its landed copy."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from dagster_planexec.checks.check import Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import SUFFIXES, FileContract
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.world.ingest import MOST_DECODED, Compression
from dagster_planexec.world.observation import Fact, Observation, Source
from dagster_planexec.world.probes.delivery.landed import HashLanded
from dagster_planexec.world.subject import Subject, s3_object


def admitted_object(scope: StepScope) -> AdmittedObject | None:
    """The step's object as it was admitted; None if it was not."""
    return scope.admission.object(scope.args.bucket, scope.args.key)


def stated_at_admission(scope: StepScope, value: Fact, what: str) -> Stated:
    """An expected value that the admission record holds of the step's object."""
    subject = Subject("admission", f"{scope.args.bucket}/{scope.args.key}")
    return Stated(value, Source(subject, f"{what} at admission", scope.admission.at))


def not_admitted(scope: StepScope) -> Stated:
    """The expected side for an object that the admission record does not have."""
    return stated_at_admission(scope, "not admitted", "list of objects")


def landed_copy(scope: StepScope, sha256: str) -> HashLanded:
    """The probe of a landed copy of the step's object; one and the same for every check, so it is read once."""
    path, key = scope.roots.landed_path(sha256), scope.args.key
    return landed_look(path, sha256, key, scope.task)


def landed_look(path: Path, sha256: str, key: str, task: Task) -> HashLanded:
    """The probe of a landed copy of an object of the task, decoded as its contract says."""
    contract = _contract_of(task)
    ignored = () if contract is None else contract.ignored_members
    return HashLanded(path, sha256, compression_of(key, task), most_bytes_of(task), ignored)


def most_bytes_of(task: Task) -> int:
    """How long a delivered file of the task may be, decoded: its contract's word."""
    contract = _contract_of(task)
    return MOST_DECODED if contract is None else contract.max_bytes


def compression_of(key: str, task: Task) -> Compression:
    """How the object of that key is packed: its contract's word, else its suffix; `none` if neither says.

    A workbook is an archive of zip, so it is unpacked as one.
    """
    contract = _contract_of(task)
    kind, packed = next(
        (how for s, how in sorted(SUFFIXES.items(), key=lambda item: -len(item[0])) if key.endswith(s)),
        ("delimited", "none"),
    )
    kind = (contract.format if contract is not None else None) or kind
    return "zip" if kind == "xlsx" else (contract.compression if contract is not None else None) or packed


def _contract_of(task: Task) -> FileContract | None:
    filled = next((one for one in task.inputs if task.drop is not None and one.name == task.drop.input), None)
    return task.contracts.get(filled.contract) if filled is not None else None


def on_the_wire(scope: StepScope) -> Observation | None:
    """What the port saw of the step's object while the tool read it; the last whole read counts."""
    subject = s3_object(scope.args.bucket, scope.args.key)
    return next((seen for seen in reversed(scope.witnessed) if seen.source.subject == subject), None)


def at(when: datetime | None) -> str:
    """` at 09:12:04 UTC`, for the words of a verdict."""
    return f" at {when:%H:%M:%S} UTC" if when else ""
