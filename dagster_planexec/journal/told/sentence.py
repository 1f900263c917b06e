"""The one sentence of a failure: claim, expected with its source, seen with its source, when, and what to do.

It is built here and nowhere else. The step runner writes it into the journal; run, asset check, failure sensor and
command line show the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.told.line import cut, shortened, words
from dagster_planexec.world.observation import Source
from dagster_planexec.world.subject import Subject

LONGEST_SENTENCE = 530
"""Characters of a sentence as it is built."""
LONGEST_TOLD = 600
"""Characters of a sentence as it is shown: a decision adds which try it was, or what may have happened."""


@dataclass(frozen=True, slots=True)
class _Room:
    """Characters that the parts of a sentence may take."""

    says: int
    value: int
    subject: int
    reader: int
    name: int = 80
    hint: int = 150


_ROOMS = (
    _Room(220, 130, 110, 60),
    _Room(160, 100, 90, 50),
    _Room(110, 70, 70, 40),
    _Room(70, 50, 50, 34),
    _Room(30, 34, 36, 24, 40, 110),
)
"""Tried in this order: the first that makes a sentence short enough is taken."""


def sentence_of(verdict: Verdict, *, step: str | None = None, hold: str | None = None, hint: str = "") -> str:
    """One bounded line of plain text about a verdict that shut its gate.

    `OBJECT_GONE: object_exists failed at fetch_export: expected etag 435c... (admission:vendor-drops/..., HEAD at
    admission, 2026-04-01T09:02:00.000Z), saw no object (s3:vendor-drops/..., HEAD, 2026-04-01T09:12:04.250Z); ask the
    vendor to deliver it again, ...`

    Args:
        verdict: Both sides.
        step: The step that it stopped.
        hold: The hold that was opened for it, for hints that name one.
        hint: What to do; without it, what the code says.
    """
    do = (hint or meaning(verdict.code or "INTERNAL").hint).replace("HOLD`", f"{hold or 'HOLD'}`")
    for room in _ROOMS:
        text = _within(room, verdict, step, do)
        if len(text) <= LONGEST_SENTENCE:
            return text
    return cut(_within(_ROOMS[-1], verdict, step, do), LONGEST_SENTENCE)


def sentence_of_call(tool: str, code: str, message: str, at: datetime, *, step: str) -> str:
    """The sentence of a step that failed without a check: its call did, or it could not be judged."""
    answered = Verdict(
        tool, "post", "failed",
        Side("a result", Source(Subject("contract", tool), "the tool's contract")),
        Side(code, Source(Subject("tool", tool), "its answer", at)),
        code, message,
    )  # fmt: skip
    return sentence_of(answered, step=step)


def sentence_of_plan(findings: Sequence[StaticFinding], digest: str, at: datetime) -> str:
    """The sentence of a plan that breaks rules: the first of them, and how many more there are."""
    errors = [finding for finding in findings if finding.severity == "error"]
    first, more = errors[0], len(errors) - 1
    where = f"step {first.step}" if first.step else "the plan"
    broken = Verdict(
        first.code, "live", "failed",
        Side(first.expected or "nothing that breaks the rule", Source(Subject("rule", first.code), "static check")),
        Side(first.seen or "it broken", Source(Subject("plan", digest[:12]), "static check", at)),
        "PLAN_REJECTED",
        where + (f", {first.field}" if first.field else "") + (f"; {more} more of such findings" if more else ""),
    )  # fmt: skip
    return sentence_of(broken, hint=first.hint or "")


def _within(room: _Room, verdict: Verdict, step: str | None, do: str) -> str:
    where = "before the run" if verdict.phase == "live" else f"at {shortened(step or 'its step', room.name)}"
    head = f"{verdict.code or 'INTERNAL'}: {shortened(verdict.check, room.name)} {_how(verdict)} {where}"
    says = f"{cut(verdict.text, room.says)}; " if _adds(verdict) else ""
    both = f"expected {_side(verdict.expected, room)}, saw {_side(verdict.observed, room)}"
    return f"{head}: {says}{both}; {cut(do, room.hint)}"


def _how(verdict: Verdict) -> str:
    match verdict.status:
        case "errored":
            return "could not be judged"
        case "not-evaluated":
            return "was not judged"
        case _:
            return "failed"


def _adds(verdict: Verdict) -> bool:
    """Whether the judge's words say more than the two sides: those of the form `claim x broken` repeat them."""
    return bool(verdict.text.strip()) and not verdict.text.startswith("claim `")


def _side(side: Side, room: _Room) -> str:
    source = side.source
    place = f"{source.subject.system}:{shortened(source.subject.name, room.subject)}"
    when = f", {instant(source.at)}" if source.at else ""
    return f"{shortened(words(side.value), room.value)} ({place}, {shortened(source.reader, room.reader)}{when})"


def instant(at: datetime) -> str:
    """`2026-03-07T09:12:04.250Z`: to the millisecond, as two moments may be all that two sources differ in."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
