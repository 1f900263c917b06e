"""The sides of a reconciliation where they come from: live tables in scope, and delivered bytes as they landed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.counting.amounts import EXACT, shortest
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import InputView, count_of, exact_sum
from dagster_planexec.world.subject import Subject


@dataclass(frozen=True)
class RawSides(Probe):
    """Rows and sum of amounts of every side, read past everything that a plan has made.

    Facts: `rows` and `sums` by side; `missing`: landed copies that are not there; `unreadable`: amounts that are none.
    """

    live: tuple[InputView, ...]
    delivered: str | None
    """The side that is delivered, if one is."""
    copies: tuple[CountExtract, ...] = ()
    """Every landed copy of it."""

    @property
    def subject(self) -> Subject:
        """What the sides are called by the task."""
        return Subject(
            "world", " + ".join([*(view.table for view in self.live), *([self.delivered or ""])]).strip(" +")
        )

    @property
    def reader(self) -> str:
        """Each by a reader of its own."""
        return "SQL on live tables, a parser on landed bytes"

    def observe(self, ports: Ports) -> Observation:
        """One pass over each table and each copy. Raises as `CountExtract`."""
        rows: dict[str, Fact] = {}
        sums: dict[str, Fact] = {}
        missing = unreadable = 0
        if self.live:
            with ports.warehouse.session(deadline_s=LOOK_S) as session:
                for view in self.live:
                    if session.describe(view.table) is None:
                        return self.absent(ports, f"there is no table {view.table}")
                    amount = f"sum({session.quote(view.amount)})" if view.amount is not None else "0"
                    count, total = session.rows(f"select count(*), {amount} from ({view.query(session.quote)})")[0]
                    rows[view.name] = count_of(count)
                    sums[view.name] = exact_sum(total, f"{view.table}.{view.amount}")
        if self.delivered is not None:
            counted, total_of_copies = 0, Decimal(0)
            for copy in self.copies:
                if not copy.path.is_file():
                    missing += 1
                    continue
                found = copy.tally()
                counted += found.rows
                unreadable += found.amounts.unparsable
                total_of_copies = EXACT.add(total_of_copies, found.amounts.total)
            rows[self.delivered], sums[self.delivered] = counted, shortest(total_of_copies)
        return self.seen(ports, {"rows": rows, "sums": sums, "missing": missing, "unreadable": unreadable})
