"""Figures that must close: lines and sums of a result by status, and rows and sums of the sides it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session, SqlValue
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import InputView, by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

OTHER = "any other"
"""Stands for every status that is not one of the words, null included. With its space it is no declared word."""


@dataclass(frozen=True)
class ResultFigures(Probe):
    """A result by status. Facts: `statuses`, word to `lines`, and by side `present` and `sums`.

    If the result says how many rows a line stands for, by side `rows` too, and `standing`: lines that stand for any.

    `by_currency`, side to currency to `rows` and `sum`, if the result says the currency of each line.
    """

    result: str
    status: str
    words: tuple[str, ...]
    amounts: tuple[tuple[str, str], ...]
    """(side, column of its amount)."""
    rows: tuple[tuple[str, str], ...] = ()
    """(side, column of how many of its rows a line stands for)."""
    currencies: tuple[tuple[str, str], ...] = ()
    """(side, column of its amount's currency)."""

    @property
    def subject(self) -> Subject:
        """The result."""
        return table(self.result)

    @property
    def reader(self) -> str:
        """Counts and sums."""
        return f"SQL count and sum by {self.status}"

    def observe(self, ports: Ports) -> Observation:
        """One pass over the result."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if session.describe(self.result) is None:
                return self.absent(ports, f"there is no table {self.result}")
            word = session.quote(self.status)
            marks = ", ".join("?" for _ in self.words)
            columns = "".join(f", count({session.quote(c)}), sum({session.quote(c)})" for _, c in self.amounts)
            for _, column in self.rows:
                stands = session.quote(column)
                columns += f", coalesce(sum({stands}), 0), count(*) filter (where {stands} > 0)"
            asked = (
                f"select case when {word} in ({marks}) then {word} end as word, count(*){columns} "
                f"from {session.quote(self.result)} group by 1"
            )
            with by_contract(self.result):
                found = session.rows(asked, self.words)
                by_currency = {side: self._of_currencies(session, side, column) for side, column in self.currencies}
        statuses: dict[str, Fact] = {}
        for status, lines, *figures in found:
            present: dict[str, Fact] = {}
            sums: dict[str, Fact] = {}
            stood_for = figures[2 * len(self.amounts) :]
            of_amounts = figures[: 2 * len(self.amounts)]
            for (side, column), count, total in zip(self.amounts, of_amounts[::2], of_amounts[1::2], strict=True):
                present[side] = count_of(count)
                sums[side] = exact_sum(total, f"{self.result}.{column}")
            key = OTHER if status is None else str(status)
            said: dict[str, Fact] = {s: count_of(n) for (s, _), n in zip(self.rows, stood_for[::2], strict=True)}
            lined: dict[str, Fact] = {s: count_of(n) for (s, _), n in zip(self.rows, stood_for[1::2], strict=True)}
            known: dict[str, Fact] = {"lines": count_of(lines), "present": present, "sums": sums}
            statuses[key] = known | ({"rows": said, "standing": lined} if said else {})
        return self.seen(ports, {"statuses": statuses} | ({"by_currency": by_currency} if by_currency else {}))

    def _of_currencies(self, session: Session, side: str, currency: str) -> dict[str, Fact]:
        amount, rows = dict(self.amounts)[side], dict(self.rows)[side]
        return in_currencies(
            session.rows(
                f"select {session.quote(currency)}, sum({session.quote(rows)}), sum({session.quote(amount)}) "
                f"from {session.quote(self.result)} where {session.quote(rows)} > 0 group by 1"
            ),
            f"{self.result}.{amount}",
        )


def in_currencies(found: Iterable[Sequence[SqlValue]], what: str) -> dict[str, Fact]:
    """Currency to `rows` and `sum`; '' stands for none."""
    return {
        "" if code is None else str(code)[:40]: {"rows": count_of(rows), "sum": exact_sum(total, what)}
        for code, rows, total in sorted(found, key=lambda row: str(row[0]))
    }


@dataclass(frozen=True)
class SideFigures(Probe):
    """Rows and sum of amounts of some inputs in scope, counted on their tables. Facts: `rows`, `sums` by name.

    `by_currency`, name to currency to `rows` and `sum`, where currencies are asked for.
    """

    views: tuple[InputView, ...]
    currencies: tuple[tuple[str, str, bool], ...] = ()
    """(name, currency, whether that is a column): a column says it row by row, else it is that of all rows."""

    @property
    def subject(self) -> Subject:
        """The tables."""
        return Subject("warehouse", " + ".join(view.table for view in self.views))

    @property
    def reader(self) -> str:
        """Counts and sums."""
        return "SQL count and sum in scope"

    def observe(self, ports: Ports) -> Observation:
        """One pass over each table, all on one session."""
        rows: dict[str, Fact] = {}
        sums: dict[str, Fact] = {}
        by_currency: dict[str, Fact] = {}
        said = {name: (currency, is_column) for name, currency, is_column in self.currencies}
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            for view in self.views:
                if session.describe(view.table) is None:
                    return self.absent(ports, f"there is no table {view.table}")
                amount = f"sum({session.quote(view.amount)})" if view.amount is not None else "0"
                asked = f"select count(*), {amount} from ({view.query(session.quote)})"
                with by_contract(view.table):
                    count, total = session.rows(asked)[0]
                rows[view.name] = count_of(count)
                sums[view.name] = exact_sum(total, f"{view.table}.{view.amount}")
                if view.name not in said:
                    continue
                currency, is_column = said[view.name]
                found: list[tuple[SqlValue, ...]] = [(currency, count, total)] if count else []
                if is_column:
                    code = f"nullif(trim(cast({session.quote(currency)} as varchar)), '')"
                    with by_contract(view.table):
                        found = session.rows(
                            f"select {code}, count(*), {amount} from ({view.query(session.quote)}) group by 1"
                        )
                by_currency[view.name] = in_currencies(found, f"{view.table}.{view.amount}")
        return self.seen(ports, {"rows": rows, "sums": sums} | ({"by_currency": by_currency} if by_currency else {}))
