"""Asks a model for the plan, over OpenAI's chat completions: one strict schema, one prompt, one answer, or a code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.planner.openai.service import Answer, Endpoint, Failure, ask, without_key
from dagster_planexec.planner.planner import Planner, Proposal, Usage
from dagster_planexec.planner.prompt.prompt import Prompt, prompt_of, template_digest
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.answer import read_answer
from dagster_planexec.planner.strict.plan_form import VERSION

MOST_CALLS = 3
"""Requests for one proposal; a service that is busy or down is asked again after a short pause."""
LONGEST_PAUSE_S = 20.0
"""A service that asks for a longer pause is not waited for: the run ends and says so."""
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    tokens_in: Decimal
    tokens_out: Decimal

    @classmethod
    def of(cls, tokens_in: str | None, tokens_out: str | None) -> Prices | None:
        """The prices from decimal strings; None if none are given.

        Raises:
            PlanexecError: BAD_CONTRACT if one is no amount, or only one is given.
        """
        if tokens_in is None and tokens_out is None:
            return None
        if tokens_in is None or tokens_out is None:
            raise _bad("one of the prices is missing", "name both, or none")
        return cls(_amount(tokens_in), _amount(tokens_out))

    def cost(self, tokens_in: int, tokens_out: int) -> str:
        """What these tokens cost, exactly, as a decimal string."""
        total = (self.tokens_in * tokens_in + self.tokens_out * tokens_out) / _MILLION
        return f"{total:f}"


@dataclass(slots=True)
class _Spent:
    """What a proposal has cost so far."""

    since: float = field(default_factory=time.monotonic)
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, usage: Any) -> None:  # noqa: ANN401 - whatever the service sent
        """Count what an answer says that it used. What is no count is not counted."""
        if isinstance(usage, Mapping):
            self.tokens_in += _count(usage.get("prompt_tokens"))
            self.tokens_out += _count(usage.get("completion_tokens"))


class OpenAIPlanner(Planner):
    """Has a model write the plan. Nothing that a service or a model can do raises; each failure is a code.

    Args:
        model: The model's name, as the service knows it.
        api_key: The key. It is sent to the service and shown nowhere; empty for a service that asks for none.
        base_url: Where the service is; None for OpenAI's own.
        timeout_s: Seconds for one request, from its first byte to the answer's last.
        max_output_tokens: Tokens of an answer; a longer one ends as ANSWER_TRUNCATED.
        price_in: US dollars for a million tokens of the prompt, as a decimal string.
        price_out: The same for the answer.

    Raises:
        PlanexecError: BAD_CONTRACT if a setting cannot be used.
    """

    name = "openai"
    calls_model = True
    revises = True

    def __init__(
        self, model: str, *, api_key: str = "", base_url: str | None = None, timeout_s: float = 120.0,
        max_output_tokens: int = 16_000, price_in: str | None = None, price_out: str | None = None,
    ) -> None:  # fmt: skip
        if not model.strip() or len(model) > 200:  # noqa: PLR2004 - no model has a longer name
            raise _bad(f"the model's name {model[:80]!r} is none", "name the model as its service does")
        if base_url is not None and not base_url.startswith(("https://", "http://")):
            raise _bad("base_url does not start with http:// or https://", "name the service's address, e.g. .../v1")
        if not 0 < timeout_s <= 3_600 or not 0 < max_output_tokens <= 1_000_000:  # noqa: PLR2004 - beyond all use
            raise _bad("timeout_s or max_output_tokens is out of range", "give an hour and a million at most")
        self._endpoint = Endpoint(model, base_url, timeout_s, max_output_tokens)
        self._prices = Prices.of(price_in, price_out)
        self._key = api_key.strip()

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Refuse to be pickled: the key would go along."""
        raise TypeError("an OpenAIPlanner holds a key and is made where it is used")

    @property
    def recipe(self) -> str:
        """The model, the templates of the prompt, and the version of the schema's form; never the key."""
        return f"{self.name}:{self._endpoint.model}:{template_digest()}:{VERSION}"

    def propose(self, request: PlanRequest) -> Proposal:
        """The model's plan, or the code of why there is none, with what it cost."""
        spent = _Spent()
        try:
            prompt = prompt_of(request)
        except PlanexecError as error:
            return self._none(Failure(error.code, error.message), None, spent, hint=error.hint)
        if not self._key and self._endpoint.base_url is None:
            return self._none(Failure("AUTH_FAILED", "there is no key for the model's service"), prompt, spent)
        answer = self._asked(prompt, spent)
        if isinstance(answer, Failure):
            return self._none(answer, prompt, spent)
        spent.add(answer.body.get("usage"))
        content = _content(answer.body, self._key)
        if isinstance(content, Failure):
            return self._none(content, prompt, spent)
        try:
            plan = read_answer(content, prompt.form)
        except PlanexecError as error:
            return self._none(Failure(error.code, error.message), prompt, spent, hint=error.hint)
        more = {
            "prompt": prompt.digest,
            "answered_by": one_line(without_key(str(answer.body.get("model", "")), self._key), 100),
        }
        return Proposal(plan, self.name, self._author(prompt), model_called=True, more=more, usage=self._usage(spent))

    def _asked(self, prompt: Prompt, spent: _Spent) -> Answer | Failure:
        while True:
            spent.calls += 1
            answer = ask(self._endpoint, self._key, prompt)
            if isinstance(answer, Answer) or answer.may_recur or spent.calls == MOST_CALLS:
                return answer
            pause = float(spent.calls) if answer.retry_after_s is None else answer.retry_after_s
            if pause > LONGEST_PAUSE_S:
                return answer
            time.sleep(pause)

    def _author(self, prompt: Prompt | None) -> str:
        return f"{self._endpoint.model}, prompt {prompt.digest[:12]}" if prompt else self._endpoint.model

    def _usage(self, spent: _Spent) -> Usage | None:
        if not spent.calls:
            return None
        cost = self._prices.cost(spent.tokens_in, spent.tokens_out) if self._prices else None
        ms = int((time.monotonic() - spent.since) * 1000)
        return Usage(self._endpoint.model, spent.calls, spent.tokens_in, spent.tokens_out, cost, ms)

    def _none(self, failure: Failure, prompt: Prompt | None, spent: _Spent, *, hint: str = "") -> Proposal:
        return Proposal(
            None, self.name, self._author(prompt), model_called=spent.calls > 0, code=failure.code,
            message=failure.message, hint=hint or meaning(failure.code).hint,
            more={"prompt": prompt.digest} if prompt else {}, usage=self._usage(spent),
        )  # fmt: skip


