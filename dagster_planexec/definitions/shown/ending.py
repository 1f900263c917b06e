"""How a settled period looks in Dagster: metadata of what was made, and the failure of what was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from dagster_planexec.compiler.events import failure
from dagster_planexec.contract.verdict import first_shut
from dagster_planexec.definitions.shown.gates import Made
from dagster_planexec.journal.run_report import RunReport, StepEntry, credits_of
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.journal.told.sentence import LONGEST_TOLD

Metadata = dict[str, dg.MetadataValue[Any]]

_ROWS = ("row_counts_agree", "snapshot_is_complete")
"""Checks whose observed side is the number of rows in the table that the deliverable is."""


def deliverable_metadata(report: RunReport, made: Made) -> Metadata:
    """What one may want to know of a deliverable: its rows, its plan, its runs, its files, and what waits."""
    values: Metadata = {
        "plan_digest": dg.MetadataValue.text(report.plan_digest or "none"),
        "attempt": dg.MetadataValue.text(report.attempt or "none"),
        "planner": dg.MetadataValue.text(one_line(str(report.provenance.get("planner")))),
        "author": dg.MetadataValue.text(one_line(str(report.provenance.get("author")))),
        "model": dg.MetadataValue.text(model_said(report)),
        "steps": dg.MetadataValue.table(
            [
                dg.TableRecord({"step": s.id, "tool": s.tool, "outcome": s.outcome, "tries": s.tries})
                for s in made.steps
            ],
        ),
    }
    if report.plan_run_id:
        values["plan_run"] = dg.MetadataValue.dagster_run(report.plan_run_id)
    rows = row_count(made.steps[-1])
    if rows is not None:
        values["dagster/row_count"] = dg.MetadataValue.int(rows)
    if set(report.report.values()) - {None} and "md_file" in made.steps[-1].facts:
        values |= {f"report_{name}": dg.MetadataValue.path(path) for name, path in report.report.items() if path}
    if report.status == "held":
        values |= hold_metadata(report)
    return values


def model_said(report: RunReport) -> str:
    """Whether a model was asked for the plan of this attempt, and what it cost."""
    return called(report.provenance)


def called(provenance: Mapping[str, Any]) -> str:
    """Whether a model wrote a plan, with calls, tokens and cost."""
    if not provenance.get("model_called"):
        return "no model was called"
    usage = provenance.get("usage")
    if not isinstance(usage, Mapping):
        return "a model was called"
    cost = f", {one_line(str(usage['cost']), 40)} USD" if usage.get("cost") else ""
    asked = f"{usage['calls']} {'call' if usage['calls'] == 1 else 'calls'}"
    tokens = f"{usage['tokens_in']:,} tokens in, {usage['tokens_out']:,} out"
    return f"a model was called: {one_line(str(usage['model']), 100)}, {asked}, {tokens}{cost}"


def row_count(step: StepEntry) -> int | None:
    """Rows of the table a step left: as observed by a check, else as the step says."""
    for verdict in step.checks:
        rows = verdict.observed.value
        if verdict.check in _ROWS and verdict.phase == "post" and isinstance(rows, int) and not isinstance(rows, bool):
            return rows
    said = step.facts.get("rows")
    return said if isinstance(said, int) else None


def hold_metadata(report: RunReport) -> Metadata:
    """What waits for a person, and how to look at it."""
    held = credits_of(report)
    return {
        "held": dg.MetadataValue.text(told(report)),
        "held_count": dg.MetadataValue.int(int(held["held_count"] or 0)),
        "held_amount": dg.MetadataValue.text(str(held["held_amount"])),
        "hold_id": dg.MetadataValue.text(str(held["hold_id"])),
        "next": dg.MetadataValue.text(next_command(report)),
    }


def next_command(report: RunReport) -> str:
    """What to type next."""
    if report.status == "held":
        return f"planexec show {credits_of(report)['hold_id']}"
    if report.status == "rejected" and report.plan_digest is not None:
        return f"planexec plan {report.task.name} --partition {report.period.key}"
    return f"planexec run {report.task.name} --partition {report.period.key}"


def ending(report: RunReport, made: Sequence[Made]) -> dg.Failure | None:
    """The failure of a task run, or None if it ends green: succeeded, waiting for a person or a time, stood back."""
    if report.status in {"waiting", "stood-back"}:
        return None  # what is not made yet is made by the run that a sensor starts, or by the one that holds the month
    if report.status in {"succeeded", "held"}:
        left = next((m for m in made if not m.is_made), None)
        if left is None:
            return None
        gate = next((g.name for g in left.gates if not g.opens), "a step")
        sentence = f"INTERNAL: {left.deliverable.name} was not made: the plan run ended well, {gate} never opened"
        return failure(sentence, code="INTERNAL", step=None, verdict=None, more=_links(report))
    step = next((s for s in report.steps if s.outcome == "failed"), None)
    shut = first_shut(step.checks if step else report.live)
    return failure(told(report), code=report.code, step=step.id if step else None, verdict=shut, more=_links(report))


def as_told(error: Exception | None) -> Exception | None:
    """An unforeseen error as Dagster may store it: its place, its name and its words, without secrets or its causes."""
    if error is None:
        return None
    said = one_line(f"{type(error).__name__}: {error}", LONGEST_TOLD)
    return RuntimeError(said).with_traceback(error.__traceback__)


def told(report: RunReport) -> str:
    """The one sentence of a period that did not come to its end; where none was built, its code, words and hint."""
    text = one_line(report.text, LONGEST_TOLD)
    if report.status in {"stopped", "rejected", "held", "waiting"} and text.startswith(f"{report.code}: "):
        return text
    return one_line(f"{report.code or 'INTERNAL'}: {text}; {report.hint or 'read the log of the run'}", LONGEST_TOLD)


def _links(report: RunReport) -> Metadata:
    values: Metadata = {"next": dg.MetadataValue.text(next_command(report))}
    if report.hint:
        values["hint"] = dg.MetadataValue.text(one_line(report.hint))
    if report.plan_run_id:
        values["plan_run"] = dg.MetadataValue.dagster_run(report.plan_run_id)
    if report.plan_digest:
        values["plan_digest"] = dg.MetadataValue.text(report.plan_digest)
    if report.findings:
        values["findings"] = dg.MetadataValue.table(
            [
                dg.TableRecord({name: one_line(str(f.get(name) or "")) for name in _FINDING})
                for f in report.findings[:100]
            ],
            schema=dg.TableSchema(columns=[dg.TableColumn(name) for name in _FINDING]),
        )
    return values


_FINDING = ("severity", "code", "step", "field", "expected", "seen", "hint")
