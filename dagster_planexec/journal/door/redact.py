"""What may be a secret, taken out of what is remembered."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

TAKEN_OUT = "(redacted)"
SHORTEST_SECRET = 7
"""Characters: a shorter value of the environment may be a word like any other."""

_SECRET_NAME = re.compile(
    r"(?ai)passw|passphrase|secret|token|(?:api|access|approval|signing|encryption|private)_?key"
    r"|authori[sz]ation|credential"
)
_IN_URL = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_KEY_SHAPED = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # AWS
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"  # OpenAI, and others like it
    r"|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|\bAIza[A-Za-z0-9_-]{30,}"  # Google
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # a signed token
    r"|(?ai:\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)

# Whatever the patterns above find in a text, these find in the text's JSON: there, words have no boundaries to rely on.
# Plain words come first, as looking for them takes no time; a pattern is tried where its word is.
_WORDS = ("passw", "passphrase", "secret", "token", "api_key", "apikey", "access_key", "accesskey", "approval_key",
          "approvalkey", "signing_key", "signingkey", "encryption_key", "encryptionkey", "authoriz", "authoris",
          "credential", "private_key", "privatekey", "bearer", "private key-----")  # fmt: skip
_BEGINNINGS = {
    "://": re.compile(r"://[^/\s:@]*:[^/\s@]+@"),
    "k-": re.compile(r"[spr]k-[A-Za-z0-9_-]{16}"),
    "IA": re.compile(r"A[KS]IA[A-Z0-9]{16}"),
    "gh": re.compile(r"gh[opsur]_[A-Za-z0-9]{20}"),
    "github_pat_": re.compile(r"github_pat_[A-Za-z0-9_]{20}"),
    "xox": re.compile(r"xox[abeprs]-"),
    "AIza": re.compile(r"AIza[A-Za-z0-9_-]{30}"),
    "eyJ": re.compile(r"eyJ[A-Za-z0-9_-]{8,}\."),
}


def is_suspicious(text: str) -> bool:
    """Whether the JSON text of a value may hold anything that `redacted` takes out of it; False is certain."""
    lower = text.lower()
    if any(word in lower for word in _WORDS):
        return True
    if any(word in text and pattern.search(text) for word, pattern in _BEGINNINGS.items()):
        return True
    return any(secret in text or json.dumps(secret)[1:-1] in text for secret in _secrets())


def redacted(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The JSON value without what is or looks like a secret.

    Taken out are texts under names of secrets, credentials in URLs, texts that have the shape of a key, and secrets of
    this process's environment, wherever they stand: values of variables that are named like secrets, and the passwords
    in the values of all others.
    """
    return _taken_out(value, _secrets())


def said(text: str) -> str:
    """A text that is about to be shown somewhere, without what `redacted` takes out of it."""
    return _from_text(text, _secrets())


def without_own_secrets(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The JSON value without secrets of this process's environment; what only looks like one stays.

    For what is built upon later: a name that has the shape of a key is a name, and must stay what it was.
    """
    return _exactly_out(value, _secrets())


def own_secret_in(text: str) -> str | None:
    """The environment variable whose secret stands in a text or in JSON, if one does. Never the secret."""
    for name, secret in _named_secrets(tuple(os.environ.items())):
        if secret in text or json.dumps(secret)[1:-1] in text:
            return name
    return None


def _exactly_out(value: Any, secrets: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, TAKEN_OUT)
        return value
    if isinstance(value, Mapping):
        return {_exactly_out(str(name), secrets): _exactly_out(child, secrets) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [_exactly_out(child, secrets) for child in value]
    return value


def _taken_out(value: Any, secrets: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return _from_text(value, secrets)
    if isinstance(value, Mapping):
        return {
            _from_text(str(name), secrets): (
                TAKEN_OUT if isinstance(child, str) and child and _SECRET_NAME.search(str(name))
                else _taken_out(child, secrets)
            )
            for name, child in value.items()
        }  # fmt: skip
    if isinstance(value, list | tuple):
        return [_taken_out(child, secrets) for child in value]
    return value


def _from_text(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, TAKEN_OUT)
    return _KEY_SHAPED.sub(TAKEN_OUT, _IN_URL.sub(TAKEN_OUT, text))


def _secrets() -> tuple[str, ...]:
    return tuple(secret for _, secret in _named_secrets(tuple(os.environ.items())))


@lru_cache(maxsize=4)  # asked for every text that is shown; the environment hardly ever changes
def _named_secrets(environment: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """(variable, secret), the longest first, each in the forms in which it may come back from elsewhere."""
    found: dict[str, str] = {}
    for name, value in environment:
        if _SECRET_NAME.search(name):
            found |= dict.fromkeys((value, value.strip(), quote(value, safe="")), name)
        elif "://" in value:
            for password in _PASSWORD_IN_URL.findall(value):
                found |= dict.fromkeys((password, unquote(password)), name)
    kept = [(name, secret) for secret, name in found.items() if len(secret) >= SHORTEST_SECRET]
    return tuple(sorted(kept, key=lambda one: len(one[1]), reverse=True))
