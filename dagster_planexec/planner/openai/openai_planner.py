"""Asks a model for the plan, over OpenAI's chat completions: one strict schema, one prompt, one answer, or a code."""

from __future__ import annotations

import time
from typing import Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.planner.openai.cost import Prices, Spent
from dagster_planexec.planner.openai.service import Answer, Endpoint, Failure, ask, content_of, without_key
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.prompt.prompt import Prompt, prompt_of, template_digest
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.answer import read_answer
from dagster_planexec.planner.strict.plan_form import VERSION

MOST_CALLS = 3
"""Requests for one proposal; a service that is busy or down is asked again after a short pause."""
_MOST_KEPT = 2_000
"""Characters of an answer that is no plan."""
LONGEST_PAUSE_S = 20.0
"""A service that asks for a longer pause is not waited for: the run ends and says so."""
_SPARE_S = 60.0


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
        self._endpoint = Endpoint(model, base_url, timeout_s, max_output_tokens)
        self.deadline_s = MOST_CALLS * (timeout_s + LONGEST_PAUSE_S) + _SPARE_S
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
        spent = Spent(self._endpoint.model, self._prices)
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
        content = content_of(answer.body, self._key)
        if isinstance(content, Failure):
            return self._none(content, prompt, spent)
        try:
            plan = read_answer(content, prompt.form)
        except PlanexecError as error:
            return self._none(Failure(error.code, error.message), prompt, spent, hint=error.hint, answered=content)
        more = {
            "prompt": prompt.digest,
            "answered_by": one_line(without_key(str(answer.body.get("model", "")), self._key), 100),
        }
        return Proposal(plan, self.name, self._author(prompt), model_called=True, more=more, usage=spent.usage())

    def _asked(self, prompt: Prompt, spent: Spent) -> Answer | Failure:
        while True:
            spent.calls += 1
            answer = ask(self._endpoint, self._key, prompt)
            if isinstance(answer, Answer) or answer.is_final or spent.calls == MOST_CALLS:
                return answer
            pause = float(spent.calls) if answer.retry_after_s is None else answer.retry_after_s
            if pause > LONGEST_PAUSE_S:
                return answer
            time.sleep(pause)

    def _author(self, prompt: Prompt | None) -> str:
        return f"{self._endpoint.model}, prompt {prompt.digest[:12]}" if prompt else self._endpoint.model

    def _none(
        self, failure: Failure, prompt: Prompt | None, spent: Spent, *, hint: str = "", answered: str = ""
    ) -> Proposal:
        more = {"prompt": prompt.digest} if prompt else {}
        if answered:
            more["answered"] = answered[:_MOST_KEPT]
        return Proposal(
            None, self.name, self._author(prompt), model_called=spent.calls > 0, code=failure.code,
            message=failure.message, hint=hint or meaning(failure.code).hint,
            more=more, usage=spent.usage(),
        )  # fmt: skip
