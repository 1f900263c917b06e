"""One question to a service that speaks OpenAI's chat completions. Whatever comes back is a value, and bounded.

The client's own retries are off: every request that leaves is counted and paid for by the attempt that made it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.door.redact import TAKEN_OUT
from dagster_planexec.journal.told.line import one_line

if TYPE_CHECKING:
    import httpx2
    import openai

MOST_BYTES = 8_000_000
"""Of one response; a plan has a few kB."""
NO_KEY = "none"
"""What is sent to a service that asks for no key: the client insists on one."""
OPENAI = "https://api.openai.com/v1"
"""Said here, so that no variable of the environment sends the key elsewhere."""
_LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which model, where, and for how long.

    Raises:
        PlanexecError: BAD_CONTRACT if a setting cannot be used.
    """

    model: str
    base_url: str | None
    timeout_s: float
    max_output_tokens: int

    def __post_init__(self) -> None:
        model, base_url = self.model, self.base_url
        if not model.strip() or len(model) > 200:  # noqa: PLR2004 - no model has a longer name
            raise cannot_be_set_up(f"the model's name {model[:80]!r} is none", "name the model as its service does")
        if base_url is not None and not base_url.startswith(("https://", "http://")):
            hint = "name the service's address, e.g. .../v1"
            raise cannot_be_set_up("base_url does not start with http:// or https://", hint)
        if not 0 < self.timeout_s <= 3_600 or not 0 < self.max_output_tokens <= 1_000_000:  # noqa: PLR2004 - beyond all use
            hint = "give an hour and a million at most"
            raise cannot_be_set_up("timeout_s or max_output_tokens is out of range", hint)


class Asked(Protocol):
    """What is asked: messages, and the strict schema of the answer."""

    @property
    def name(self) -> str:
        """What the schema is called."""

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """What is sent, in order."""

    @property
    def schema(self) -> dict[str, Any]:
        """What the answer is held to."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    code: str
    message: str
    retry_after_s: float | None = None
    """How long the service asks to wait."""
    is_final: bool = True
    """False if the same request, sent again, may well be answered."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service answered, as JSON."""

    body: Mapping[str, Any]


def ask(endpoint: Endpoint, key: str, prompt: Asked) -> Answer | Failure:
    """Send the prompt once and wait for the answer, for `timeout_s` at most."""
    import openai  # noqa: PLC0415 - 700 ms that only calls pay

    until = time.monotonic() + endpoint.timeout_s
    http = openai.DefaultHttpxClient(
        timeout=endpoint.timeout_s, follow_redirects=False, event_hooks={"response": [_Bounds(until)]}
    )
    client = openai.OpenAI(
        api_key=key or NO_KEY, base_url=endpoint.base_url or OPENAI, timeout=endpoint.timeout_s, max_retries=0,
        http_client=http,
        default_headers={"Accept-Encoding": "identity"},
    )  # fmt: skip
    found: list[Answer | Failure] = []
    call = threading.Thread(
        target=lambda: found.append(_call(client, endpoint, key, prompt)), name="planexec-model", daemon=True
    )
    call.start()
    # A service that sends a byte now and then never passes a timeout between bytes; this one counts from the start.
    call.join(endpoint.timeout_s + 0.5)
    client.close()
    return found[0] if found else _too_late(endpoint)


def _call(client: openai.OpenAI, endpoint: Endpoint, key: str, prompt: Asked) -> Answer | Failure:
    import openai  # noqa: PLC0415 - loaded already

    try:
        raw = client.chat.completions.with_raw_response.create(**_request(endpoint, prompt))
        return _json(raw.text)
    except openai.APITimeoutError:
        return _too_late(endpoint)
    except openai.APIStatusError as error:
        return _refused(error, endpoint, key)
    except _NotReadError as error:
        return Failure("ANSWER_INVALID", f"the answer of the model's service {error.why}")
    except openai.APIConnectionError as error:
        why = type(error.__cause__).__name__ if error.__cause__ else "no connection"
        return Failure("UNAVAILABLE", f"the model's service did not answer: {why}", is_final=False)
    except Exception as error:  # noqa: BLE001 - whatever a client raises, a planner answers; its text may hold anything
        return Failure("INTERNAL", f"asking the model raised {type(error).__name__}")


