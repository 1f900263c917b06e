"""The journal's tables, and where a journal of a given name lives."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from filelock import FileLock, Timeout

from dagster_planexec.errors import PlanexecError

OPENING_S = 30

metadata = sa.MetaData()

plans = sa.Table(
    "planexec_plans",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("semantic_digest", sa.String(64), nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("saved_at", sa.String(40), nullable=False),
)

attempts = sa.Table(
    "planexec_attempts",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("task", sa.String(200), nullable=False),
    sa.Column("task_version", sa.String(60), nullable=False),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("inputs_digest", sa.String(64), nullable=False),
    sa.Column("admission", sa.Text, nullable=False),
    sa.Column("plan_digest", sa.String(64)),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("provenance", sa.Text),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("code", sa.String(40)),
    sa.Column("opened_at", sa.String(40), nullable=False),
    sa.Column("opened_seq", sa.Integer, nullable=False),
    sa.Index("planexec_attempts_month", "task", "period"),
    # Two runs that open the same month at the same instant must agree on one attempt.
    sa.UniqueConstraint("task", "period", "opened_seq"),
)

events = sa.Table(
    "planexec_events",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("attempt", sa.String(40), nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("step", sa.String(200)),
    sa.Column("run_id", sa.String(60)),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Index("planexec_events_attempt", "attempt", "kind"),
)

results = sa.Table(
    "planexec_results",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("attempt", sa.String(40), nullable=False),
    sa.Column("identity", sa.String(64), nullable=False),
    sa.Column("step", sa.String(200), nullable=False),
    sa.Column("tool", sa.String(200), nullable=False),
    sa.Column("run_id", sa.String(60), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("planexec_results_identity", "attempt", "identity"),
)

landings = sa.Table(
    "planexec_landings",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("task", sa.String(200), nullable=False),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("bucket", sa.String(200), nullable=False),
    sa.Column("object_key", sa.String(1024), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("attempt", sa.String(40), nullable=False),
    sa.Column("object", sa.Text, nullable=False),
    sa.Column("landed_at", sa.String(40), nullable=False),
    sa.Index("planexec_landings_month", "task", "period"),
)

holds = sa.Table(
    "planexec_holds",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("attempt", sa.String(40), nullable=False),
    sa.Column("task", sa.String(200), nullable=False),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("step", sa.String(200), nullable=False),
    sa.Column("code", sa.String(40), nullable=False),
    sa.Column("plan_digest", sa.String(64), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("opened_at", sa.String(40), nullable=False),
)

reports = sa.Table(
    "planexec_reports",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("task_run_id", sa.String(60), nullable=False, unique=True),
    sa.Column("task", sa.String(200), nullable=False),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("attempt", sa.String(40)),
    sa.Column("body", sa.Text, nullable=False),
)

arrivals = sa.Table(
    "planexec_arrivals",
    metadata,
    sa.Column("task", sa.String(200), primary_key=True),
    sa.Column("bucket", sa.String(200), primary_key=True),
    sa.Column("object_key", sa.String(1024), primary_key=True),
    sa.Column("version", sa.String(300), primary_key=True),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("first_seen", sa.String(40), nullable=False),
    # The newest run key under which it was asked for.
    sa.Column("requested", sa.String(200)),
)

# What lies in the drop now. Tables of their own, so that a journal from before them needs no other column.
drop = sa.Table(
    "planexec_drop",
    metadata,
    sa.Column("task", sa.String(200), primary_key=True),
    sa.Column("bucket", sa.String(200), primary_key=True),
    sa.Column("object_key", sa.String(1024), primary_key=True),
    sa.Column("period", sa.String(20), primary_key=True),
    sa.Column("version", sa.String(300), nullable=False),
    sa.Column("changed_at", sa.String(40), nullable=False),
    sa.Column("requested", sa.String(200)),
    sa.Index("planexec_drop_period", "task", "period"),
)

superseded = sa.Table(
    "planexec_superseded_arrivals",
    metadata,
    sa.Column("task", sa.String(200), primary_key=True),
    sa.Column("bucket", sa.String(200), primary_key=True),
    sa.Column("object_key", sa.String(1024), primary_key=True),
    sa.Column("version", sa.String(300), primary_key=True),
    sa.Column("superseded_by", sa.String(300), nullable=False),
)

requests = sa.Table(
    "planexec_run_requests",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("task", sa.String(200), nullable=False),
    sa.Column("period", sa.String(20), nullable=False),
    sa.Column("run_key", sa.String(200), nullable=False),
    sa.Column("set_digest", sa.String(64), nullable=False),
    sa.Column("objects", sa.Integer, nullable=False),
    sa.Column("asked_at", sa.String(40), nullable=False),
    # When a run of that key was found. Until then the request may never have reached anyone.
    sa.Column("started_at", sa.String(40)),
    sa.UniqueConstraint("task", "run_key"),
)


def _variable(name: str) -> str:
    return f"PLANEXEC_JOURNAL_{name.upper()}"


def _home() -> str | None:
    return os.environ.get("PLANEXEC_HOME") or os.environ.get("DAGSTER_HOME")


def _file_in(home: str) -> Path:
    return Path(home).resolve() / "journal.sqlite"


def journal_is_there(name: str) -> bool:
    """Whether a journal of that name has been made. Makes nothing; a database that is no file counts as there."""
    if url := os.environ.get(_variable(name)):
        database = sa.make_url(url)
        return database.drivername.partition("+")[0] != "sqlite" or Path(database.database or "").is_file()
    home = _home()
    return bool(home) and _file_in(str(home)).is_file()


def journal_url(name: str) -> str:
    """The database URL of a journal, from the environment of this process. Only names travel between processes.

    `PLANEXEC_JOURNAL_<NAME>` names any journal; without it, `default` is a SQLite file in `PLANEXEC_HOME`, or else in
    `DAGSTER_HOME`.

    Raises:
        PlanexecError: HOME_UNWRITABLE if nothing names the journal, or its folder cannot be written.
    """
    variable = _variable(name)
    if url := os.environ.get(variable):
        return url
    home = _home()
    if name != "default" or not home:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"nothing says where the journal {name!r} is",
            hint=f"set {variable} to a database URL"
            + (", or PLANEXEC_HOME or DAGSTER_HOME to a folder" if name == "default" else ""),
        )
    path = _file_in(home)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # Never open and close the file itself here: that would drop every lock this process holds on it
        # (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    except OSError as error:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the journal {path.name} cannot be written: {error.strerror}",
            hint="choose another home",
        ) from error
    return f"sqlite:///{path}"


def journal_error(error: sa.exc.DBAPIError) -> PlanexecError:
    """What a database error of the journal means to a person."""
    said = str(error.orig)[:200]
    if "locked" in said or "busy" in said:
        return PlanexecError(
            "LOCKED", f"the journal is held by another process: {said}", hint="end that process, or wait for it"
        )
    if "full" in said:
        return PlanexecError("DISK_FULL", f"the journal cannot be written: {said}", hint="free space, then run again")
    return PlanexecError(
        "HOME_UNWRITABLE", f"the journal cannot be used: {said}", hint="choose another home, or restore the journal"
    )


@contextmanager
def _alone(database: str | None) -> Iterator[None]:
    """Nobody else turns this file into WAL meanwhile: SQLite refuses the second who does, whatever its busy timeout."""
    if not database or database == ":memory:":
        yield
        return
    try:
        with FileLock(f"{database}.opening", timeout=OPENING_S):
            yield
    except Timeout as error:
        raise PlanexecError(
            "LOCKED",
            f"another process has been opening the journal for {OPENING_S} s",
            hint="end that process, or wait for it",
        ) from error


def connect(url: str) -> sa.Engine:
    """An engine whose tables exist. SQLite runs in WAL mode, so that readers never wait for the writer.

    Raises:
        PlanexecError: HOME_UNWRITABLE if the database cannot be opened for writing.
    """
    engine = sa.create_engine(url, connect_args={"timeout": 30} if url.startswith("sqlite") else {})
    if engine.dialect.name == "sqlite":

        @sa.event.listens_for(engine, "connect")
        def _durable(connection: object, _record: object) -> None:
            # The driver's own implicit transactions start as readers and fail when they turn into writers.
            connection.isolation_level = None  # type: ignore[attr-defined]
            cursor = connection.cursor()  # type: ignore[attr-defined]
            cursor.execute("PRAGMA busy_timeout=30000")
            with _alone(engine.url.database):
                # The mode is kept in the file. Setting it again would need a moment in which nobody else has it open.
                if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.close()

        @sa.event.listens_for(engine, "begin")
        def _begin(connection: sa.Connection) -> None:
            if connection.get_isolation_level() != "AUTOCOMMIT":
                connection.exec_driver_sql("BEGIN IMMEDIATE")

    @sa.event.listens_for(engine, "handle_error")
    def _in_words(context: sa.ExceptionContext) -> None:
        error = context.sqlalchemy_exception
        if isinstance(error, sa.exc.DatabaseError) and not isinstance(error, sa.exc.IntegrityError):
            raise journal_error(error) from context.original_exception

    metadata.create_all(engine)
    return engine
