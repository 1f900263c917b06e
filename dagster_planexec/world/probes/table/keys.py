"""A probe of the keys in a table: which rows have none, and which share one. Keys are compared as trimmed text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session, SqlValue
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import seen_of_table
from dagster_planexec.world.sides.relation import count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

_EXAMPLES = 3
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class KeysOfTable(Probe):
    """Does every row have a key, and every key one row?

    Args:
        table: `schema.table`.
        key: The columns that together identify a row.
        amount: The column that says what a faulty row is worth; None if there is none.
    """

    table: str
    key: tuple[str, ...]
    amount: str | None = None

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """Groups of trimmed keys."""
        return f"SQL group by {', '.join(self.key)}"

    def observe(self, ports: Ports) -> Observation:
        """Count hashes; group once, if they leave anything open.

        Facts: `rows`; `null_rows`, `null_amount` (some column of the key null or blank); `duplicate_keys`,
        `duplicate_rows`, `duplicate_amount` (of all rows that share a key); `examples`, a few keys that repeat.
        """
        return seen_of_table(self, ports, self.table, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        rows = self._rows_if_plainly_unique(session)
        return self._grouped(session) if rows is None else self._facts((rows, None, None, 0, None, None), [])

    def _rows_if_plainly_unique(self, session: Session) -> int | None:
        """The number of rows, if each has a key of its own and no key has anything to trim. Else None.

        Almost every table is like that, and this costs half of what groups of trimmed text cost. Nothing is taken on
        trust: `trim` can only take a space from text of nothing but ASCII, and keys of different hashes differ.
        """
        names = [f"k{index}" for index in range(len(self.key))]
        texts = ", ".join(
            f"cast({session.quote(column)} as varchar) as {name}" for column, name in zip(self.key, names, strict=True)
        )
        odd = " or ".join(
            f"{name} is null or {name} = '' or prefix({name}, ' ') or suffix({name}, ' ') "
            f"or strlen({name}) <> length({name})"
            for name in names
        )
        # Groups, and no `count(distinct ...)`: under a small memory cap DuckDB puts the one on the disk, not the other.
        hashes, rows, odd_rows = session.rows(
            "select count(*), sum(n), sum(odd) from (select h, count(*) as n, count(*) filter (odd) as odd from "
            f"(select hash({', '.join(names)}) as h, {odd} as odd from (select {texts} from "
            f"{session.quote(self.table)})) group by h)"
        )[0]
        return _count(rows) if hashes == _count(rows) and not odd_rows else None

    def _grouped(self, session: Session) -> dict[str, Fact]:
        names = [f"k{index}" for index in range(len(self.key))]
        trimmed = ", ".join(
            f"trim(cast({session.quote(column)} as varchar)) as {name}"
            for column, name in zip(self.key, names, strict=True)
        )
        amount = "0" if self.amount is None else session.quote(self.amount)
        blank = " or ".join(f"{name} is null or {name} = ''" for name in names)
        groups = (
            f"select {', '.join(names)}, count(*) as n, sum(amount) as worth, ({blank}) as blank "
            f"from (select {trimmed}, {amount} as amount from {session.quote(self.table)}) group by {', '.join(names)}"
        )
        twice = "not blank and n > 1"
        row = session.rows(
            f"select sum(n), sum(n) filter (blank), sum(worth) filter (blank), count(*) filter ({twice}), "
            f"sum(n) filter ({twice}), sum(worth) filter ({twice}) from ({groups})"
        )[0]
        examples: list[tuple[SqlValue, ...]] = []
        if row[3]:
            examples = session.rows(
                f"select {', '.join(names)} from ({groups}) where {twice} "
                f"order by n desc, {', '.join(names)} limit {_EXAMPLES}"
            )
        return self._facts(row, examples)

    def _facts(self, row: Sequence[SqlValue], examples: Sequence[Sequence[SqlValue]]) -> dict[str, Fact]:
        rows, null_rows, null_amount, keys, key_rows, key_amount = row
        return {
            "rows": _count(rows),
            "null_rows": _count(null_rows),
            "null_amount": self._worth(null_amount),
            "duplicate_keys": _count(keys),
            "duplicate_rows": _count(key_rows),
            "duplicate_amount": self._worth(key_amount),
            "examples": tuple(", ".join(repr(str(part)[:_SHOWN]) for part in key) for key in examples),
        }

    def _worth(self, value: SqlValue) -> Decimal | None:
        return None if self.amount is None else exact_sum(value, f"{self.table}.{self.amount}")


def _count(value: SqlValue) -> int:
    return 0 if value is None else count_of(value)
