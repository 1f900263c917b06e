"""An embedded DuckDB file as a warehouse: one connection at a time per file and process, locked down for SQL."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_session import Deadline, DuckDbSession, port_error
from dagster_planexec.world.ingest import IngestReport, TextIngest
from dagster_planexec.world.ports import Session, Warehouse
from dagster_planexec.world.suite import Suite, SuiteTold

if TYPE_CHECKING:
    import duckdb

_LOCK_DOWN = (
    "SET python_enable_replacements=false",  # else a name in SQL can mean a data frame of the calling code
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)
_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.{1,300}?) \(PID (?P<pid>\d+)\)", re.DOTALL)
_RETRY_S = 0.1
_LOOK_WAIT_S = 3.0
"""A look asks for every table by itself; each of them may wait this long for whoever writes."""
_How = tuple[str | None, bool]
"""Memory limit, and whether it is for reading only."""

# Two connections to one file share one database instance in a process, and with it the lock-down: a loader that needs
# files would find them forbidden by a session. So they take turns. Keyed by resolved path, kept for the process.
_turns: dict[Path, _Turn] = {}
_turns_guard = threading.Lock()


class _Turn:
    """Who may open one file in this process now, and what stays open for whoever comes next.

    Opening a file costs 15 ms, whatever is in it, so sessions inside a `together` block share one locked-down
    database. It is closed with the last block, or with the session that outlives it, and never used by two at once.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: int | None = None
        self._guard = threading.Lock()
        self._blocks = 0
        self._open: duckdb.DuckDBPyConnection | None = None
        self._how: _How = (None, False)

    def enter_block(self) -> None:
        """From now on, sessions leave the database open."""
        with self._guard:
            self._blocks += 1

    def leave_block(self) -> None:
        """With the last block goes what is open, at once or with the session that is using it."""
        with self._guard:
            self._blocks -= 1
            if not self._blocks and self.lock.acquire(blocking=False):
                try:
                    self.close()
                finally:
                    self.lock.release()

    def end(self) -> None:
        """Let the next one have its turn."""
        with self._guard:
            try:
                if not self._blocks:
                    self.close()
            finally:
                self.thread = None
                self.lock.release()

    def opened(self, how: _How) -> duckdb.DuckDBPyConnection | None:
        """What is open already, if it was opened alike. For whoever has the turn, as the two below."""
        if self._open is not None and self._how != how:
            self.close()
        return self._open

    def keep(self, database: duckdb.DuckDBPyConnection, how: _How) -> duckdb.DuckDBPyConnection:
        """Leave it open until the turn or the block ends."""
        self._open, self._how = database, how
        return database

    def close(self) -> None:
        """Close what is open."""
        database, self._open = self._open, None
        if database is not None:
            database.close()


