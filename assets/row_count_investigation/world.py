"""Seven months of orders, each with a story of its own; made the same every time, by the warehouse itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from assets.row_count_investigation.places import landed, load_log, orders, usual_from
from assets.row_count_investigation.task import TASK
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Session, Warehouse

PER_DAY = 60


@dataclass(frozen=True, slots=True)
class Story:
    """What happened to one month."""

    cause: str
    """What an investigation must end with."""
    says: str
    keeps: str = "true"
    """Which of the rows that would usually have come have landed; `n` is a row's number within its day."""
    filters: str = "true"
    """What the view asks for."""
    repeats: bool = False
    """Whether one row in five came twice before the month."""
    failed: tuple[int, ...] = ()
    """Days of the month whose load failed."""
    late: tuple[int, ...] = ()
    """Days whose load is still to come."""


STORIES: dict[str, Story] = {
    "2026-01": Story("not_found", "nothing: there is no drop"),
    "2026-02": Story("missing_day", "the loads of two days failed", keeps="day(order_day) not in (11, 12)",
                     failed=(11, 12)),
    "2026-03": Story("source_stopped", "the partner's feed stopped on the 10th",
                     keeps="not (source = 'partner' and day(order_day) >= 10)"),
    "2026-04": Story("view_filter", "the view leaves out what is pending",
                     filters="coalesce(status, 'new') <> 'pending'"),
    "2026-05": Story("deduplication", "rows that came twice come once", repeats=True),
    "2026-06": Story("late_data", "the last four days are still to come",
                     keeps="not (day(order_day) >= 27 and n > 6)", late=(27, 28, 29, 30)),
    "2026-07": Story("not_found", "a purge of test customers, which no tool here can see", keeps="n % 4 <> 1"),
}  # fmt: skip
"""Month to story. The last is a cause that nobody thought of."""


def seed(warehouse: Warehouse) -> None:
    """Make the tables of every month that are missing. Tables that are there are left as they are."""
    with warehouse.session() as session:
        session.execute("create schema if not exists shop")
        for text, story in STORIES.items():
            if session.describe(orders(TASK.period(text))) is None:
                seed_month(session, TASK.period(text), story)


def seed_month(session: Session, period: Period, story: Story) -> None:
    """Make the three relations of one month."""
    since, table = usual_from(period), session.quote(landed(period))
    first, last = _day(since), _day(period.end)
    session.execute(
        f"create or replace table {table} as select * from ("
        "select day(order_day) * 100000 + month(order_day) * 10000000 + n as order_id, order_day, n, "
        "case when n % 10 < 5 then 'web' when n % 10 < 7 then 'store' else 'partner' end as source, "
        "case when n % 2 = 0 then 'north' else 'south' end as region, (n * 37) % 9000 + 100 as cents, "
        f"case when order_day < {_day(period.start)} then null when n % 3 = 0 then 'pending' else 'paid' end as status "
        f"from (select d::date as order_day from range({first}, {last}, interval 1 day) r(d)) days, "
        # Sundays are quiet, and no two weeks are quite alike.
        f"range({PER_DAY}) s(n) where n < {PER_DAY} - 20 * (dayofweek(order_day) = 0)::int - (day(order_day) % 3)"
        f") due where order_day < {_day(period.start)} or ({story.keeps})"
    )
    if story.repeats:
        session.execute(
            f"insert into {table} select * from {table} where order_day < {_day(period.start)} and n % 4 = 0"
        )
    session.execute(
        f"create or replace view {session.quote(orders(period))} as "
        f"select order_id, order_day, source, region, cents, status from {table} where {story.filters}"
    )
    log = session.quote(load_log(period))
    session.execute(
        f"create or replace table {log} as select d::date as day, source, "
        f"case when d::date in ({_days(period, story.failed)}) then 'failed' "
        f"when d::date in ({_days(period, story.late)}) then 'late' else 'ok' end as status "
        f"from range({first}, {last}, interval 1 day) r(d), (values ('web'), ('store'), ('partner')) s(source)"
    )


def _days(period: Period, numbers: tuple[int, ...]) -> str:
    return ", ".join(_day(period.start + timedelta(days=n - 1)) for n in numbers) or "null"


def _day(day: date) -> str:
    return f"DATE '{day.isoformat()}'"
