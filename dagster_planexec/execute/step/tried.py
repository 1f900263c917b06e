"""What one try of a step came to, in the words and events that every part of a step's run writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.execute.work import Run, StepReport
from dagster_planexec.journal.encoding import encode, encode_verdict
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.results import DoneStep
from dagster_planexec.journal.told.sentence import sentence_of_call
from dagster_planexec.plan.model import Step
from dagster_planexec.recovery.decision import Stage


@dataclass(frozen=True, slots=True)
class Tried:
    """What one try of a step came to."""

    verdicts: tuple[Verdict, ...]
    stage: Stage
    code: str | None
    text: str
    done: DoneStep | None = None
    call_may_have_happened: bool = False
    retry_after_s: float | None = None
    """Seconds after which the service that failed asked to be called again."""
    raw: Mapping[str, Any] | None = None
    """The arguments, where the tool does not take them and there is nothing resolved."""
    hold_id: str | None = None
    """The hold under which people have released the call, if they had to."""


def trouble(run: Run, step: Step, code: str, message: str) -> str:
    """The sentence of a failure that no check has seen."""
    return sentence_of_call(step.tool, code, message, run.work.ports.clock.now(), step=step.id)


def ended(report: StepReport) -> NewEvent:
    """The event that a step has ended."""
    hint = meaning(report.code).hint if report.code else None
    return NewEvent(
        "step-ended", report.step,
        {
            "tool": report.tool, "state": report.state, "code": report.code, "reason": report.reason,
            "tries": report.tries, "duration_ms": int(report.duration_s * 1000), "hint": hint,
            "hold_id": report.hold_id,
            "verdicts": [encode_verdict(verdict) for verdict in report.verdicts], "facts": encode(dict(report.facts)),
        },
    )  # fmt: skip


def append(run: Run, *events: NewEvent) -> None:
    """Journal events of a run, all in one transaction."""
    run.work.journal.append(run.attempt, run.run_id, events)
