"""The journal's database, opened. Every transaction is a writer's, and there is one writer at a time.

SQLite knows nothing else. In Postgres every transaction takes one advisory lock first: so both behave the same, events
become visible in the order of their numbers, and what is read inside a transaction is true until its end. A journal is
written a few times per step; nobody waits long, and who waits too long is told. Readers wait for nobody.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from filelock import FileLock, Timeout

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.store.place import Place
from dagster_planexec.journal.store.trouble import driver_is_missing, in_words

OPENING_S = 30
WAITING_S = 30
"""Seconds that a writer waits for another."""
CONNECTING_S = 10
IDLE_S = 120
"""Seconds after which Postgres ends a writer that has stopped in the middle: its machine may be gone."""
_AUTOCOMMIT, _SNAPSHOT = "AUTOCOMMIT", "REPEATABLE READ"
WRITERS_LOCK = 0x706C616E65786563
"""The advisory lock of journals, `planexec` in ASCII; advisory locks are per database."""


def open_engine(place: Place, *, looking: bool = False) -> sa.Engine:
    """An engine on a journal's database, which is not looked at yet.

    Args:
        place: Which.
        looking: It is only read: nothing is made, and every write is refused.
    """
    engine = _sqlite(place, looking=looking) if place.backend == "sqlite" else _postgres(place, looking=looking)
    in_words(engine, place)
    return engine


def reader_of(engine: sa.Engine) -> sa.Engine:
    """The same database for reading: no statement is part of a transaction, so none waits for a writer."""
    return engine.execution_options(isolation_level=_AUTOCOMMIT)


def snapshot_of(engine: sa.Engine) -> sa.Engine:
    """The same database for reading much, row by row, as it was at one instant. It waits for no writer either."""
    # In SQLite a statement by itself is of one instant; Postgres gives rows one by one in transactions only.
    is_sqlite = engine.dialect.name == "sqlite"
    return engine.execution_options(isolation_level=_AUTOCOMMIT if is_sqlite else _SNAPSHOT)


def _only_reads(connection: sa.Connection) -> bool:
    # What was asked for: SQLite's driver does not know what it was set to, and answers SERIALIZABLE.
    return connection.get_execution_options().get("isolation_level") in {_AUTOCOMMIT, _SNAPSHOT}


def _sqlite(place: Place, *, looking: bool) -> sa.Engine:
    url = place.url
    if looking and place.file is not None:
        # `mode=rw`: a file that is not there is not made.
        url = sa.URL.create("sqlite", database=f"file:{_quoted(str(place.file))}", query={"mode": "rw", "uri": "true"})
    engine = sa.create_engine(url, connect_args={"timeout": WAITING_S}, hide_parameters=True)

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
        # The driver's own implicit transactions start as readers and fail when they turn into writers.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={WAITING_S * 1000}")
        if looking:
            cursor.execute("PRAGMA query_only=ON")
        else:
            with _alone(place):
                # The mode is kept in the file. Setting it again would need a moment in which nobody else has it open.
                if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        if not _only_reads(connection):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Nobody else turns this file into WAL meanwhile: SQLite refuses the second who does, whatever its busy timeout."""
    if place.file is None:
        yield
        return
    lock = FileLock(f"{place.file}.opening", timeout=OPENING_S)
    try:
        lock.acquire()
    except Timeout as error:
        raise PlanexecError(
            "LOCKED",
            f"another process has been opening the journal for {OPENING_S} s",
            hint="end that process, or wait for it",
        ) from error
    except OSError as error:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the journal's lock file {place.file.name}.opening cannot be used: {error.strerror}",
            hint="move it away; it is made again and holds nothing",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _postgres(place: Place, *, looking: bool) -> sa.Engine:
    try:
        # Asked for first: with an unknown driver SQLAlchemy raises in words of its own.
        importlib.import_module(place.url.get_driver_name())
    except ModuleNotFoundError as error:
        raise driver_is_missing(place, error) from None
    given: dict[str, Any] = {"application_name": "planexec", "connect_timeout": CONNECTING_S, **dict(place.hidden)}
    given = {name: value for name, value in given.items() if name not in place.url.query}
    if looking:
        given["options"] = f"{place.url.query.get('options', '')} -c default_transaction_read_only=on".strip()
    engine = sa.create_engine(
        place.url,
        connect_args={**given, "prepare_threshold": None},  # poolers between us and it know no prepared statements
        pool_pre_ping=True,  # the server may have been restarted since the last step
        hide_parameters=True,
        isolation_level="READ COMMITTED",
    )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        if not _only_reads(connection):
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = '{WAITING_S}s'; "
                f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_S}s'; "
                f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})"
            )

    return engine
