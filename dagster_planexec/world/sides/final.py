"""When a line of a bill is final: conditions on its cells, in SQL on a table and in words on a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dagster_planexec.world.ports import SqlValue


@dataclass(frozen=True, slots=True)
class FinalWhen:
    """One condition on one column. A cell is compared as trimmed text; an empty one and one that is null are alike."""

    column: str
    headers: tuple[str, ...]
    """What the file may call it, made alike already."""
    filled: bool = False
    one_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    """Words of the file that stand for an empty cell."""

    def holds(self, cell: str) -> bool:
        """Of a file's cell."""
        text = cell.strip()
        text = "" if text in self.nulls else text
        return not ((self.filled and not text) or (self.one_of and text not in self.one_of) or text in self.none_of)

    def broken(self, quote: Callable[[str], str]) -> tuple[str, list[SqlValue]]:
        """SQL that is true of a row of which it does not hold, and what is bound to it."""
        text = f"trim(coalesce(cast({quote(self.column)} as varchar), ''))"
        parts, bound = [], list[SqlValue]()
        if self.filled:
            parts.append(f"{text} = ''")
        for words, test in ((self.one_of, "not in"), (self.none_of, "in")):
            if words:
                parts.append(f"{text} {test} ({', '.join('?' for _ in words)})")
                bound.extend(words)
        return f"({' or '.join(parts)})", bound
