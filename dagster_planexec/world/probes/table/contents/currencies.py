"""A probe of the currencies in a table: which words there are, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.ingest import REJECTS
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import seen_of_table
from dagster_planexec.world.sides.relation import count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

_NAMED, _SHOWN = 5, 40


@dataclass(frozen=True, slots=True)
class CurrenciesOfTable(Probe):
    """Which currencies are the rows of, and are their amounts as fine as the currency?

    Args:
        table: `schema.table`.
        column: The column that says a row's currency.
        amount: The column of money.
        declared: The currencies there may be, each with its minor units; None: as many as the column's scale.
        rejects: Whether what the load of the table refused is counted beside it.
    """

    table: str
    column: str
    amount: str
    declared: tuple[tuple[str, int | None], ...]
    rejects: bool = False

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """Rows and sums by word."""
        return f"SQL count(*) and sum({self.amount}) by {self.column}"

    def observe(self, ports: Ports) -> Observation:
        """Group by word, and judge each against what is declared.

        Facts: `rows`; `sums` by declared currency; `others`, rows of none of them, and `named`, some of those words
        with rows and worth; `too_fine`, rows by currency whose amount has more decimals than its minor units;
        `refused`, the rows in the rejects table.
        """
        return seen_of_table(self, ports, self.table, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        word, amount = f"cast({session.quote(self.column)} as varchar)", session.quote(self.amount)
        codes = tuple(code for code, _ in self.declared)
        known = f"word in ({', '.join('?' for _ in codes)})"
        fine = " or ".join(
            f"(word = ? and amount <> round(amount, {units}))" for _, units in self.declared if units is not None
        )
        of_units = tuple(code for code, units in self.declared if units is not None)
        found = session.rows(
            f"with words as (select {word} as word, {amount} as amount from {session.quote(self.table)}), "
            f"groups as (select word, {known} as known, count(*) as n, sum(amount) as worth, "
            f"count(*) filter ({fine or 'false'}) as fine from words group by word) "
            "select word, n, worth, fine, coalesce(known, false) as known, sum(n) over () as total, "
            "sum(n) filter (not coalesce(known, false)) over () as strange from groups "
            f"order by known desc, n desc, word limit {len(codes) + _NAMED}",
            (*codes, *of_units),
        )
        mine = [row for row in found if row[4]]
        strange = [row for row in found if not row[4]][:_NAMED]
        what = f"{self.table}.{self.amount}"
        return {
            "rows": count_of(found[0][5]) if found else 0,
            "sums": {str(row[0]): exact_sum(row[2], what) for row in mine},
            "others": count_of(found[0][6] or 0) if found else 0,
            "named": tuple(
                f"{'no currency' if row[0] is None else repr(str(row[0])[:_SHOWN])} in {row[1]} rows worth "
                f"{exact_sum(row[2], what)}"
                for row in strange
            ),
            "refused": self._refused(session),
            "too_fine": {str(row[0]): count_of(row[3]) for row in mine if row[3]},
        }

    def _refused(self, session: Session) -> int:
        if not self.rejects:
            return 0
        kept = session.quote(self.table + REJECTS)
        return count_of(session.rows(f"select count(*) from (select distinct source, line from {kept})")[0][0])
