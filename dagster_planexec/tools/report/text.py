"""Text from outside, made visible, bounded and inert before it stands in a report."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

MOST_CHARACTERS = 80
_INERT_IN_MARKDOWN = re.compile(
    r"[A-Za-z0-9 ,/()'%;+=.-]"  # no markup by themselves inside a table cell or a sentence
    r"|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])"  # within a word an underscore does not emphasise
    r"|[^\x00-\x7f]"
)


class Ready(str):
    """Text that was written by this program, and needs no escaping."""

    __slots__ = ()


def visible(text: str, *, most: int = MOST_CHARACTERS) -> str:
    r"""The text with everything that does not print as itself written out, and cut at `most` characters.

    Line breaks, tabs, control characters and the marks that turn the reading direction around become `\n`, `\u202e`.
    """
    cut = text[:most]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return shown + "…" if len(text) > most else shown


def inert_in_markdown(text: str) -> str:
    """The text as Markdown shows it literally: what could be markup is a character reference, which never is."""
    out, at = [], 0
    shown = visible(text)
    for at, character in enumerate(shown):
        out.append(character if _INERT_IN_MARKDOWN.match(shown, at) else f"&#{ord(character)};")
    # GitHub turns a bare `www.` into a link; a referenced dot does not begin one.
    return re.sub(r"(?i)(www)\.", r"\1&#46;", "".join(out))


def count(number: int) -> Ready:
    """`61,400`."""
    return Ready(f"{number:,}")


def money(amount: Decimal | None) -> Ready:
    """`1,234.50`; nothing where a side has no amount."""
    return Ready("" if amount is None else f"{amount:,f}")


def utc(instant: datetime) -> Ready:
    """`2026-04-07 09:15 UTC`."""
    return Ready(f"{instant:%Y-%m-%d %H:%M} UTC")
