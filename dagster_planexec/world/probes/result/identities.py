"""Figures that must close: lines and sums of a result by status, and rows and sums of the sides it was made from."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import InputView, by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject, table

OTHER = "any other"
"""Stands for every status that is not one of the words, null included. With its space it is no declared word."""


@dataclass(frozen=True)
class ResultFigures(Probe):
    """A result by status. Facts: `statuses`, word to `lines`, `present` and `sums` (the last two by side)."""

    result: str
    status: str
    words: tuple[str, ...]
    amounts: tuple[tuple[str, str], ...]
    """(side, column of its amount)."""

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
            asked = (
                f"select case when {word} in ({marks}) then {word} end as word, count(*){columns} "
                f"from {session.quote(self.result)} group by 1"
            )
            with by_contract(self.result):
                found = session.rows(asked, self.words)
        statuses: dict[str, Fact] = {}
        for status, lines, *figures in found:
            present: dict[str, Fact] = {}
            sums: dict[str, Fact] = {}
            for (side, column), count, total in zip(self.amounts, figures[::2], figures[1::2], strict=True):
                present[side] = count_of(count)
                sums[side] = exact_sum(total, f"{self.result}.{column}")
            key = OTHER if status is None else str(status)
            statuses[key] = {"lines": count_of(lines), "present": present, "sums": sums}
        return self.seen(ports, {"statuses": statuses})


@dataclass(frozen=True)
class SideFigures(Probe):
    """Rows and sum of amounts of some inputs in scope, counted on their tables. Facts: `rows`, `sums` by name."""

    views: tuple[InputView, ...]

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
        return self.seen(ports, {"rows": rows, "sums": sums})
