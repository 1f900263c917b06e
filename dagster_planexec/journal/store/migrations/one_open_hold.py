"""Version 3: at most one open hold per month, whoever opens it."""

from __future__ import annotations

import sqlalchemy as sa


def apply(db: sa.Connection) -> None:
    """Of several open holds of a month the newest stays open; then the database refuses a second one."""
    db.exec_driver_sql(
        """update planexec_holds set state = 'superseded'
        where state = 'open' and exists (
            select 1 from planexec_holds later
            where later.task = planexec_holds.task and later.period = planexec_holds.period and later.state = 'open'
            and (later.opened_at > planexec_holds.opened_at
                 or (later.opened_at = planexec_holds.opened_at and later.id > planexec_holds.id)))"""
    )
    db.exec_driver_sql("create unique index planexec_holds_open on planexec_holds (task, period) where state = 'open'")
