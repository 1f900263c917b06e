"""Text and facts on one bounded line: what people read has no line breaks, no control characters and no end of its own.

Nothing here is for a particular medium; Markdown has its own escapes, see `compiler.markup`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dagster_planexec.contract.verdict import Side
from dagster_planexec.journal.door.redact import said
from dagster_planexec.journal.encoding import bounded, plain
from dagster_planexec.world.observation import Fact

LONGEST_VALUE = 400
"""Characters of one value in a table or a sentence."""

# Also the marks that turn the direction of text around: they can make one word look like another.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]+")
_LONGEST_SECRET = 4_096
"""Characters of a secret that are recognised where a text is cut."""
_NO_NUMBER = "no number"
_HEAD = 1_000
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,}\b")
_LOOKED_AT = 4
"""Characters of a text that are looked at for each that is kept, so that a megabyte costs nothing."""


def one_line(text: str, limit: int = LONGEST_VALUE) -> str:
    """The text on one line, without control characters, cut at `limit`."""
    return bounded(_CONTROL.sub(" ", said(text)).strip(), limit)


def shortened(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters: the middle goes, as names differ at their ends."""
    kept = limit * _LOOKED_AT
    line = _tidy(text if len(text) <= 2 * kept else f"{_head(text, kept)} {text[-kept:]}")
    tail = limit // 3
    return line if len(line) <= limit else f"{line[: limit - tail - 1].rstrip()}…{line[-tail:].lstrip()}"


def cut(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters: the end goes, as sentences are read from their start."""
    line = _tidy(_head(text, limit * _LOOKED_AT))
    return line if len(line) <= limit and len(text) <= limit * _LOOKED_AT else f"{line[: limit - 1].rstrip()}…"


def _head(text: str, kept: int) -> str:
    """The beginning of a text. Secrets are taken out before it is cut: half of one is nobody's to see either."""
    return said(text[: kept + _LONGEST_SECRET])[:kept]


def _tidy(text: str) -> str:
    """One line with single spaces. Of a digest, twelve digits tell two of them apart."""
    return _DIGEST.sub(r"\1…", " ".join(_CONTROL.sub(" ", said(text)).split()))


def words(value: Fact) -> str:
    """A fact as people read it: text as it is, everything else as JSON. What is no number is said to be none."""
    finite = _finite(plain(value))
    return (
        finite if isinstance(finite, str) else json.dumps(finite, ensure_ascii=False, allow_nan=False, sort_keys=True)
    )


def shown(value: Fact, limit: int = LONGEST_VALUE) -> str:
    """A fact as one bounded line."""
    return one_line(words(value), limit)


def shown_side(side: Side) -> str:
    """One side of a verdict as one bounded line: `61400 (warehouse:staging.x read by SQL count(*) at ...)`."""
    return f"{shown(side.value)} ({one_line(str(side.source))})"


def _finite(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The value without floats: no fact is one, but what is shown must hold whatever somebody wrote."""
    if isinstance(value, float):
        return format(Decimal(f"{value:.12g}"), "f") if math.isfinite(value) else _NO_NUMBER
    if isinstance(value, str):
        # The journal keeps the beginning of a long text; what is said must be the same before it and after.
        head = value if len(value) <= _HEAD else f"{value[:_HEAD]}…"
        return _NO_NUMBER if head.lower().lstrip("+-") in {"nan", "snan", "inf", "infinity"} else head
    if isinstance(value, Mapping):
        return {str(key): _finite(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_finite(child) for child in value]
    return value
