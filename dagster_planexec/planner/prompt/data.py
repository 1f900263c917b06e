"""Text from outside as a prompt may hold it: quoted as JSON, bounded, one line a value, inside a fence it cannot close.

Vendors choose keys, column names and error texts. Whatever they wrote stays a JSON string: no line break, control
character, fence or bracket of theirs reaches the prompt as itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from dagster_planexec.journal.door.redact import redacted

LONGEST_LINE = 12_000
"""Characters of one value; a larger one is cut harder until it fits."""
_CUTS = ((1_100, 50), (300, 50), (120, 20), (40, 8), (20, 3))
"""Characters of a text and entries of a list or mapping, from the first that fits."""
_DEEPEST = 8
_MOST = 60
"""Entries of a list or mapping that are looked at."""
_LOOKED_AT = 2_000
"""Characters of a text that are looked at: secrets are taken out of them before the rest is cut."""
_LENGTH = re.compile(r"… \((\d{1,20}) characters\)\Z")
_LONGEST_NAME = 100
_ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("`"): "\\u0060", 0x7F: "\\u007f"}
FENCE = "```"


@dataclass(frozen=True, slots=True)
class Quoted:
    """Text that may stand in a prompt as it is: quoted here, or written by this package."""

    text: str

    def __str__(self) -> str:
        """The text."""
        return self.text


def quoted(value: Any) -> Quoted:  # noqa: ANN401 - facts and JSON
    """A value as one bounded line of JSON, in ASCII, without secrets of this process's environment."""
    plain = redacted(_plain(value, 0))
    for letters, entries in _CUTS:
        line = _json(_cut(plain, letters, entries, 0))
        if len(line) <= LONGEST_LINE:
            return Quoted(line)
    return Quoted(_json({"cut": f"{type(value).__name__} of more than {LONGEST_LINE} characters"}))


def block(values: Iterable[Any], limit: int) -> Quoted:
    """A fenced block with one value a line, of `limit` characters at most; what is left out is said in it."""
    lines: list[str] = []
    room, left_out = limit, 0
    for value in values:
        line = "" if left_out else quoted(value).text
        if left_out or len(line) + 1 > room:
            left_out += 1
        else:
            lines.append(line)
            room -= len(line) + 1
    if left_out:
        lines.append(_json({"cut": f"{left_out} more lines were left out; this block holds {limit} characters"}))
    return Quoted("\n".join((f"{FENCE}json", *(lines or [_json({"nothing": "there is none"})]), FENCE)))


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=True, allow_nan=False).translate(_ESCAPED)


def _plain(value: Any, depth: int) -> Any:  # noqa: ANN401 - facts and JSON
    """The value as JSON, as much of it as could be shown: what somebody else made large costs nothing."""
    if isinstance(value, str):
        return _shortened(value, _LOOKED_AT)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if value.tzinfo else value.isoformat()
    if value is None or isinstance(value, bool | int):
        return value
    if depth > _DEEPEST or not isinstance(value, Mapping | tuple | list | set | frozenset):
        return f"… ({type(value).__name__})"
    if isinstance(value, Mapping):
        kept = {str(name)[:_LOOKED_AT]: _plain(child, depth + 1) for name, child in islice(value.items(), _MOST)}
        return kept if len(value) <= _MOST else {**kept, "…": f"{len(value) - _MOST} more"}
    every = sorted(value) if isinstance(value, set | frozenset) else value
    listed = [_plain(child, depth + 1) for child in every[:_MOST]]
    return listed if len(value) <= _MOST else [*listed, f"… ({len(value) - _MOST} more)"]


def _shortened(text: str, letters: int) -> str:
    """The text's beginning and how long it is; what was shortened before keeps the length it had."""
    if len(text) <= letters:
        return text
    said = _LENGTH.search(text)
    return f"{text[:letters]}… ({said[1] if said else len(text)} characters)"


def _cut(value: Any, letters: int, entries: int, depth: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return _shortened(value, letters)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > letters * 3:
        return f"an integer of {value.bit_length()} bits"
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST and value:
        return f"… ({len(value)} entries)"
    more = len(value) - entries
    if isinstance(value, list):
        kept = [_cut(child, letters, entries, depth + 1) for child in value[:entries]]
        return kept if more <= 0 else [*kept, f"… ({more} more)"]
    named = {
        _shortened(name, min(letters, _LONGEST_NAME)): _cut(child, letters, entries, depth + 1)
        for name, child in islice(value.items(), entries)
    }
    return named if more <= 0 else {**named, "…": f"{more} more"}
