"""Probes of what a load refused, as the rejects table beside its target has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import REJECTS
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session, SqlValue
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.counting.amounts import EXACT
from dagster_planexec.world.probes.table.tables import LOOK_S, seen_of_table
from dagster_planexec.world.sides.relation import by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class RejectsOfTable(Probe):
    """Which rows did the load of this table refuse, and why?

    Args:
        table: `schema.table`, the target of the load.
        sources: Names of the files, in the order in which they were loaded.
        allowed: Codes that need not be named.
    """

    table: str
    sources: tuple[str, ...]
    allowed: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The rejects table."""
        return table(self.table + REJECTS)

    @property
    def reader(self) -> str:
        """Rows by reason."""
        return "SQL count(*) by reason"

    def observe(self, ports: Ports) -> Observation:
        """Count rows, not cells: a row with two faults is one.

        Facts: `rows` refused, `by_code`, `others` (rows with a code that is not allowed), and of the first reject, of
        those others if there are any: `first` in words, and `first_code`.
        """
        return seen_of_table(self, ports, self.table + REJECTS, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        kept = session.quote(self.table + REJECTS)
        rows = session.rows(f"select count(*) from (select distinct source, line from {kept})")[0][0]
        by_code = session.rows(
            f"select reason, count(*) from (select distinct source, line, reason from {kept}) "
            "group by reason order by reason"
        )
        other = f"reason not in ({', '.join('?' for _ in self.allowed)})" if self.allowed else "true"
        others = session.rows(
            f"select count(*) from (select distinct source, line from {kept} where {other})", self.allowed
        )[0][0]
        order = " ".join(f"when ? then {number}" for number in range(len(self.sources)))
        found = session.rows(
            f'select source, line, "column", value, reason from {kept} '
            f"order by case when {other} then 0 else 1 end, case source {order} end, line limit 1",
            (*self.allowed, *self.sources),
        )
        first = found[0] if found else None
        return {
            "rows": count_of(rows),
            "by_code": {str(reason): count_of(count) for reason, count in by_code},
            "others": count_of(others),
            "first": "" if first is None else _in_words(first),
            "first_code": "" if first is None else str(first[4]),
        }


@dataclass(frozen=True, slots=True)
class LoadedAndRefused(Probe):
    """What did a load put into its table, and what is beside it?

    Args:
        table: `schema.table`, the target of the load.
        amount: Its column of money.
    """

    table: str
    amount: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table(self.table)

    @property
    def reader(self) -> str:
        """Counts and sums of both tables."""
        return f"SQL count(*) and sum({self.amount}), with the rejects"

    def observe(self, ports: Ports) -> Observation:
        """Count and add up.

        Facts: `rows`, `sum`; `refused`, `refused_sum` (of the rows whose amount can be read); `both_sums`; and
        `no_amount`, the rows of both that have none.
        """
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                with by_contract(self.table):
                    amount, kept = session.quote(self.amount), session.quote(self.table + REJECTS)
                    rows, total, nothing = session.rows(
                        f"select count(*), sum({amount}), count(*) - count({amount}) from {session.quote(self.table)}"
                    )[0]
                    refused, worth, unread = session.rows(
                        "select count(*), sum(amount), count(*) - count(amount) from "
                        f"(select source, line, max(amount) as amount from {kept} group by source, line)"
                    )[0]
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        loaded_sum = exact_sum(total, f"{self.table}.{self.amount}")
        refused_sum = exact_sum(worth, f"{self.table}{REJECTS}.amount")
        facts: dict[str, Fact] = {
            "rows": count_of(rows),
            "sum": loaded_sum,
            "refused": count_of(refused),
            "refused_sum": refused_sum,
            "both_sums": EXACT.add(loaded_sum, refused_sum),
            "no_amount": count_of(nothing) + count_of(unread),
        }
        return self.seen(ports, facts)


def _in_words(row: Sequence[SqlValue]) -> str:
    source, line, column, value, reason = row
    cell = "an empty cell" if value is None else repr(str(value)[:_SHOWN])
    return f"{str(source)[:_SHOWN]} line {line}, {str(column)[:_SHOWN]}: {cell} ({reason})"
