"""Every figure in every written file of the report is the figure in the result."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.differences import (
    DIFFERENCES,
    FiguresOfDifferences,
    FiguresOfDifferingLines,
)
from dagster_planexec.world.probes.result.report import FORMATS, FiguresOfReport, FiguresOfResult

NAME = "report_matches_result"
_SHOWN = 3


def report_matches_result(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """One check for each file, each read back from the disk by a reader of its format that has not written it."""
    name, layout = scope.args.name, result_layout(scope.task)
    counted = FiguresOfResult(scope.args.source, layout)
    differing = FiguresOfDifferingLines(scope.args.source, layout)
    pairs: list[tuple[Probe, Probe]] = [(FiguresOfReport(name, format_), counted) for format_ in FORMATS]
    pairs += [(FiguresOfDifferences(name, suffix, layout), differing) for suffix in DIFFERENCES]
    return tuple(Check(NAME, phase, written, due, _judge, absent_code="REPORT_MISMATCH") for written, due in pairs)


def _judge(seen: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state == "absent":
        return Finding("not-evaluated", "absent", "not compared", "the result is not there", "TABLE_GONE")
    due, written = against["figures"], seen["figures"]
    assert isinstance(due, Mapping)  # noqa: S101 - what both probes promise
    assert isinstance(written, Mapping)  # noqa: S101 - what both probes promise
    other = [name for name in sorted(due.keys() | written.keys()) if due.get(name) != written.get(name)]
    if not other:
        lines = f"{len(due)} figures, {due.get('lines:all', due.get('lines:differences'))} lines"
        return Finding(
            "passed", lines, lines, f"all {len(due)} figures of {seen.source.subject} are those of the result"
        )
    expected, observed = ({name: _shown(side.get(name)) for name in other[:_SHOWN]} for side in (due, written))
    first = other[0]
    text = f"{len(other)} figures differ; first {first}: expected {expected[first]}, saw {observed[first]}"
    return Finding("failed", expected, observed, text, "REPORT_MISMATCH")


def _shown(value: Fact) -> Fact:
    if value is None:
        return "none"
    return tuple(str(each) for each in value) if isinstance(value, tuple) else value
