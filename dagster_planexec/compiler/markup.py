"""Text from outside, made safe to be shown as Markdown: bounded, on one line, no markup or links of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dagster_planexec.journal.told.line import LONGEST_VALUE, one_line

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#{}$]|(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])")  # inside a word, `_` is itself
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto)(:)|\b(www)(\.)")


def escaped(text: str, limit: int = LONGEST_VALUE) -> str:
    """The text for Markdown: special characters stand for themselves, nothing becomes a link or an image."""
    line = one_line(text, limit)
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", line)
    return _LINK.sub(lambda found: f"{found[1] or found[3]}\\{found[2] or found[4]}", line)


def table(header: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> str:
    """A Markdown table; keys of `header` select the cells, which must be escaped already."""
    lines = [f"| {' | '.join(header.values())} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row[key] for key in header)} |" for row in rows]
    return "\n".join(lines)
