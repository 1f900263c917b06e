"""Text rules, in Python: what a cell of text is after them, for whoever counts beside the loader."""

from __future__ import annotations

from dagster_planexec.world.ingest import TextColumn, TextRule

_BLANK = frozenset(" \t\r\n\v\f\u00a0\u202f")
"""What text rules take for blanks."""


class Texts:
    """Reads the cells of one column of text."""

    def __init__(self, column: TextColumn) -> None:
        self._rules, self._nulls = column.normalise, frozenset(column.nulls)

    def read(self, cell: str) -> str | None:
        """The text after every rule, in order; None for an empty cell."""
        if not cell or cell.strip(" \t") in self._nulls:
            return None
        text = cell
        for rule in self._rules:
            text = _after(rule, text)
        return text or None


def _after(rule: TextRule, text: str) -> str:
    match rule:
        case "trim":
            return text.strip("".join(_BLANK))
        case "upper":
            return "".join(_upper(one) for one in text)
        case "lower":
            return "".join(one.lower()[0] for one in text)
        case "collapse_spaces":
            kept: list[str] = []
            for one in text:
                if one not in _BLANK:
                    kept.append(one)
                elif not kept or kept[-1] != " ":
                    kept.append(" ")
            return "".join(kept)
        case "remove_spaces":
            return "".join(one for one in text if one not in _BLANK)
        case "strip_leading_zeros":
            return text.lstrip("0") or text[-1:]


def _upper(one: str) -> str:
    """One character stays one: databases know no other way."""
    if one == "\u00df":
        return "\u1e9e"
    large = one.upper()
    return large if len(large) == 1 else one.title() if len(one.title()) == 1 else one
