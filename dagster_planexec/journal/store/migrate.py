"""From whatever version a journal has to the one this program writes: ordered steps, each applied once.

Written with SQLAlchemy alone. The history is one line and never branches, so of Alembic little would be left but its
version table, which a database that Dagster shares has already; a test compares what comes out with Alembic's own eye.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.migrations import append_only, baseline, failures, money, one_open_hold

Migration = Callable[[sa.Connection], None]

MIGRATIONS: tuple[Migration, ...] = (
    baseline.apply,
    append_only.apply,
    one_open_hold.apply,
    failures.apply,
    money.apply,
)
"""The n-th makes version n of version n - 1. They are only ever added to."""
NEWEST = len(MIGRATIONS)
UNVERSIONED = 1
"""The version of a journal from before there were versions."""
EMPTY = 0


def version_of(db: sa.Connection) -> int:
    """The version of a journal; `EMPTY` if it has no table of ours."""
    inspector = sa.inspect(db)
    if inspector.has_table(t.schema.name):
        return db.scalar(sa.select(sa.func.max(t.schema.c.version))) or EMPTY
    return UNVERSIONED if inspector.has_table(t.attempts.name) else EMPTY


def bring_up(reader: sa.Engine, writer: sa.Engine, name: str) -> None:
    """Make the journal one of this version. Many processes may do so at once: the writer's lock lets one do it.

    All of it is one transaction. Whoever reads meanwhile sees the old version, and goes on reading it afterwards: a
    migration adds, and takes nothing away.

    Raises:
        PlanexecError: HOME_UNWRITABLE if a newer program has written it.
    """
    with reader.connect() as db:
        if _accepted(version_of(db), name) == NEWEST:
            return
    with writer.begin() as db:
        version = _accepted(version_of(db), name)
        t.schema.create(db, checkfirst=True)
        now = datetime.now(UTC).isoformat()
        if version == UNVERSIONED:
            # Not all tables of version 1 came at once; those that are missing are made, nothing else is touched.
            version = EMPTY
            db.execute(sa.delete(t.schema))
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            migration(db)
            db.execute(sa.insert(t.schema).values(version=number, applied_at=now))


def accept(reader: sa.Engine, name: str) -> int:
    """The version of a journal that is only looked at. Makes and changes nothing.

    Raises:
        PlanexecError: HOME_UNWRITABLE if it has no tables of a journal, or a newer program has written it.
    """
    with reader.connect() as db:
        version = _accepted(version_of(db), name)
    if version == EMPTY:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the database of the journal {name!r} has none of its tables: nothing was ever written there, "
            "or it is the database of something else",
            hint="run a period, which makes them; or look at what names the journal",
        )
    return version


def _accepted(version: int, name: str) -> int:
    if version > NEWEST:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the journal {name!r} has version {version}, and this program knows versions up to {NEWEST}: "
            "a newer program has written it",
            hint="install the newer dagster-planexec again, or name another journal",
        )
    return version
