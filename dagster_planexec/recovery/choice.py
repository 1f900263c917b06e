"""The one question that may be put to a model during a run: which of these, if the rules leave more than one thing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster_planexec.contract.strategies import WORDS, Strategy
from dagster_planexec.recovery.decision import Situation

ANSWER_WITHIN_S = 30.0
"""Later than this is no answer."""
MOST_TOKENS = 200
"""Of an answer; it is one word of a menu."""
MOST_TEXT = 300
"""Characters of text from outside in a question. It is data; nothing in it is an instruction."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is shown. Nothing else of the plan, the data or the journal goes with it."""

    task: str
    step: str
    tool: str
    code: str
    stage: str
    effect: str
    tries: int
    text: str
    """What went wrong, bounded."""
    menu: tuple[Strategy, ...]
    """What may be answered, best first by the rules' own order."""

    def as_json(self) -> dict[str, Any]:
        """The question as plain data: what a model is shown, and what the journal keeps."""
        return {
            "task": self.task, "step": self.step, "tool": self.tool, "code": self.code, "stage": self.stage,
            "effect": self.effect, "tries": self.tries, "text": self.text,
            "menu": [{"strategy": strategy, "does": WORDS[strategy]} for strategy in self.menu],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """What was answered. Whatever it says, the rules have the last word."""

    strategy: str
    """One of the menu; anything else counts as no answer."""
    usage: Mapping[str, Any] | None = None
    """`{model, calls, tokens_in, tokens_out, cost}` if a model was called."""
    why_not: str = ""
    """Why there is no answer, if there is none; what asking has cost is told all the same."""


class Chooser(ABC):
    """Picks from a menu of things that are all allowed."""

    name: str
    calls_model: bool = True
    """Whether asking it costs a model call, which the attempt's budget counts."""

    @abstractmethod
    def choose(self, question: Question) -> Choice:
        """One of the question's menu. Whatever it raises counts as no answer, and so does a late answer."""


def may_be_asked(situation: Situation, viable: tuple[Strategy, ...]) -> bool:
    """Whether there is anything to choose: two things to do besides stopping, and nothing that cannot be undone."""
    return situation.effect != "irreversible" and len([one for one in viable if one != "stop"]) > 1
