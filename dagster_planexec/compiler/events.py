"""Verdicts and decisions in Dagster's words. The one place where a decision becomes a Dagster event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import dagster as dg

from dagster_planexec.compiler.markup import escaped
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.verdict import Verdict, first_shut, worst
from dagster_planexec.execute.work import StepReport
from dagster_planexec.journal.told.line import one_line, shown
from dagster_planexec.journal.told.sentence import LONGEST_SENTENCE, LONGEST_TOLD, sentence_of
from dagster_planexec.recovery.decision import (
    Decision,
    Hold,
    Proceed,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Skip,
    Stop,
    UseFallback,
)
from dagster_planexec.world.period import Period

ROOT = "planexec"
"""First part of the asset keys that a plan run's checks are shown under. Nothing is ever materialised there."""

NO_MORE_RUNS = {"dagster/max_retries": "0"}
"""`allow_retries=False` stops retries of the step only; this tag stops those of the run."""


def evaluations(task: Task, report: StepReport, period: Period) -> Iterator[dg.AssetCheckEvaluation]:
    """Every verdict of a step. Those of one check and phase become one evaluation: a later would hide an earlier."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in report.verdicts:
        groups.setdefault(f"{verdict.phase}__{verdict.check}", []).append(verdict)
    for name, verdicts in groups.items():
        shut = first_shut(verdicts)
        severity = severity_of(report.decision)
        yield dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey([ROOT, task.name, report.step]),
            check_name=name,
            passed=shut is None,
            severity=severity,
            blocking=severity is dg.AssetCheckSeverity.ERROR,
            partition=period.key,
            description=described(verdicts, step=report.step, hold=report.hold_id),
            metadata=sides(verdicts),
        )


def described(verdicts: Sequence[Verdict], *, step: str, hold: str | None = None) -> str:
    """What a gate says, as Markdown: the one sentence if it is shut, else the words of its judge."""
    shut = first_shut(verdicts)
    if shut is None:
        return escaped(f"{step}: {verdicts[0].text}")
    return escaped(sentence_of(shut, step=step, hold=hold), LONGEST_SENTENCE)


def severity_of(decision: Decision) -> dg.AssetCheckSeverity:
    """How grave a shut gate is: what a person, the next try, time or another plan may settle is a warning."""
    match decision:
        case Hold() | Retry() | RetryAfter() | Replan() | Skip():
            return dg.AssetCheckSeverity.WARN
        case RefreshCredentials() | RetryCorrected() | UseFallback():
            return dg.AssetCheckSeverity.WARN
        case Proceed() | Stop():
            return dg.AssetCheckSeverity.ERROR
        case _:
            assert_never(decision)


def sides(verdicts: Sequence[Verdict], *, step: str | None = None) -> dict[str, dg.MetadataValue[Any]]:
    """Both sides of the verdict that counts, with their sources, and of all of them if there are several."""
    counts = first_shut(verdicts) or verdicts[0]
    status = worst(verdict.status for verdict in verdicts)
    values: dict[str, dg.MetadataValue[Any]] = {
        "status": dg.MetadataValue.text(status or "not-evaluated"),
        "expected": dg.MetadataValue.text(shown(counts.expected.value)),
        "expected_from": dg.MetadataValue.text(one_line(str(counts.expected.source))),
        "observed": dg.MetadataValue.text(shown(counts.observed.value)),
        "observed_from": dg.MetadataValue.text(one_line(str(counts.observed.source))),
        "says": dg.MetadataValue.text(one_line(counts.text)),
    }
    if counts.code is not None:
        values["code"] = dg.MetadataValue.text(counts.code)
        values["hint"] = dg.MetadataValue.text(meaning(counts.code).hint)
    if step is not None:
        values["step"] = dg.MetadataValue.text(step)
    if len(verdicts) > 1:
        values["verdicts"] = verdict_table([("", verdict) for verdict in verdicts])
    return values


def verdict_table(verdicts: Sequence[tuple[str, Verdict]]) -> dg.TableMetadataValue:
    """One row per (step, verdict), with both sides. Cells are text: a table takes no decimals and no dates."""
    rows = [
        {
            "step": step, "phase": v.phase, "verdict": v.status,
            "expected": shown(v.expected.value), "expected_from": one_line(str(v.expected.source)),
            "observed": shown(v.observed.value), "observed_from": one_line(str(v.observed.source)),
            "says": one_line(v.text), "code": v.code or "",
        }
        for step, v in verdicts
    ]  # fmt: skip
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows], schema=_SCHEMA)


_SCHEMA = dg.TableSchema(
    columns=[
        dg.TableColumn(name)
        for name in "step phase verdict expected expected_from observed observed_from says code".split()  # noqa: SIM905 - one line
    ]
)


def follow(report: StepReport, task: Task, *, max_tries: int, log: dg.DagsterLogManager) -> Iterator[dg.Output[None]]:
    """What the decision means to Dagster: an output, a retry, a quiet end, or a failure.

    Raises:
        dagster.RetryRequested: The step is to be tried again after a pause.
        dagster.Failure: The run stops here.
    """
    decision = report.decision
    if report.state == "not-run" and not isinstance(decision, Skip):
        log.info("step %s is not run: %s", report.step, one_line(report.reason))
        return
    match decision:
        case Proceed():
            yield dg.Output(None, "done")
        case Retry():
            log.warning(one_line(decision.reason))
            raise dg.RetryRequested(max_retries=max_tries, seconds_to_wait=decision.after_s)
        case RefreshCredentials() | RetryCorrected() | UseFallback():
            # The step runner goes on by itself after these; should one get here, nothing was decided for Dagster.
            raise dg.RetryRequested(max_retries=max_tries, seconds_to_wait=0)
        case RetryAfter():
            log.warning("step %s waits for a time (%s): %s", report.step, report.code, one_line(report.reason))
        case Skip():
            log.warning("step %s is left out: %s", report.step, one_line(decision.reason))
        case Replan():
            log.warning("step %s: another plan is asked for: %s", report.step, one_line(decision.reason))
        case Hold():
            log.warning("step %s waits for a person (%s): %s", report.step, report.code, one_line(decision.reason))
        case Stop():
            raise failure(
                decision.reason, code=report.code, step=report.step, verdict=first_shut(report.verdicts),
                more={"task": dg.MetadataValue.text(task.name)},
            )  # fmt: skip
        case _:
            assert_never(decision)


def failure(
    sentence: str,
    *,
    code: str | None,
    step: str | None,
    verdict: Verdict | None,
    more: Mapping[str, dg.MetadataValue[Any]] | None = None,
) -> dg.Failure:
    """A failure whose description is one sentence and whose metadata says the rest. Neither step nor run is retried."""
    metadata: dict[str, Any] = sides([verdict]) if verdict is not None else {}
    metadata["code"] = dg.MetadataValue.text(code or "INTERNAL")
    metadata["hint"] = dg.MetadataValue.text(meaning(code or "INTERNAL").hint)
    if step is not None:
        metadata["step"] = dg.MetadataValue.text(step)
    return dg.Failure(one_line(sentence, LONGEST_TOLD), metadata=metadata | dict(more or {}), allow_retries=False)
