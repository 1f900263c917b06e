"""Text from outside, made safe to be shown: bounded, on one line, and without Markdown or links of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from dagster_planexec.journal.encoding import bounded, plain
from dagster_planexec.world.observation import Fact

LONGEST_VALUE = 400
"""Characters of one value in a table or a sentence."""

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#{}$]")
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto)(:)|\b(www)(\.)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def escaped(text: str, limit: int = LONGEST_VALUE) -> str:
    """The text for Markdown: special characters stand for themselves, nothing becomes a link or an image."""
    line = one_line(text, limit)
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", line)
    return _LINK.sub(lambda found: f"{found[1] or found[3]}\\{found[2] or found[4]}", line)


def one_line(text: str, limit: int = LONGEST_VALUE) -> str:
    """The text on one line, without control characters, cut at `limit`."""
    return bounded(_CONTROL.sub(" ", text).strip(), limit)


def shown(value: Fact, limit: int = LONGEST_VALUE) -> str:
    """A fact as one bounded line: text as it is, everything else as JSON."""
    said = plain(value)
    return one_line(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, allow_nan=False), limit)


def table(header: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> str:
    """A Markdown table; keys of `header` select the cells, which must be escaped already."""
    lines = [f"| {' | '.join(header.values())} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row[key] for key in header)} |" for row in rows]
    return "\n".join(lines)
