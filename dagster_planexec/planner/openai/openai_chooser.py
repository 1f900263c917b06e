"""Has a model pick from a menu of things that are all allowed: one request, one word, or a reason why there is none."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import read_json
from dagster_planexec.planner.openai.cost import Prices, Spent
from dagster_planexec.planner.openai.service import Endpoint, Failure, ask, content_of
from dagster_planexec.planner.prompt.choice import ANSWERED, choice_prompt
from dagster_planexec.recovery.choice import ANSWER_WITHIN_S, MOST_TOKENS, Choice, Chooser, Question

_SPARE_S = 1.0
"""Seconds by which a request ends before its answer would be late: then what it cost is known, and why it failed."""


class OpenAIChooser(Chooser):
    """Asks once and never again. Nothing that a service or a model can do raises; the rules decide without an answer.

    Args:
        model: The model's name, as the service knows it.
        api_key: The key. It is sent to the service and shown nowhere; empty for a service that asks for none.
        base_url: Where the service is; None for OpenAI's own.
        timeout_s: Seconds for the one request; a step waits for as long.
        price_in: US dollars for a million tokens of the question, as a decimal string.
        price_out: The same for the answer.

    Raises:
        PlanexecError: BAD_CONTRACT if a setting cannot be used.
    """

    name = "openai"
    calls_model = True

    def __init__(
        self, model: str, *, api_key: str = "", base_url: str | None = None, timeout_s: float = 20.0,
        price_in: str | None = None, price_out: str | None = None,
    ) -> None:  # fmt: skip
        self._endpoint = Endpoint(model, base_url, min(timeout_s, ANSWER_WITHIN_S - _SPARE_S), MOST_TOKENS)
        self._prices = Prices.of(price_in, price_out)
        self._key = api_key.strip()

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Refuse to be pickled: the key would go along."""
        raise TypeError("an OpenAIChooser holds a key and is made where it is used")

    def choose(self, question: Question) -> Choice:
        """The model's pick, or why there is none, with what it cost."""
        spent = Spent(self._endpoint.model, self._prices)
        if not self._key and self._endpoint.base_url is None:
            return Choice("", why_not="AUTH_FAILED: there is no key for the model's service")
        spent.calls += 1
        picked = self._picked(question, spent)
        usage = spent.usage()
        cost = asdict(usage) if usage else None
        if isinstance(picked, Failure):
            return Choice("", cost, why_not=f"{picked.code}: {picked.message}")
        return Choice(picked, cost)

    def _picked(self, question: Question, spent: Spent) -> str | Failure:
        answer = ask(self._endpoint, self._key, choice_prompt(question))
        if isinstance(answer, Failure):
            return answer
        spent.add(answer.body.get("usage"))
        text = content_of(answer.body, self._key)
        return text if isinstance(text, Failure) else _read(text, question)


def _read(text: str, question: Question) -> str | Failure:
    """The one word of an answer. What else stands in it makes it no answer: nobody has asked for more."""
    try:
        data = read_json(text)
    except PlanexecError:
        return Failure("ANSWER_INVALID", "the answer is no JSON")
    if not isinstance(data, dict) or set(data) != {ANSWERED}:
        return Failure("ANSWER_INVALID", f"the answer is no object with {ANSWERED!r} alone")
    if data[ANSWERED] not in question.menu:
        return Failure("ANSWER_INVALID", f"{str(data[ANSWERED])[:60]!r} is not on the menu")
    return str(data[ANSWERED])
