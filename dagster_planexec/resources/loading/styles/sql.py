"""Small pieces of SQL that every expression over cells is made of."""

from __future__ import annotations

from collections.abc import Iterable

BLANKS = " \t"
"""What never counts around a number, a date, or a word that stands for an empty cell."""


def literal(text: str) -> str:
    """A SQL string literal of text that our own code or a checked contract wrote."""
    return "'" + text.replace("'", "''") + "'"


def one_of(words: Iterable[str]) -> str:
    """A SQL list of such literals, to stand behind `in`."""
    return f"({', '.join(literal(word) for word in words)})"


def filled(text: str) -> str:
    """The text of a cell without the blanks around it."""
    return f"trim({text}, '{BLANKS}')"
