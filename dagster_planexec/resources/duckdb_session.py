"""One DuckDB connection: statements, their deadline, and what DuckDB's errors mean in the codes of this project."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Self

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import ColumnFacts, Fingerprint, Session, SqlValue

if TYPE_CHECKING:
    import duckdb

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")
_GONE = re.compile(r"Catalog Error: (Table|View|Schema) with name .{1,200}? does not exist", re.DOTALL)
_TOO_WIDE = re.compile(r"Overflow in (?:HUGEINT|[a-z]+ of DECIMAL|SUM)")
_WIDEST = 38
_NO_SPACE = (
    "no space left",
    "disk full",
    "disk quota exceeded",
    "file too large",  # a limit on the size of files
    "max_temp_directory_size",
    "not enough disk space",
)
_REPEAT_S = 0.05


def quoted(name: str) -> str:
    """One or two plain identifiers, each in double quotes.

    Raises:
        PortError: VALIDATION_ERROR for anything else; a name that needs escaping is not a name of this project.
    """
    parts = name.split(".")
    if len(parts) > 2 or not all(_IDENTIFIER.match(part) for part in parts):  # noqa: PLR2004 - schema and table
        raise PortError(
            "VALIDATION_ERROR",
            f"{name[:80]!r} is not a table name; expected one or two plain identifiers (letters, digits, _)",
            hint="write schema.table",
        )
    return ".".join(f'"{part}"' for part in parts)


def port_error(error: Exception, file: str) -> PortError:
    """What an error of DuckDB means: a code, and the first lines of its text, bounded."""
    import duckdb  # noqa: PLC0415 - 30 ms that only sessions pay

    text = str(error)
    seen = " ".join(text.split())[:300]
    if any(mark in text.lower() for mark in _NO_SPACE):
        code, hint = "DISK_FULL", f"free space where {file} and its temporary files are, then run again"
    elif isinstance(error, duckdb.CatalogException) and _GONE.match(text):
        code, hint = "TABLE_GONE", ""
    elif isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException):
        code, hint = "VALIDATION_ERROR", "correct the SQL that is named"
    elif isinstance(error, duckdb.PermissionException) or "configuration has been locked" in text:
        code, hint = "FORBIDDEN", "SQL of a task reaches tables of its warehouse and nothing else"
    elif isinstance(error, duckdb.OutOfRangeException) and _TOO_WIDE.search(text):
        code, hint = "SCALE_OVERFLOW", "look at the largest amounts; with a smaller precision they are refused by row"
        seen = f"amounts add up to more than the {_WIDEST} digits that a DECIMAL holds: {seen}"
    else:
        code, hint = "INTERNAL", ""
    return PortError(code, f"warehouse {file}: {seen}", hint=hint)


class Deadline(AbstractContextManager["Deadline"]):
    """Interrupts a connection once time is up, and again until somebody notices.

    One `interrupt()` is not enough: it is lost if it falls between two statements.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, seconds: float | None, *, began: float | None = None
    ) -> None:
        self.seconds = seconds
        self._began = began  # what was waited for the file is part of the time
        self._connection = connection
        self._passed = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def passed(self) -> bool:
        """Whether time is up."""
        return self._passed.is_set()

    def __enter__(self) -> Self:
        """Start the clock."""
        if self.seconds is not None:
            waited = 0.0 if self._began is None else time.monotonic() - self._began
            left = self.seconds - waited
            if left <= 0:
                self._passed.set()  # no statement begins, however quick the thread below is
            self._thread = threading.Thread(target=self._watch, args=(max(0.0, left),), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it; the connection may be closed after this."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, seconds: float) -> None:
        if self._over.wait(seconds):
            return
        self._passed.set()
        while True:
            self._connection.interrupt()
            if self._over.wait(_REPEAT_S):
                return

    def error(self, file: str) -> PortError:
        """TIMEOUT, with the bound that was passed."""
        return PortError("TIMEOUT", f"warehouse {file}: not done within {self.seconds:g} s, so it was interrupted")


class DuckDbSession(Session):
    """A session on one open connection. Made by `DuckDbWarehouse.session` only."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, deadline: Deadline, file: str) -> None:
        self._connection = connection
        self._deadline = deadline
        self._file = file

    def rows(self, sql: str, parameters: Sequence[SqlValue] = ()) -> list[tuple[SqlValue, ...]]:
        """Run one statement and fetch its rows."""
        with self._guarded():
            self._refuse_several(sql)
            return self._connection.execute(sql, list(parameters)).fetchall()

    def batches(
        self, sql: str, parameters: Sequence[SqlValue] = (), *, size: int = 10_000
    ) -> Iterator[list[tuple[SqlValue, ...]]]:
        """Run one statement, fetched piece by piece from a result that DuckDB has not made whole yet."""
        self.execute(sql, parameters)
        while True:
            with self._guarded():
                found = self._connection.fetchmany(size)
            if not found:
                return
            yield found

    def execute(self, sql: str, parameters: Sequence[SqlValue] = ()) -> None:
        """Run one statement for its effect."""
        with self._guarded():
            self._refuse_several(sql)
            self._connection.execute(sql, list(parameters))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end of the block, roll back if it raises."""
        self.execute("begin transaction")
        try:
            yield
            self.execute("commit")
        except BaseException:
            self._roll_back()
            raise

    def describe(self, table: str) -> tuple[ColumnFacts, ...] | None:
        """The columns of a table from the catalogue, in order; a name without schema means `main`."""
        quoted(table)
        schema, _, name = table.rpartition(".")
        found = self.rows(
            "select column_name, data_type from duckdb_columns() "
            "where database_name = current_database() and lower(schema_name) = lower(?) "
            "and lower(table_name) = lower(?) order by column_index",
            (schema or "main", name),
        )
        return tuple(ColumnFacts(str(column), str(kind)) for column, kind in found) or None

    def fingerprint(self, query: str) -> Fingerprint:
        """Count and sum of row hashes. Hashed twice, so that rows of small numbers do not add up to one another."""
        # The alias stands for the whole row unless the query has a column of that name, hence the odd name.
        found = self.rows(
            f'select count(*), coalesce(sum(hash(hash("planexec row"))::hugeint), 0) from (\n{query}\n) "planexec row"'
        )
        rows, digest = found[0]
        return Fingerprint(int(str(rows)), str(digest))

    def bind_view(self, name: str, query: str) -> None:
        """Bind a TEMP VIEW; the connection's end removes it."""
        if "." in name:
            raise PortError("VALIDATION_ERROR", f"a bound name is one identifier, not {name[:80]!r}")
        self.execute(f"create or replace temp view {quoted(name)} as\n{query}")

    def quote(self, name: str) -> str:
        """The identifier, checked and quoted."""
        return quoted(name)

    @contextmanager
    def lent(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection itself, for a library that asks by its own SQL; its errors are DuckDB's, or TIMEOUT."""
        with self._guarded():
            yield self._connection
        if self._deadline.passed:  # whatever the library made of being interrupted
            raise self._deadline.error(self._file)

    def _refuse_several(self, sql: str) -> None:
        """One statement is asked for. How many there are, DuckDB's own parser says: it is what would run them.

        Whoever judged the text did so with another parser, and the two need not agree on where a statement ends.
        """
        if ";" in sql and len(self._connection.extract_statements(sql)) > 1:
            raise PortError(
                "VALIDATION_ERROR", f"warehouse {self._file}: more than one statement; nothing of it was run",
                hint="correct the SQL that is named",
            )  # fmt: skip

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

        if self._deadline.passed:
            raise self._deadline.error(self._file)
        try:
            yield
        except duckdb.Error as error:
            if self._deadline.passed:
                raise self._deadline.error(self._file) from error
            raise port_error(error, self._file) from error

    def _roll_back(self) -> None:
        import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

        try:
            # Not `execute`: after the deadline nothing else may run, but this must.
            self._connection.rollback()
        except duckdb.Error as error:
            # None is left when the statement or the commit has ended it; an open one dies with the connection.
            if "no transaction is active" not in str(error) and not self._deadline.passed:
                raise port_error(error, self._file) from error
