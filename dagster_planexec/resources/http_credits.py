"""A credit system behind an HTTP API, as docs/credit-api.md describes it.

Only an answer that says so means that nothing happened. Whatever else comes back, or does not, leaves open whether the
credit was issued, and it is looked up by its key.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from dagster_planexec.errors import PlanexecError, PortError, RefusedError
from dagster_planexec.world.ports import Credit, CreditApi

if TYPE_CHECKING:
    import httpx2

LARGEST = 4 * 1024 * 1024
"""Bytes of one answer; a page of a list is the largest there is."""
MOST_PAGES = 10_000
_SAID = 200
_AMOUNT = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,4})?")
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_NOT_FOUND, _IN_PROGRESS = "not_found", "in_progress"
_NO_MORE = frozenset({400, 404, 405, 410, 413, 415, 422})
"""Answers of a system that read the request and does nothing."""
_UNKNOWN_4XX = frozenset({408, 409, 425})


class HttpCredits(CreditApi):
    """Credits of a remote system.

    Args:
        url: Where its API begins, e.g. `https://credits.example.com/v1`.
        token: Sent as bearer token; None for a system that asks for none.
        name: How the ledger names the system; None for its URL. Give one if the URL may ever change.
        connect_s: Seconds to connect. Nothing was sent if it takes longer.
        answer_s: Seconds to wait for each part of an answer.

    Raises:
        PlanexecError: BAD_CONTRACT if the URL is none, or holds a user or a query.
    """

    def __init__(
        self, url: str, token: str | None = None, *, name: str | None = None, connect_s: float = 5.0,
        answer_s: float = 30.0,
    ) -> None:  # fmt: skip
        if _ADDRESS.fullmatch(url) is None:
            raise PlanexecError(
                "BAD_CONTRACT", "the credit API's url is not http(s)://host/path without user, query and fragment",
                hint="give the token apart from it",
            )  # fmt: skip
        self._url = url.rstrip("/")
        self._token = token
        self._name = name
        self._connect_s, self._answer_s = connect_s, answer_s
        self._client: httpx2.Client | None = None

    def __repr__(self) -> str:
        """Its address; the token is not shown."""
        return f"HttpCredits({self._url!r})"

    @property
    def target(self) -> str:
        """Its name, or its URL."""
        return self._name or self._url

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        """Every page of the list.

        Raises:
            PortError: If the list could not be had whole.
        """
        found: dict[tuple[str, int], Credit] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            named = {"scope": scope, "period": period} | ({"cursor": cursor} if cursor else {})
            status, said, after_s = self._ask("GET", "/credits", params=named)
            if status != 200 or not isinstance(said.get("credits"), list):  # noqa: PLR2004 - as HTTP has it
                raise self._trouble("the list of credits", status, said, after_s)
            for one in said["credits"]:
                credit = self._credit(one)
                if (credit.scope, credit.period) != (scope, period):
                    raise PortError("INTERNAL", f"{self.target} listed a credit of another scope or period")
                if found.get((credit.key, credit.ordinal), credit) != credit:
                    raise PortError("INTERNAL", f"{self.target} lists line {credit.key[:80]!r} with two amounts")
                if not _is_pending(one):
                    found[credit.key, credit.ordinal] = credit
            again, cursor = cursor, said.get("next")
            if not cursor:
                return sorted(found.values(), key=lambda credit: (credit.key, credit.ordinal))
            if not isinstance(cursor, str) or cursor == again:
                raise PortError("INTERNAL", f"{self.target} listed credits with a cursor that leads nowhere")
        raise PortError("INTERNAL", f"{self.target} listed more than {MOST_PAGES:,} pages of credits")

    def find(self, credit: Credit) -> Credit | None:
        """Ask for one key. Only a 404 that says `not_found` means that it is not there: others have other reasons.

        Raises:
            PortError: It could not say, or is still at it.
        """
        status, said, after_s = self._ask("GET", f"/credits/{credit.idempotency_key}")
        if status == 404 and said.get("error") == _NOT_FOUND:  # noqa: PLR2004 - as HTTP has it
            return None
        if status != 200:  # noqa: PLR2004 - as HTTP has it
            raise self._trouble(f"line {credit.key[:80]!r}", status, said, after_s)
        if _is_pending(said):
            raise PortError("UNAVAILABLE", f"{self.target} is still at work on line {credit.key[:80]!r}")
        held = self._credit(said)
        if (held.scope, held.period, held.key, held.ordinal) != _place(credit):
            raise PortError("INTERNAL", f"{self.target} answered for another credit than line {credit.key[:80]!r}")
        return held

    def issue(self, credit: Credit) -> None:
        """Send one credit under its idempotency key. Raises as `CreditApi.issue`."""
        body = {"scope": credit.scope, "period": credit.period, "line_key": credit.key, "ordinal": credit.ordinal,
                "amount": f"{credit.amount:f}", "currency": credit.currency}  # fmt: skip
        headers = {"Idempotency-Key": credit.idempotency_key}
        status, said, after_s = self._ask("POST", "/credits", json=body, headers=headers)
        what = f"line {credit.key[:80]!r}"
        if status in {200, 201} and not _is_pending(said):
            held = self._credit(said)
            if (held.amount, held.currency) != (credit.amount, credit.currency) or _place(held) != _place(credit):
                raise PortError("EFFECT_UNKNOWN", f"{self.target} answered with another credit than {what}")
            return
        raise self._trouble(what, status, said, after_s)

    def _trouble(self, what: str, status: int, said: Mapping[str, Any], after_s: float | None) -> PortError:
        """What an answer means that is not the one that was asked for."""
        words = f"{self.target} answered {status} for {what}: {self._text(said.get('message') or said.get('error'))}"
        if status == 409 and said.get("error") != _IN_PROGRESS:  # noqa: PLR2004 - as HTTP has it
            return RefusedError("EFFECT_DIFFERS", f"{words}; it holds {self._text(said.get('amount'))} under this key")
        if status == 401:  # noqa: PLR2004 - as above
            return RefusedError("AUTH_FAILED", words, hint="check the token in the environment of the worker")
        if status == 403:  # noqa: PLR2004 - as above
            return RefusedError("FORBIDDEN", words)
        if status == 429:  # noqa: PLR2004 - as above
            return RefusedError("THROTTLED", words, retry_after_s=after_s)
        if status in _NO_MORE:
            return RefusedError("VALIDATION_ERROR", words, hint="compare what is sent with docs/credit-api.md")
        return PortError("UNAVAILABLE", words, retry_after_s=after_s)

    def _text(self, said: object) -> str:
        """Its words, bounded and quoted, and without the token if it says that back."""
        text = str(said)
        return repr((text.replace(self._token, "***") if self._token else text)[:_SAID])

    def _credit(self, said: object) -> Credit:
        """A credit as the API writes it."""
        try:
            assert isinstance(said, Mapping)  # noqa: S101 - caught below
            ordinal, amount = said["ordinal"], said["amount"]
            texts = [said[name] for name in ("scope", "period", "line_key", "currency")]
            assert isinstance(amount, str) and _AMOUNT.fullmatch(amount)  # noqa: S101, PT018 - caught below
            assert isinstance(ordinal, int) and all(isinstance(text, str) for text in texts)  # noqa: S101, PT018 - as above
            scope, period, key, currency = texts
            return Credit(scope, period, key, ordinal, Decimal(amount), currency)
        except (AssertionError, KeyError, InvalidOperation) as error:
            raise PortError(
                "INTERNAL", f"{self.target} wrote a credit that cannot be read: {self._text(said)}"
            ) from error

    def _ask(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any], float | None]:  # noqa: ANN401
        """Status, the JSON object of the answer (empty if it is none), and the seconds it asks to wait."""
        import httpx2  # noqa: PLC0415 - 100 ms that only tasks with such a system pay

        with self._in_words(method), self._http().stream(method, self._url + path, **more) as answer:
            body = b""
            for part in answer.iter_raw():
                body += part
                if len(body) > LARGEST:
                    raise PortError("INTERNAL", f"{self.target} answered with more than {LARGEST:,} bytes")
            try:
                said = json.loads(body)
            except ValueError:
                said = {"message": body[:_SAID].decode("utf-8", "replace")}
            after = answer.headers.get("retry-after", "")
            assert isinstance(answer, httpx2.Response)  # noqa: S101 - what a client answers with
            return (
                answer.status_code,
                said if isinstance(said, dict) else {},
                float(after) if after.isascii() and after.isdigit() else None,
            )

    @contextmanager
    def _in_words(self, method: str) -> Iterator[None]:
        """What a broken exchange means. Before a connection stood, nothing was sent."""
        import httpx2  # noqa: PLC0415 - as above

        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
            text = f"{self.target} cannot be reached: {type(error).__name__}"
            raise RefusedError("UNAVAILABLE", f"{text}; nothing was sent") from error
        except httpx2.TimeoutException as error:
            text = f"{self.target} did not answer {method} within {self._answer_s:g} s"
            raise PortError("TIMEOUT", text) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise PortError("UNAVAILABLE", f"{self.target} broke off {method}: {type(error).__name__}") from error

    def _http(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415 - as above

        if self._client is None:
            headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
            if self._token is not None:
                headers["Authorization"] = f"Bearer {self._token}"
            times = httpx2.Timeout(self._answer_s, connect=self._connect_s, pool=self._connect_s)
            # A redirect would carry token and credit to another place; proxies come from nobody's environment.
            self._client = httpx2.Client(headers=headers, timeout=times, follow_redirects=False, trust_env=False)
            weakref.finalize(self, self._client.close)  # ports are dropped, never closed
        return self._client


class HttpCreditsResource(dg.ConfigurableResource[None]):
    """A credit API over HTTP, as docs/credit-api.md describes it."""

    url: str = Field(description="Where the API begins; give an EnvVar.")
    token: str | None = Field(default=None, description="The bearer token; give an EnvVar, never the token itself.")
    name: str | None = Field(default=None, description="How the ledger names the system, if its URL may ever change.")
    connect_s: float = Field(default=5.0, gt=0, description="Seconds to connect.")
    answer_s: float = Field(default=30.0, gt=0, description="Seconds to wait for each part of an answer.")

    def port(self) -> CreditApi:
        """The credit port on that API."""
        return HttpCredits(self.url, self.token, name=self.name, connect_s=self.connect_s, answer_s=self.answer_s)


def _place(credit: Credit) -> tuple[str, str, str, int]:
    return credit.scope, credit.period, credit.key, credit.ordinal


def _is_pending(said: Mapping[str, Any]) -> bool:
    return said.get("state") == "pending"
