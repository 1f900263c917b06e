"""When a line of a bill is final: conditions on its cells, in SQL on a table and in words on a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dagster_planexec.world.delivery.text.texts import Texts
from dagster_planexec.world.ingest import TextColumn
from dagster_planexec.world.ports import SqlValue
from dagster_planexec.world.sides.comparison.shape import BLANKS
from dagster_planexec.world.sides.relation import blanks_in_sql


@dataclass(frozen=True, slots=True)
class FinalWhen:
    """One condition on one column. A cell is compared as trimmed text; an empty one and one that is null are alike."""

    column: TextColumn
    headers: tuple[str, ...]
    """What the file may call it, made alike already."""
    filled: bool = False
    one_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    def of_cells(self) -> Callable[[str], bool]:
        """What says of a file's cell whether it holds; the cell's text is made as the table's is."""
        texts = Texts(self.column)

        def holds(cell: str) -> bool:
            text = (texts.read(cell) or "").strip(BLANKS)
            return not ((self.filled and not text) or (self.one_of and text not in self.one_of) or text in self.none_of)

        return holds

    def broken(self, quote: Callable[[str], str]) -> tuple[str, list[SqlValue]]:
        """SQL that is true of a row of which it does not hold, and what is bound to it."""
        text = f"trim(coalesce(cast({quote(self.column.name)} as varchar), ''), {blanks_in_sql()})"
        parts, bound = [], list[SqlValue]()
        if self.filled:
            parts.append(f"{text} = ''")
        for words, test in ((self.one_of, "not in"), (self.none_of, "in")):
            if words:
                parts.append(f"{text} {test} ({', '.join('?' for _ in words)})")
                bound.extend(words)
        return f"({' or '.join(parts)})", bound
