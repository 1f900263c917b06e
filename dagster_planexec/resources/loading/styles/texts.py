"""Text rules and closed sets of values, as DuckDB expressions over the text of a cell."""

from __future__ import annotations

from dagster_planexec.resources.loading.styles.sql import literal, one_of
from dagster_planexec.world.ingest import TextColumn, TextRule

_BLANK = " \t\r\n\v\f\u00a0\u202f"
"""What text rules take for blanks: also what line ends and typesetters leave."""


def normalised(column: TextColumn, text: str) -> str:
    """The text after every rule of its column, in order. Nothing left is an empty cell."""
    if not column.normalise:
        return text
    for rule in column.normalise:
        text = _after(rule, text)
    return f"nullif({text}, '')"


def unknown(column: TextColumn, value: str) -> str | None:
    """The condition that a value is none of those there are; None if any will do. An empty cell is not judged."""
    wrong = []
    if column.values:
        wrong.append(f"{value} not in {one_of(column.values)}")
    if column.length is not None:
        wrong.append(f"length({value}) <> {column.length}")
    return f"({' or '.join(wrong)})" if wrong else None


def _after(rule: TextRule, text: str) -> str:
    blanks = literal(f"[{_BLANK}]+")
    match rule:
        case "trim":
            return f"trim({text}, {literal(_BLANK)})"
        case "upper" | "lower":
            return f"{rule}({text})"
        case "collapse_spaces":
            return f"regexp_replace({text}, {blanks}, ' ', 'g')"
        case "remove_spaces":
            return f"regexp_replace({text}, {blanks}, '', 'g')"
        case "strip_leading_zeros":  # one is left: 000 is a number too
            return f"regexp_replace({text}, '^0+(.)', '\\1', 's')"
