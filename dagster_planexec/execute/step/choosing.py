"""Asking the one who may pick from the menu. Late, broken or foreign answers leave the rules' own first choice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.execute.step.tried import append
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.attempts.budget import left_of
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import bounded
from dagster_planexec.journal.journal import NewEvent
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.model import Step
from dagster_planexec.recovery.choice import ANSWER_WITHIN_S, MOST_TEXT, Choice, Chooser, Question, may_be_asked
from dagster_planexec.recovery.decide import Weighed, weigh
from dagster_planexec.recovery.decision import Situation

_MOST_COUNTED = 10**12
"""Tokens; more were never used."""


def chosen(run: Run, step: Step, situation: Situation, weighed: Weighed, *, within_s: float | None = None) -> Weighed:
    """What is decided in the end: what was picked from the menu, if somebody may pick and did; else as it was.

    Args:
        run: The run.
        step: The step.
        situation: What was weighed.
        weighed: What the rules say by themselves.
        within_s: Seconds until an answer is late.
    """
    chooser = run.work.chooser
    if chooser is None or not run.work.task.recovery_choice or not may_be_asked(situation, weighed.viable):
        return weighed
    question = _question(run, step, situation, weighed)
    answer, said = _ask(run, chooser, question, ANSWER_WITHIN_S if within_s is None else within_s)
    # The rules have the last word: what they took away nobody brings back.
    after = weigh(situation, choice=answer)
    used = answer is not None and after.strategy == answer
    said |= {"chooser": _word(chooser.name), "shown": question.as_json(), "used": used, "decided": after.strategy}
    if answer is not None and not used:
        said["overruled"] = "the answer is not on the menu"
    append(run, NewEvent("chosen", step.id, redacted(said)))
    return after


def _question(run: Run, step: Step, situation: Situation, weighed: Weighed) -> Question:
    # One bounded line: the text quotes services and files, and is data to whoever reads it.
    text = one_line(str(redacted(situation.text)), MOST_TEXT)
    return Question(
        run.work.task.name, step.id, step.tool, situation.code or "INTERNAL", situation.stage, situation.effect,
        situation.tries, text, weighed.viable,
    )  # fmt: skip


def _ask(run: Run, chooser: Chooser, question: Question, seconds: float) -> tuple[str | None, dict[str, Any]]:
    """The answer, if it came in time, and what is remembered of it."""
    budget = left_of(run.work.journal, run.attempt, run.work.task.limits)
    if chooser.calls_model and not budget.model_may_be_called:
        return None, {"why_not": "the attempt's model calls or tokens are used up"}
    began = time.monotonic()
    blank = _usage(chooser, None)
    try:
        answer: object = within(seconds, lambda: chooser.choose(question))
    except DeadlinePassedError:
        return None, {"why_not": f"no answer within {seconds:g} s", "usage": blank}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises, the rules decide without it
        return None, {"why_not": bounded(f"{type(error).__name__}: {error}", MOST_TEXT), "usage": blank}
    ms = int((time.monotonic() - began) * 1000)
    if not isinstance(answer, Choice) or not isinstance(answer.strategy, str):
        return None, {"why_not": "it gave no answer", "usage": blank, "ms": ms}
    usage = _usage(chooser, answer.usage)
    if answer.why_not:
        return None, {"why_not": one_line(str(answer.why_not), MOST_TEXT), "usage": usage, "ms": ms}
    return answer.strategy, {"answered": one_line(answer.strategy, 60), "usage": usage, "ms": ms}


def _usage(chooser: Chooser, said: object) -> dict[str, Any] | None:
    """What asking has cost, as far as it is of the right type. A call that is begun is one, whatever comes of it."""
    if not isinstance(said, Mapping):
        return {"calls": 1} if chooser.calls_model else None
    calls = max(1 if chooser.calls_model else 0, _count(said.get("calls")))
    cost = said.get("cost")
    return {
        "model": _word(said.get("model")), "calls": calls, "tokens_in": _count(said.get("tokens_in")),
        "tokens_out": _count(said.get("tokens_out")), "cost": _word(cost) if isinstance(cost, str) else None,
    }  # fmt: skip


def _count(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return min(max(0, value), _MOST_COUNTED) if is_count and isinstance(value, int) else 0


def _word(value: object) -> str:
    return one_line(value, 100) if isinstance(value, str) else f"a {type(value).__name__}"