def _content(body: Mapping[str, Any], key: str) -> str | Failure:
    """The text that the model answered with. A key in it goes no further."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Failure("ANSWER_EMPTY", "the model's service answered without a choice")
    message = choice.get("message")
    said = message if isinstance(message, Mapping) else {}
    if isinstance(said.get("refusal"), str) and said["refusal"]:
        declined = one_line(without_key(said["refusal"], key), 300)
        return Failure("MODEL_REFUSED", f"the model declines: {declined!r}")
    if choice.get("finish_reason") == "content_filter":
        return Failure("MODEL_REFUSED", "the model's service filtered the answer")
    if choice.get("finish_reason") == "length":
        return Failure("ANSWER_TRUNCATED", "the answer reached the bound on its tokens before the plan's end")
    content = said.get("content")
    if not isinstance(content, str) or not content.strip():
        return Failure("ANSWER_EMPTY", "the model's service answered without a text")
    return without_key(content, key)


def _count(value: Any) -> int:  # noqa: ANN401 - any JSON
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise _bad(f"the price {text[:40]!r} is no amount", "write it as a decimal string, e.g. '2.50'")
    return amount


def _bad(what: str, hint: str) -> PlanexecError:
    return PlanexecError("BAD_CONTRACT", f"the planner cannot be set up: {what}", hint=hint)
