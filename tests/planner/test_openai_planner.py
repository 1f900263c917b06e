"""A planner that asks a model, against a real server: what is sent, what is read, and that every failure is a code."""

from __future__ import annotations

import gzip
import json
import logging
import pickle
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any

import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.errors import PlanexecError
from dagster_planexec.planner.openai.openai_planner import MOST_CALLS, OpenAIPlanner
from dagster_planexec.planner.planner import Proposal
from dagster_planexec.planner.prompt.prompt import prompt_of
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.plan_form import plan_form
from dagster_planexec.world.period import Period
from tests.support.chat_server import (
    answers,
    chat_server,
    completion,
    fails,
    floods,
    hangs_up,
    never,
    says,
    speaks_otherwise,
    trickles,
    trickles_its_head,
)
from tests.support.toolbox import REGISTRY, TASK, flagship, flagship_json

KEY = "sk-test-4f9d2c7b81e0a6355d21"
MARCH = PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY)
STRICT = json.dumps(plan_form(MARCH).strict(flagship()))


def planner(url: str, **settings: Any) -> OpenAIPlanner:
    """One that asks there."""
    return OpenAIPlanner("model-x", **{"api_key": KEY, "base_url": url, "timeout_s": 5.0, **settings})


def propose(*script: Any, **settings: Any) -> tuple[Proposal, list[dict[str, Any]]]:
    """What comes of these answers, and what arrived at the server."""
    with chat_server(*script) as chat:
        return planner(chat.url, **settings).propose(MARCH), chat.arrived


def test_a_plan_comes_back_as_it_was_written() -> None:
    """With its author, its prompt's digest, and what it cost."""
    proposal, _ = propose(answers(STRICT), price_in="2.50", price_out="10")

    assert proposal.plan == flagship()
    assert proposal.code is None
    digest = prompt_of(MARCH).digest
    assert proposal.author == f"model-x, prompt {digest[:12]}"
    assert (proposal.model_called, proposal.more) == (True, {"prompt": digest, "answered_by": "model-x-2026-01-01"})
    assert proposal.usage is not None
    assert (proposal.usage.model, proposal.usage.calls) == ("model-x", 1)
    assert (proposal.usage.tokens_in, proposal.usage.tokens_out, proposal.usage.cost) == (1_000, 200, "0.0045")
    assert proposal.usage.ms > 0


def test_what_is_sent_is_what_the_prompt_shows() -> None:
    """One request: the key in its header, model, messages, strict schema, a bound on the answer; nothing else."""
    _, arrived = propose(answers(STRICT), max_output_tokens=1234)
    (request,) = arrived
    prompt = prompt_of(MARCH)

    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["authorization" if "authorization" in request["headers"] else "Authorization"] == (
        f"Bearer {KEY}"
    )
    assert request["body"] == {
        "model": "model-x",
        "messages": [*prompt.messages],
        "response_format": {
            "type": "json_schema", "json_schema": {"name": "plan", "strict": True, "schema": prompt.schema},
        },
        "max_completion_tokens": 1234,
    }  # fmt: skip
    assert KEY not in json.dumps(request["body"])


def test_a_plan_that_is_not_strict_is_read_too() -> None:
    """Some servers cannot hold a model to a schema."""
    proposal, _ = propose(answers(f"```json\n{json.dumps(flagship_json())}\n```"))

    assert proposal.plan == flagship()


def test_without_prices_there_is_no_cost() -> None:
    """None, not zero."""
    proposal, _ = propose(answers(STRICT))

    assert proposal.usage is not None
    assert proposal.usage.cost is None