def _request(endpoint: Endpoint, prompt: Asked) -> dict[str, Any]:
    """Exactly what is sent, beside the key."""
    strict = {"name": prompt.name, "strict": True, "schema": prompt.schema}
    return {
        "model": endpoint.model,
        "messages": [dict(message) for message in prompt.messages],
        "response_format": {"type": "json_schema", "json_schema": strict},
        "max_completion_tokens": endpoint.max_output_tokens,
    }


def _too_late(endpoint: Endpoint) -> Failure:
    return Failure("TIMEOUT", f"the model's service did not answer within {endpoint.timeout_s:g} s")


def _json(text: str) -> Answer | Failure:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return Failure("ANSWER_INVALID", f"the answer of the model's service is no JSON: {_quoted(text, '')}")
    if not isinstance(body, dict):
        return Failure("ANSWER_INVALID", f"the answer of the model's service is a {type(body).__name__}, no object")
    return Answer(body)


def _refused(error: openai.APIStatusError, endpoint: Endpoint, key: str) -> Failure:
    status = error.status_code
    if status == 401:  # noqa: PLR2004 - HTTP's own numbers, here and below
        # What the service says of a key it does not take often holds the key.
        return Failure("AUTH_FAILED", "the model's service does not accept the key (401)")
    said = _said(error, key)
    match status:
        case 403:
            return Failure("FORBIDDEN", f"the key does not permit this (403): {said}")
        case 404:
            return Failure("MODEL_UNKNOWN", f"the service has no model {endpoint.model[:80]!r} (404): {said}")
        case 408:
            return Failure("TIMEOUT", f"the model's service gave up (408): {said}")
        case 429:
            return _throttled(error, said)
        case _ if status >= 500:  # noqa: PLR2004
            text = f"the model's service failed ({status}): {said}"
            return Failure("UNAVAILABLE", text, _retry_after(error.response.headers), is_final=False)
        case _:
            return Failure("REQUEST_REFUSED", f"the model's service does not take the request ({status}): {said}")


def _throttled(error: openai.APIStatusError, said: str) -> Failure:
    after = _retry_after(error.response.headers)
    if getattr(error, "code", None) == "insufficient_quota":
        return Failure("THROTTLED", f"the account has no quota left (429): {said}")
    stated = f"asks to wait {after:g} s" if after is not None else "does not say how long to wait"
    return Failure("THROTTLED", f"the model's service {stated} (429): {said}", after, is_final=False)


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds that the service asks to wait, as a number or a date; None if it says neither."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            at = parsedate_to_datetime(said)
        except ValueError:
            return None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        seconds = (at - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds and abs(seconds) != float("inf") else None  # noqa: PLR0124 - NaN


def _said(error: openai.APIStatusError, key: str) -> str:
    """What the service says of itself, quoted and bounded, without the key."""
    body = error.body
    said = body.get("message") if isinstance(body, dict) else body
    return _quoted(said if isinstance(said, str) else "", key)


def _quoted(text: str, key: str) -> str:
    return repr(without_key(text, key)[:_LONGEST_QUOTE]) if text else "it says nothing"


def without_key(text: str, key: str) -> str:
    """The text of a service that may echo the key; before it is cut, so that no part of the key is left."""
    return text.replace(key, TAKEN_OUT) if key else text


def content_of(body: Mapping[str, Any], key: str) -> str | Failure:
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


def cannot_be_set_up(what: str, hint: str) -> PlanexecError:
    """The error of a setting that cannot be used."""
    return PlanexecError("BAD_CONTRACT", f"what asks the model cannot be set up: {what}", hint=hint)


class _NotReadError(Exception):
    """A response that is not read to its end."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Bounds:
    """Bounds a response before its body is read: its size, its time, and that it is not packed."""

    def __init__(self, until: float) -> None:
        self._until = until

    def __call__(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in {"identity", ""}:
            raise _NotReadError("is packed, though it was asked for as it is")
        response.stream = _bounded(response.stream, self._until)


def _bounded(stream: Any, until: float) -> httpx2.SyncByteStream:  # noqa: ANN401 - httpx's own union
    import httpx2  # noqa: PLC0415 - loaded already

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for chunk in stream:
                read += len(chunk)
                if read > MOST_BYTES:
                    raise _NotReadError(f"has more than {MOST_BYTES:,} bytes")
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout("the answer takes too long")
                yield chunk

        def close(self) -> None:
            stream.close()

    return Bounded()
