"""Version 4: how steps have failed, in tables that outlive the events."""

from __future__ import annotations

import sqlalchemy as sa

from dagster_planexec.journal.store.migrations.dialect import SEQUENCE, TEXT

metadata = sa.MetaData()

sa.Table(
    "planexec_failures",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("run_id", TEXT, nullable=False),
    sa.Column("step", TEXT, nullable=False),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("plan_digest", TEXT, nullable=False),
    sa.Column("tool", TEXT, nullable=False),
    sa.Column("code", TEXT, nullable=False),
    sa.Column("check_name", TEXT),
    sa.Column("shape", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("resolved_by", TEXT),
    sa.Column("resolved_at", TEXT),
    sa.UniqueConstraint("run_id", "step"),
    sa.Index("planexec_failures_month", "task", "period"),
)

sa.Table(
    "planexec_runs_noted",
    metadata,
    sa.Column("run_id", TEXT, primary_key=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Index("planexec_runs_noted_task", "task"),
)


def apply(db: sa.Connection) -> None:
    """Make both tables."""
    metadata.create_all(db)
