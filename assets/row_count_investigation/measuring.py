"""Looks at the tables: each is a measurement, a seal, and one side of the check that its numbers add up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, table

LOOK_S = 60.0


class Look(Probe):
    """A query on one table, in the days of a period and in the weeks before it."""

    table: str
    since: date
    start: date
    end: date

    @property
    def subject(self) -> Subject:
        """The table, in the days that are counted."""
        return table(f"{self.table} [{self.start}, {self.end})")

    @abstractmethod
    def measured(self, session: Session) -> Mapping[str, Fact]:
        """The facts."""

    def observe(self, ports: Ports) -> Observation:
        """Run the query."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                return self.seen(ports, self.measured(session))
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, f"there is no table {self.table}")


@dataclass(frozen=True)
class RowsOfPeriod(Look):
    """Facts: `rows` of the period."""

    table: str
    since: date
    start: date
    end: date

    @property
    def reader(self) -> str:
        """A count."""
        return "SQL count(*) of the period"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Count."""
        text = f"select count(*) from {session.quote(self.table)} where order_day >= ? and order_day < ?"
        return {"rows": _int(session.rows(text, [self.start.isoformat(), self.end.isoformat()])[0][0])}


@dataclass(frozen=True)
class RowsByDay(Look):
    """Facts: `rows` of the period, `usual` rows for its days, and by day (`2026-03-01`) `seen` and `due`.

    What is due on a day is the median of its weekday in the weeks before.
    """

    table: str
    since: date
    start: date
    end: date

    @property
    def reader(self) -> str:
        """Days of the period against weekdays before."""
        return "SQL rows by day, and the median of the weekday"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Two groups, joined by weekday."""
        name = session.quote(self.table)
        rows = session.rows(
            "with by_day as (select d::date as day, count(o.order_day) as n "
            "from range(cast(? as date), cast(? as date), interval 1 day) r(d) "
            f"left join {name} o on o.order_day = d::date group by 1), "
            "usual as (select dayofweek(day) as w, quantile_disc(n, 0.5) as due from by_day where day < ? group by 1) "
            "select cast(day as varchar), n, due from by_day join usual on w = dayofweek(day) "
            "where day >= ? order by 1",
            [self.since.isoformat(), self.end.isoformat(), self.start.isoformat(), self.start.isoformat()],
        )
        seen = {str(day): _int(n) for day, n, _ in rows}
        due = {str(day): _int(n) for day, _, n in rows}
        return {"rows": sum(seen.values()), "usual": sum(due.values()), "seen": seen, "due": due}


@dataclass(frozen=True)
class RowsByValue(Look):
    """Facts: `rows` of the period, and by value of a column its rows `seen`, and the rows `due` by its share before."""

    table: str
    since: date
    start: date
    end: date
    column: str

    @property
    def reader(self) -> str:
        """Values of the period against values before."""
        return f"SQL rows by {self.column}"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Rows per day, before and now; the last day on which there was any."""
        rows = session.rows(
            f"select coalesce(cast({session.quote(self.column)} as varchar), ''), "
            "count(*) filter (where order_day >= ?), count(*) filter (where order_day < ?), "
            "cast(max(order_day) as varchar) "
            f"from {session.quote(self.table)} where order_day >= ? and order_day < ? group by 1 order by 1",
            [day.isoformat() for day in (self.start, self.start, self.since, self.end)],
        )
        before, days = (self.start - self.since).days, (self.end - self.start).days
        return {
            "rows": sum(_int(now) for _, now, _, _ in rows),
            "seen": {str(value): _int(now) for value, now, _, _ in rows},
            "due": {str(value): _int(then) * days // before for value, _, then, _ in rows},
            "last": {str(value): str(last) for value, _, _, last in rows},
        }


@dataclass(frozen=True)
class RowsFiltered(Look):
    """Facts: `rows` of the period in a view and `landed` in its table; `before`, what the view left out per 1,000 then.

    Args:
        table: The view.
        landed: The table it is made of.
    """

    table: str
    since: date
    start: date
    end: date
    landed: str

    @property
    def reader(self) -> str:
        """Two counts and a definition."""
        return "SQL counts of view and table, and the view's definition"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Count both, and read what the view says of itself."""
        days = [day.isoformat() for day in (self.start, self.start, self.since, self.end)]
        text = (
            "select count(*) filter (where order_day >= ?), count(*) filter (where order_day < ?) from {} "
            "where order_day >= ? and order_day < ?"
        )
        now, then = (_int(n) for n in session.rows(text.format(session.quote(self.table)), days)[0])
        landed, landed_then = (_int(n) for n in session.rows(text.format(session.quote(self.landed)), days)[0])
        schema, _, name = self.table.partition(".")
        said = session.rows("select sql from duckdb_views() where schema_name = ? and view_name = ?", [schema, name])
        before = (landed_then - then) * 1000 // landed_then if landed_then else 0
        return {"rows": now, "landed": landed, "before": before, "definition": str(said[0][0])[:500] if said else ""}


@dataclass(frozen=True)
class RowsRepeated(Look):
    """Facts: `rows` of the period, `orders` (each once), `repeated`, and what was `due` of repeated rows by the weeks
    before.
    """  # noqa: D205 - the facts are a list

    table: str
    since: date
    start: date
    end: date

    @property
    def reader(self) -> str:
        """Rows against different orders."""
        return "SQL count of repeated orders"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Count both, before and now."""
        text = (
            f"select count(*), count(distinct order_id) from {session.quote(self.table)} "
            "where order_day >= ? and order_day < ?"
        )
        now, orders = (_int(n) for n in session.rows(text, [self.start.isoformat(), self.end.isoformat()])[0])
        then, before = (_int(n) for n in session.rows(text, [self.since.isoformat(), self.start.isoformat()])[0])
        due = (then - before) * (self.end - self.start).days // (self.start - self.since).days
        return {"rows": now, "orders": orders, "repeated": now - orders, "due": due}


@dataclass(frozen=True)
class LoadsOfPeriod(Look):
    """Facts: `loads` of the period by the loader's own log, and the days on which one `failed` or is `late`."""

    table: str
    since: date
    start: date
    end: date

    @property
    def reader(self) -> str:
        """The loader's log."""
        return "SQL on the load log"

    def measured(self, session: Session) -> Mapping[str, Fact]:
        """Read it."""
        rows = session.rows(
            f"select cast(day as varchar), status from {session.quote(self.table)} "
            "where day >= ? and day < ? order by 1",
            [self.start.isoformat(), self.end.isoformat()],
        )
        days = {word: sorted({str(day) for day, status in rows if status == word}) for word in ("failed", "late")}
        return {"loads": len(rows), **{word: tuple(found) for word, found in days.items()}}


def _int(value: object) -> int:
    return int(str(value))
