"""Version 5: who holds a month, what cannot be undone line by line, and who decided about what.

Effects and approvals are rows of the past: the database lets nobody delete one, and nobody change what was intended.
"""

from __future__ import annotations

import sqlalchemy as sa

from dagster_planexec.journal.store.migrations.dialect import SEQUENCE, TEXT

metadata = sa.MetaData()

sa.Table(
    "planexec_leases",
    metadata,
    sa.Column("task", TEXT, primary_key=True),
    sa.Column("period", TEXT, primary_key=True),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("holder", TEXT, nullable=False),
    sa.Column("taken_at", TEXT, nullable=False),
    sa.Column("beat_at", TEXT, nullable=False),
    sa.Column("beat_s", sa.Float),
    sa.Column("lasts_s", sa.Integer, nullable=False),
)

sa.Table(
    "planexec_stood_back",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("run_id", TEXT),
    sa.Column("run_key", TEXT),
    sa.Column("at", TEXT, nullable=False),
    sa.Index("planexec_stood_back_month", "task", "period"),
)

sa.Table(
    "planexec_effects",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("effect_scope", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("line_key", TEXT, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("amount", TEXT, nullable=False),
    sa.Column("currency", TEXT, nullable=False),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("tool", TEXT, nullable=False),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("run_id", TEXT, nullable=False),
    sa.Column("token", sa.BigInteger),
    sa.Column("hold_id", TEXT),
    sa.Column("intended_at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("ended_at", TEXT),
    sa.Column("said", TEXT),
    sa.Column("settled_by", TEXT),
    sa.UniqueConstraint("effect_scope", "period", "line_key", "ordinal"),
    sa.Index("planexec_effects_task", "task", "period"),
)

sa.Table(
    "planexec_effect_changes",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("effect", sa.BigInteger, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("said", TEXT, nullable=False),
    sa.Index("planexec_effect_changes_effect", "effect"),
)

sa.Table(
    "planexec_decisions",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("hold_id", TEXT, nullable=False),
    sa.Column("decision", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("key_id", TEXT, nullable=False),
    sa.Column("body", TEXT, nullable=False),
    sa.Column("signature", TEXT, nullable=False),
    sa.UniqueConstraint("hold_id", "by"),
)

sa.Table(
    "planexec_hold_notices",
    metadata,
    sa.Column("hold_id", TEXT, primary_key=True),
    sa.Column("kind", TEXT, primary_key=True),
    sa.Column("at", TEXT, nullable=False),
)

_HOLDS = ("bound", "shown", "expires_at", "closed_at", "closed_because")

_FIXED = ("effect_scope", "period", "line_key", "ordinal", "amount", "currency", "target", "intended_at")
"""What an effect was meant to be; how it ended is all that may still change."""
_ONLY_ADDED = ("planexec_effect_changes", "planexec_decisions")


def apply(db: sa.Connection) -> None:
    """Make the tables, and shut what may not be done to them."""
    metadata.create_all(db)
    for column in _HOLDS:
        db.exec_driver_sql(f"alter table planexec_holds add column {column} text")
    for statement in _sqlite() if db.dialect.name == "sqlite" else _postgres():
        db.exec_driver_sql(statement)


def _sqlite() -> list[str]:
    changed = " or ".join(f"old.{name} is not new.{name}" for name in _FIXED)
    statements = [
        f"""create trigger planexec_effects_stay_what_they_are before update on planexec_effects when {changed}
        begin select raise(abort, 'what an effect was meant to be never changes'); end"""
    ]
    for table in ("planexec_effects", *_ONLY_ADDED):
        says = f"the rows of {table} are only ever added"
        statements += [
            f"""create trigger {table}_never_go before delete on {table}
            begin select raise(abort, '{says}'); end""",
            # `insert or replace` deletes without asking the trigger above.
            f"""create trigger {table}_are_never_replaced before insert on {table}
            when exists (select 1 from {table} where seq = new.seq)
            begin select raise(abort, '{says}'); end""",
        ]
    statements += [
        f"""create trigger {table}_never_change before update on {table}
        begin select raise(abort, 'the rows of {table} are only ever added'); end"""
        for table in _ONLY_ADDED
    ]
    return statements


def _postgres() -> list[str]:
    changed = " or ".join(f"old.{name} is distinct from new.{name}" for name in _FIXED)
    raises = "using errcode = 'integrity_constraint_violation'"
    statements = [
        f"""create function planexec_refuse_another_effect() returns trigger language plpgsql as $$
        begin
            if {changed} then
                raise exception 'what an effect was meant to be never changes' {raises};
            end if;
            return new;
        end $$""",
        f"""create function planexec_refuse_any_change() returns trigger language plpgsql as $$
        begin
            raise exception 'the rows of %% are only ever added', tg_table_name {raises};
        end $$""",
        """create trigger planexec_effects_stay_what_they_are before update on planexec_effects
        for each row execute function planexec_refuse_another_effect()""",
    ]
    for table in ("planexec_effects", *_ONLY_ADDED):
        statements += [
            f"""create trigger {table}_never_go before delete on {table}
            for each row execute function planexec_refuse_any_change()""",
            f"""create trigger {table}_are_never_emptied before truncate on {table}
            for each statement execute function planexec_refuse_any_change()""",
        ]
    statements += [
        f"""create trigger {table}_never_change before update on {table}
        for each row execute function planexec_refuse_any_change()"""
        for table in _ONLY_ADDED
    ]
    return statements
