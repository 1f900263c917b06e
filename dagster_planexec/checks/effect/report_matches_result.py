"""Every figure in every written file of the report is the figure in the result."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.result.report import FORMATS, FiguresOfReport, FiguresOfResult

NAME = "report_matches_result"
_SHOWN = 3


def report_matches_result(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """One check for each format, each read back from the disk by a parser of that format."""
    counted = FiguresOfResult(scope.args.source, result_layout(scope.task))
    return tuple(
        Check(NAME, phase, FiguresOfReport(scope.args.name, format_), counted, _judge, absent_code="REPORT_MISMATCH")
        for format_ in FORMATS
    )


def _judge(seen: Observation, against: Observation | Stated) -> Finding:
    if isinstance(against, Stated) or against.state == "absent":
        return Finding("not-evaluated", "absent", "not compared", "the result is not there", "TABLE_GONE")
    due, written = against["figures"], seen["figures"]
    assert isinstance(due, Mapping)  # noqa: S101 - what both probes promise
    assert isinstance(written, Mapping)  # noqa: S101 - what both probes promise
    other = [name for name in sorted(due.keys() | written.keys()) if due.get(name) != written.get(name)]
    if not other:
        lines = f"{len(due)} figures, {due['lines:all']} lines"
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
