"""Version 2: events are only ever added. The database itself refuses to change or to delete one, whoever asks.

Retention has a door of its own: a row in `planexec_pruning`, written and taken back by the transaction that deletes.
Nobody else sees that row, as it is never committed.
"""

from __future__ import annotations

import sqlalchemy as sa

from dagster_planexec.journal.store.migrations.dialect import TEXT

_SAYS = "the events of a journal are only ever added"

_SQLITE = (
    f"""create trigger planexec_events_never_change before update on planexec_events
    begin select raise(abort, '{_SAYS}'); end""",
    f"""create trigger planexec_events_never_go before delete on planexec_events
    when not exists (select 1 from planexec_pruning)
    begin select raise(abort, '{_SAYS}'); end""",
    # `insert or replace` deletes without asking the trigger above.
    f"""create trigger planexec_events_are_never_replaced before insert on planexec_events
    when exists (select 1 from planexec_events where seq = new.seq)
    begin select raise(abort, '{_SAYS}'); end""",
)
_POSTGRES = (
    f"""create function planexec_refuse_change() returns trigger language plpgsql as $$
    begin
        if tg_op = 'DELETE' and exists (select 1 from planexec_pruning) then
            return old;
        end if;
        raise exception '{_SAYS}' using errcode = 'integrity_constraint_violation';
    end $$""",
    """create trigger planexec_events_never_change before update or delete on planexec_events
    for each row execute function planexec_refuse_change()""",
    """create trigger planexec_events_never_go before truncate on planexec_events
    for each statement execute function planexec_refuse_change()""",
)


def apply(db: sa.Connection) -> None:
    """Make the door, then shut everything else."""
    sa.Table("planexec_pruning", sa.MetaData(), sa.Column("since", TEXT, primary_key=True)).create(db)
    for statement in _SQLITE if db.dialect.name == "sqlite" else _POSTGRES:
        db.exec_driver_sql(statement)