class DuckDbWarehouse(Warehouse):
    """Tables in one DuckDB file.

    Args:
        path: The file; it and its folder are made if they are not there.
        wait_s: How long to wait for a file that another process or another thread holds.
        memory_limit: A DuckDB size such as `512MB`; None for DuckDB's own choice.
        read_only: Nothing is made and nothing can be written; a file that is not there is TABLE_GONE.
    """

    dialect = "duckdb"

    def __init__(
        self, path: Path, *, wait_s: float = 30.0, memory_limit: str | None = None, read_only: bool = False
    ) -> None:
        self.path = path
        self.name = path.stem
        self.wait_s = wait_s
        self.memory_limit = memory_limit
        self.read_only = read_only

    def looking(self) -> DuckDbWarehouse:
        """The file, opened for reading only."""
        wait_s = min(self.wait_s, _LOOK_WAIT_S)
        return DuckDbWarehouse(self.path, wait_s=wait_s, memory_limit=self.memory_limit, read_only=True)

    @contextmanager
    def session(self, *, deadline_s: float | None = None) -> Iterator[Session]:
        """A locked-down connection, closed at the end of the block."""
        began, until = time.monotonic(), self._until(deadline_s)
        with self._turn(until) as turn:
            how = (self.memory_limit, self.read_only)
            database = turn.opened(how) or turn.keep(self._locked_down(until), how)
            try:
                # A connection of its own, so that views and transactions end with the session.
                with database.cursor() as connection, Deadline(connection, deadline_s, began=began) as deadline:
                    yield DuckDbSession(connection, deadline, self.path.name)
            except BaseException:
                turn.close()  # whatever is wrong with it, the next session starts afresh
                raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """Sessions inside the block share one opening of the file; other processes wait for its end."""
        turn = self._turn_of_file()
        turn.enter_block()
        try:
            yield
        finally:
            turn.leave_block()

    def ingest(self, request: TextIngest, *, deadline_s: float | None = None) -> IngestReport:
        """Load text files on a connection that may read files, in this process's turn."""
        import duckdb  # noqa: PLC0415 - 30 ms that only loads pay

        from dagster_planexec.resources.loading.ingest import ingest_text  # noqa: PLC0415 - loads only

        with self.open_unlocked(deadline_s=deadline_s) as (connection, deadline):
            try:
                return ingest_text(connection, request)
            except duckdb.Error as error:
                if deadline.passed:
                    raise deadline.error(self.path.name) from error
                raise port_error(error, self.path.name) from error

    def expectations(self, suite: Suite, table: str, *, deadline_s: float | None = None) -> SuiteTold:
        """Let Great Expectations ask, on a locked-down session of this process's turn."""
        from dagster_planexec.resources.expectations.asking import ask  # noqa: PLC0415 - 4 s that only suites pay

        with self.session(deadline_s=deadline_s) as session:
            assert isinstance(session, DuckDbSession)  # noqa: S101 - made above
            rows = int(str(session.rows(f"select count(*) from {session.quote(table)}")[0][0]))
            view = table.rpartition(".")[2]
            session.bind_view(view, f"select * from {session.quote(table)}")
            with session.lent() as connection:
                return ask(connection, suite, view, rows=rows, with_page=not self.read_only)

    @contextmanager
    def open_unlocked(self, *, deadline_s: float | None = None) -> Iterator[tuple[duckdb.DuckDBPyConnection, Deadline]]:
        """A connection that can reach files, for the project's own code and never for SQL that somebody wrote."""
        began, until = time.monotonic(), self._until(deadline_s)
        with self._turn(until) as turn:
            turn.close()  # what sessions share is locked down
            with self._open(until) as connection, Deadline(connection, deadline_s, began=began) as deadline:
                yield connection, deadline

    def _until(self, deadline_s: float | None) -> float:
        return time.monotonic() + (self.wait_s if deadline_s is None else min(self.wait_s, deadline_s))

    def _turn_of_file(self) -> _Turn:
        with _turns_guard:
            return _turns.setdefault(self.path.resolve(), _Turn())

    @contextmanager
    def _turn(self, until: float) -> Iterator[_Turn]:
        turn = self._turn_of_file()
        me = threading.get_ident()
        if turn.thread == me:
            raise PortError(
                "INTERNAL",
                f"a session on {self.path.name} was opened inside another one of the same thread",
                hint="end the first session before the second is opened",
            )
        if not turn.lock.acquire(timeout=max(0.0, until - time.monotonic())):
            raise PortError(
                "LOCKED",
                f"warehouse {self.path.name} is in use by another thread of this process and did not become free",
                hint="run again when the other work has ended",
            )
        turn.thread = me
        try:
            yield turn
        finally:
            turn.end()

    def _locked_down(self, until: float) -> duckdb.DuckDBPyConnection:
        database = self._open(until)
        try:
            for setting in _LOCK_DOWN:
                database.execute(setting)
        except BaseException:
            database.close()
            raise
        return database

    def _open(self, until: float) -> duckdb.DuckDBPyConnection:
        import duckdb  # noqa: PLC0415 - 30 ms that only sessions pay

        config: dict[str, str | bool | int | float | list[str]] = {}
        if self.memory_limit is not None:
            config["memory_limit"] = self.memory_limit
        self._make_room()
        while True:
            try:
                database = duckdb.connect(self.path, read_only=self.read_only, config=config)
            except duckdb.Error as error:
                # DuckDB does not wait for another process; a short holder (a CLI look, a probe) is worth waiting for.
                held = _HOLDER.search(str(error))
                if held is None and "Could not set lock on file" not in str(error):
                    raise port_error(error, self.path.name) from error
                if time.monotonic() + _RETRY_S >= until:
                    raise self._held(held) from error
                time.sleep(_RETRY_S)
            else:
                # A process that was started with `-c`, as those of an executor are, is taken for a person's terminal.
                database.execute("SET enable_progress_bar=false")
                return database

    def _make_room(self) -> None:
        if self.read_only:
            if not self.path.is_file():
                raise PortError("TABLE_GONE", f"there is no warehouse file {self.path.name}")
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PortError("INTERNAL", f"the folder of warehouse {self.path.name} cannot be made: {error}") from error

    def _held(self, held: re.Match[str] | None) -> PortError:
        if held is None:
            return PortError("LOCKED", f"warehouse {self.path.name} is held by a process that DuckDB cannot name")
        program, pid = Path(held["program"]).name[:80], held["pid"]
        return PortError(
            "LOCKED",
            f"warehouse {self.path.name} is held by process {pid} ({program})",
            hint=f"wait for it, or ask whoever runs process {pid}, before you end it; then run again",
        )