NO_PLAN = json.dumps({"task": TASK.name})
FAILURES = {
    "refusal": (answers(None, refusal="I cannot help with credits"), "MODEL_REFUSED", "I cannot help with credits"),
    "content filter": (answers("", finish="content_filter"), "MODEL_REFUSED", "filtered"),
    "truncated": (answers(STRICT[:200], finish="length"), "ANSWER_TRUNCATED", "bound on its tokens"),
    "truncated though whole": (answers(STRICT, finish="length"), "ANSWER_TRUNCATED", "bound on its tokens"),
    "no JSON": (answers("Here is your plan!"), "ANSWER_INVALID", "not JSON"),
    "JSON that is no plan": (answers(NO_PLAN), "ANSWER_INVALID", "not a plan"),
    "a list": (answers("[]"), "ANSWER_INVALID", "not a plan"),
    "a float": (answers(STRICT.replace('"cap": null', '"cap": 1.5')), "ANSWER_INVALID", "not an integer"),
    "empty choices": (says(completion("") | {"choices": []}), "ANSWER_EMPTY", "without a choice"),
    "no choices": (says({"id": "x"}), "ANSWER_EMPTY", "without a choice"),
    "odd choices": (says(completion("") | {"choices": "none"}), "ANSWER_EMPTY", "without a choice"),
    "no message": (says({"choices": [{"finish_reason": "stop"}]}), "ANSWER_EMPTY", "without a text"),
    "no content": (answers(None), "ANSWER_EMPTY", "without a text"),
    "blank content": (answers(" \n"), "ANSWER_EMPTY", "without a text"),
    "content of another type": (answers([{"text": "x"}]), "ANSWER_EMPTY", "without a text"),
    "401": (fails(401, f"Incorrect API key provided: {KEY}"), "AUTH_FAILED", "does not accept the key"),
    "403": (fails(403, "not in your country"), "FORBIDDEN", "not in your country"),
    "404": (fails(404, "The model `model-x` does not exist"), "MODEL_UNKNOWN", "no model 'model-x'"),
    "400": (fails(400, "Invalid schema for response_format"), "REQUEST_REFUSED", "Invalid schema"),
    "422": (fails(422), "REQUEST_REFUSED", "(422)"),
    "408": (fails(408), "TIMEOUT", "(408)"),
    "redirect": (says(b"", status=307, location="http://127.0.0.1:9/"), "REQUEST_REFUSED", "(307)"),
    "no quota": (fails(429, "You exceeded your quota", code="insufficient_quota"), "THROTTLED", "no quota"),
    "429 for an hour": (fails(429, retry_after="3600"), "THROTTLED", "asks to wait 3600 s"),
    "503 for an hour": (fails(503, retry_after="3600"), "UNAVAILABLE", "(503)"),
    "never": (never, "TIMEOUT", "within 1 s"),
    "trickles": (trickles, "TIMEOUT", "within 1 s"),
    "trickles its head": (trickles_its_head, "TIMEOUT", "within 1 s"),
    "100 MB": (floods, "ANSWER_INVALID", "more than 8,000,000 bytes"),
    "100 MB of an error": (partial(floods, status=400), "ANSWER_INVALID", "more than 8,000,000 bytes"),
    "garbage": (says(b"<html>busy</html>"), "ANSWER_INVALID", "no JSON: '<html>busy</html>'"),
    "deep": (says(b"[" * 100_000), "ANSWER_INVALID", "no JSON"),
    "bytes that are no text": (says(b"\xff\xfe\x00"), "ANSWER_INVALID", "no JSON"),
    "another JSON": (says([1]), "ANSWER_INVALID", "a list, no object"),
    "packed": (says(gzip.compress(b"{}"), content_encoding="gzip"), "ANSWER_INVALID", "packed"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_is_a_code_and_no_plan(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """With a sentence, a hint, what was spent, and nowhere the key; no exception, and asked once."""
    respond, code, says_ = FAILURES[name]
    with caplog.at_level(logging.DEBUG):
        began = time.monotonic()
        proposal, arrived = propose(respond, timeout_s=1.0)

    assert (proposal.plan, proposal.code) == (None, code)
    assert says_ in proposal.message
    assert code in CODES
    assert proposal.hint
    assert len(proposal.message) < 2_000
    assert proposal.usage is not None
    assert (proposal.model_called, proposal.usage.calls, len(arrived)) == (True, 1, 1)
    assert KEY not in f"{proposal!r}{proposal.message}{proposal.hint}{caplog.text}{[vars(r) for r in caplog.records]}"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("respond", [hangs_up, speaks_otherwise, fails(500), fails(503, retry_after="0")])
def test_a_service_that_is_down_is_asked_again_and_no_more_than_a_few_times(
    respond: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request counts; in the end it is UNAVAILABLE."""
    slept: list[float] = []
    monkeypatch.setattr("dagster_planexec.planner.openai.openai_planner.time.sleep", slept.append)
    proposal, _ = propose(respond)

    assert proposal.code == "UNAVAILABLE"
    assert proposal.usage is not None
    assert (proposal.usage.calls, len(slept)) == (MOST_CALLS, MOST_CALLS - 1)


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connection refused: UNAVAILABLE, and every attempt to reach it was a call."""
    monkeypatch.setattr("dagster_planexec.planner.openai.openai_planner.time.sleep", lambda _: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proposal = planner(f"http://127.0.0.1:{taken.getsockname()[1]}/v1").propose(MARCH)

    assert (proposal.code, proposal.model_called) == ("UNAVAILABLE", True)
    assert proposal.usage is not None
    assert proposal.usage.calls == MOST_CALLS


@pytest.mark.parametrize(
    "after", ["0", "0.2", format_datetime(datetime.now(UTC) - timedelta(hours=1))], ids=["now", "soon", "an hour ago"]
)
def test_a_short_pause_is_kept(after: str) -> None:
    """429 with a short Retry-After, as a number or a date, and then the answer."""
    proposal, arrived = propose(fails(429, retry_after=after), answers(STRICT))

    assert proposal.plan == flagship()
    assert len(arrived) == 2
    assert proposal.usage is not None
    assert (proposal.usage.calls, proposal.usage.tokens_in) == (2, 1_000)


def test_the_pause_that_is_asked_for_is_kept() -> None:
    """One second, not less."""
    began = time.monotonic()
    proposal, _ = propose(fails(429, retry_after="1"), answers(STRICT))

    assert proposal.plan is not None
    assert time.monotonic() - began >= 1.0


def test_throttled_again_and_again_ends() -> None:
    """As THROTTLED, with the delay that was stated."""
    proposal, arrived = propose(fails(429, retry_after="0"))

    assert (proposal.code, len(arrived)) == ("THROTTLED", MOST_CALLS)
    assert "asks to wait 0 s" in proposal.message


@pytest.mark.parametrize("after", ["", "soon", "nan", "inf", "-5", "1e999"])
def test_an_odd_retry_after_is_no_pause(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short pause of our own, never a negative or an endless one."""
    slept: list[float] = []
    monkeypatch.setattr("dagster_planexec.planner.openai.openai_planner.time.sleep", slept.append)
    proposal, _ = propose(fails(429, retry_after=after))

    assert proposal.code == "THROTTLED"
    assert all(0 <= pause <= 3 for pause in slept)


@pytest.mark.parametrize(
    "usage", [None, [], {}, {"prompt_tokens": -1, "completion_tokens": True}, {"prompt_tokens": "9" * 99}], ids=str
)
def test_odd_usage_counts_nothing(usage: Any) -> None:
    """And breaks nothing."""
    proposal, _ = propose(says(completion(STRICT) | {"usage": usage}), price_in="1", price_out="1")

    assert proposal.plan == flagship()
    assert proposal.usage is not None
    assert (proposal.usage.tokens_in, proposal.usage.tokens_out, proposal.usage.cost) == (0, 0, "0")


def test_a_failed_answer_has_cost_what_it_cost() -> None:
    """Tokens are spent on what is no plan, too."""
    proposal, _ = propose(answers("no"), price_in="1", price_out="1")

    assert proposal.usage is not None
    assert (proposal.usage.tokens_in, proposal.usage.tokens_out, proposal.usage.cost) == (1_000, 200, "0.0012")


@pytest.mark.parametrize("text", ["refusal", "content", "error"])
def test_a_service_that_echoes_the_key_does_not_spread_it(text: str) -> None:
    """At the place where a text is cut, too."""
    echo = "x" * 290 + KEY
    script = {"refusal": answers(None, refusal=echo), "content": answers(f'{{"{KEY}": {KEY}}}'),
              "error": fails(400, echo)}[text]  # fmt: skip
    proposal, _ = propose(script)

    assert proposal.plan is None
    assert KEY[:8] not in repr(proposal)


def test_without_a_key_nobody_is_asked() -> None:
    """AUTH_FAILED, no call, no cost; a service of one's own may need none."""
    proposal = OpenAIPlanner("model-x").propose(MARCH)

    assert (proposal.code, proposal.model_called, proposal.usage) == ("AUTH_FAILED", False, None)
    assert propose(answers(STRICT), api_key="")[0].plan == flagship()


def test_a_task_without_tools_asks_nobody() -> None:
    """What cannot be asked is not sent."""
    with chat_server(answers(STRICT)) as chat:
        request = PlanRequest(TASK, MARCH.period, REGISTRY.restricted_to([]))
        proposal = planner(chat.url).propose(request)

    assert (proposal.code, proposal.usage, chat.arrived) == ("BAD_CONTRACT", None, [])


def test_the_recipe_names_model_and_templates_and_no_key() -> None:
    """Another model is another recipe; another key is not."""
    one, other = planner("http://127.0.0.1:9"), planner("http://127.0.0.1:9", api_key="sk-another-key-0000000000")

    assert one.recipe == other.recipe
    assert one.recipe != OpenAIPlanner("model-y").recipe
    assert "model-x" in one.recipe


def test_the_key_is_in_no_text_of_the_planner() -> None:
    """And a planner is not pickled: the key would go along."""
    one = planner("http://127.0.0.1:9")

    assert KEY not in f"{one!r}{one!s}{one.recipe}"
    with pytest.raises(TypeError, match="holds a key"):
        pickle.dumps(one)


@pytest.mark.parametrize(
    ("settings", "says_"),
    [
        ({"model": " "}, "name"), ({"model": "m" * 201}, "name"), ({"base_url": "ftp://x"}, "base_url"),
        ({"timeout_s": 0}, "range"), ({"timeout_s": float("nan")}, "range"), ({"max_output_tokens": 0}, "range"),
        ({"price_in": "1"}, "prices is missing"), ({"price_in": "1", "price_out": "x"}, "no amount"),
        ({"price_in": "NaN", "price_out": "1"}, "no amount"), ({"price_in": "-1", "price_out": "1"}, "no amount"),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any], says_: str) -> None:
    """When the planner is made, not when it is asked."""
    with pytest.raises(PlanexecError, match=says_) as refused:
        OpenAIPlanner(**{"model": "model-x", **settings})
    assert refused.value.code == "BAD_CONTRACT"


def test_calls_that_were_given_up_leave_no_thread_waiting() -> None:
    """The connection is closed, and with it ends the call."""
    propose(trickles_its_head, timeout_s=0.5)
    until = time.monotonic() + 5
    while time.monotonic() < until and any(t.name == "planexec-model" for t in threading.enumerate()):
        time.sleep(0.05)

    assert not [t for t in threading.enumerate() if t.name == "planexec-model"]
