"""What the control records of X12 and NACHA files state, beside what a second reading counts."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, format_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.ingest import RECORD_KINDS
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.delivery.figures.controls import FoundControls, StatedControls


def totals_of_records(name: str, scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """One check for each file of a format with control records; none for other formats.

    Args:
        name: The check's name.
        scope: The load.
        phase: When it is judged.
    """
    contract = contract_of(scope.task, scope.args)
    files = [
        (scope.roots.landed_path(sha256), format_of(contract, scope.admission, sha256)) for sha256 in scope.args.sources
    ]
    return tuple(
        Check(name, phase, FoundControls(path, form), StatedControls(path, form), _judge, absent_code="OBJECT_GONE")
        for path, form in files
        if form.kind in RECORD_KINDS
    )


def _judge(observed: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state != "seen":
        return Finding("failed", "a landed copy", "absent", f"{against.source.subject} is not there", "OBJECT_GONE")
    cut, stated, found = against["open"], against["controls"], observed["values"]
    assert isinstance(cut, tuple) and isinstance(stated, tuple) and isinstance(found, tuple)  # noqa: S101, PT018 - what the probes promise
    if cut:
        text = f"{cut[0]}: it may have been cut off"
        return Finding("failed", "every control record", f"{len(cut)} missing", text, "CONTROL_TOTAL_MISMATCH")
    if not stated:
        text = "the file states nothing about itself: no control record was found"
        return Finding("failed", "control records", "none", text, "CONTROL_TOTAL_MISMATCH")
    if len(stated) != len(found):
        text = f"two readings find {len(stated)} and {len(found)} control values"
        return Finding("failed", len(stated), len(found), text, "CONTROL_TOTAL_MISMATCH")
    pairs = [(one, value) for one, value in zip(stated, found, strict=True) if isinstance(one, Mapping)]
    wrong = [(one, value) for one, value in pairs if one["value"] != value]
    if wrong:
        one, value = wrong[0]
        more = f", and {len(wrong) - 1} more do not close" if len(wrong) > 1 else ""
        text = f"line {one['line']} states {one['value']} for {one['name']}; found {value}{more}"
        return Finding("failed", one["value"], value, text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", len(stated), len(found), f"all {len(stated)} control values are what is found")
