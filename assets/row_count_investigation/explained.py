"""How many of the missing rows a cause accounts for, measured anew: by means and not by medians, from raw groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal, get_args

from assets.row_count_investigation.measuring import LOOK_S
from assets.row_count_investigation.places import LOW
from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject, table

Cause = Literal["missing_day", "late_data", "source_stopped", "view_filter", "deduplication", "not_found"]
CAUSES = get_args(Cause)


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows by day and source of one relation."""

    rows: dict[tuple[date, str], int]
    repeated: dict[date, int]
    since: date
    start: date
    end: date

    def usual(self, source: str | None = None) -> Decimal:
        """Rows per day before the period, of one source or of all."""
        found = sum(n for (day, s), n in self.rows.items() if day < self.start and source in {None, s})
        return Decimal(found) / (self.start - self.since).days

    def of(self, days: Iterable[date], source: str | None = None) -> int:
        """Rows of these days."""
        wanted = frozenset(days)
        return sum(n for (day, s), n in self.rows.items() if day in wanted and source in {None, s})

    @property
    def days(self) -> list[date]:
        """The days of the period."""
        return [self.start + timedelta(days=n) for n in range((self.end - self.start).days)]

    @property
    def missing(self) -> Decimal:
        """Rows that the period lacks by the weeks before it; negative if it has more."""
        return self.usual() * len(self.days) - self.of(self.days)


@dataclass(frozen=True, slots=True)
class RowsExplained(Probe):
    """Facts: `usual`, `rows`, `missing` and, for the cause, `explained`; all whole rows.

    Args:
        cause: What is claimed.
        view: The relation whose rows are missing.
        landed: The table it is made of.
        log: The loader's log.
        since: The first day of the weeks that say what is usual.
        start: The period.
        end: The first day after it.
    """

    cause: str
    view: str
    landed: str
    log: str
    since: date
    start: date
    end: date

    @property
    def subject(self) -> Subject:
        """The relations together."""
        return table(f"{self.view}, {self.landed}, {self.log} [{self.start}, {self.end})")

    @property
    def reader(self) -> str:
        """Not the tools' own measures."""
        return f"rows that {self.cause} accounts for, by means of the weeks before"

    def observe(self, ports: Ports) -> Observation:
        """Group both relations, read the log, and reckon."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                view, landed = self._groups(session, self.view), self._groups(session, self.landed)
                log = session.rows(
                    f"select cast(day as varchar), status from {session.quote(self.log)} where day >= ? and day < ?",
                    [self.start.isoformat(), self.end.isoformat()],
                )
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, error.message)
        said = defaultdict(set)
        for day, status in log:
            said[str(status)].add(date.fromisoformat(str(day)))
        explained = _EXPLAINED[self.cause](view, landed, said) if self.cause in _EXPLAINED else Decimal(0)
        return self.seen(
            ports,
            {
                "usual": int(view.usual() * len(view.days)), "rows": view.of(view.days), "missing": int(view.missing),
                "explained": int(explained),
            },
        )  # fmt: skip

    def _groups(self, session: Session, name: str) -> Groups:
        found = session.rows(
            "select cast(order_day as varchar), source, count(*), count(*) - count(distinct order_id) "
            f"from {session.quote(name)} where order_day >= ? and order_day < ? group by 1, 2",
            [self.since.isoformat(), self.end.isoformat()],
        )
        rows, repeated = {}, defaultdict(int)
        for day, source, n, more in found:
            rows[date.fromisoformat(str(day)), str(source)] = int(str(n))
            repeated[date.fromisoformat(str(day))] += int(str(more))
        return Groups(rows, dict(repeated), self.since, self.start, self.end)


Said = dict[str, set[date]]


def _missing_day(view: Groups, _: Groups, said: Said) -> Decimal:
    """Days of which nothing is there, and whose load failed."""
    empty = [day for day in view.days if view.of([day]) == 0 and day in said["failed"]]
    return view.usual() * len(empty)


def _late_data(view: Groups, _: Groups, said: Said) -> Decimal:
    """Days that the loader still waits for."""
    late = [day for day in view.days if day in said["late"]]
    return max(Decimal(0), view.usual() * len(late) - view.of(late))


def _source_stopped(view: Groups, _: Groups, said: Said) -> Decimal:  # noqa: ARG001 - one signature for all causes
    """The days since the last row of the source that has been silent longest."""
    found = [Decimal(0)]
    for source in {source for _, source in view.rows}:
        last = max(day for day, s in view.rows if s == source)
        silent = [day for day in view.days if day > last]
        others = [s for s in {s for _, s in view.rows} if s != source and view.of(silent, s) > 0]
        if silent and others:  # where all are silent, it is not one source that stopped
            found.append(view.usual(source) * len(silent))
    return max(found)


def _view_filter(view: Groups, landed: Groups, said: Said) -> Decimal:  # noqa: ARG001 - as above
    """Rows that have landed and that the view leaves out, beyond what it always left out."""
    left_out = landed.of(landed.days) - view.of(view.days)
    return left_out - (landed.usual() - view.usual()) * len(view.days)


def _deduplication(view: Groups, _: Groups, said: Said) -> Decimal:  # noqa: ARG001 - as above
    """Repeated rows that there used to be."""
    before = sum(n for day, n in view.repeated.items() if day < view.start)
    now = sum(n for day, n in view.repeated.items() if day >= view.start)
    return Decimal(before) * len(view.days) / (view.start - view.since).days - now


_EXPLAINED: dict[str, Callable[[Groups, Groups, Said], Decimal]] = {
    "missing_day": _missing_day,
    "late_data": _late_data,
    "source_stopped": _source_stopped,
    "view_filter": _view_filter,
    "deduplication": _deduplication,
}


def is_low(seen: int, due: int) -> bool:
    """Whether a day or a value has clearly less than is due."""
    return due > 0 and seen < due * LOW
