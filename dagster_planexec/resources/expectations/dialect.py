"""SQLAlchemy's way to a DuckDB connection that is open and locked down already; for Great Expectations, to look only.

The connection is the session's: its turn, its lock-down, its deadline. Great Expectations is given a word that stands
for it, so it opens no file and knows no path. It takes the dialect for PostgreSQL, whose SQL DuckDB reads but for
regular expressions; the catalogue is asked DuckDB's own way. (`duckdb-engine` and `duckdb-sqlalchemy` were tried: the
first does not work with Great Expectations, the second either not with SQLAlchemy 2.1 or not with DuckDB 2.)
"""

# ruff: noqa: D102, ANN401 - the interface is SQLAlchemy's, and so are its words
from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import sqlalchemy as sa
from sqlalchemy import pool
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.engine.default import DefaultDialect

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

SCHEME = "planexec_duckdb"
MOST_ROWS = 200
"""Rows that one statement may give. An expectation asks for numbers and a few examples; more would be fetching rows."""

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_TYPES: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "BOOLEAN": sa.Boolean, "DATE": sa.Date, "TIMESTAMP": sa.DateTime, "TIMESTAMP WITH TIME ZONE": sa.DateTime,
    "TIME": sa.Time, "VARCHAR": sa.String, "DOUBLE": sa.Double, "FLOAT": sa.Float, "INTEGER": sa.Integer,
    "SMALLINT": sa.SmallInteger, "BIGINT": sa.BigInteger, "HUGEINT": sa.BigInteger,
}  # fmt: skip

_open: dict[str, duckdb.DuckDBPyConnection] = {}


@contextmanager
def reachable(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """A URL under which this connection is reached while the block lasts. Nothing can be written through it."""
    word = secrets.token_hex(8)
    _open[word] = connection
    _begin(connection)
    try:
        yield f"{SCHEME}://{word}"
    finally:
        del _open[word]
        with suppress(duckdb.Error):  # after its end there is nothing to roll back
            connection.rollback()


def _begin(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("begin transaction read only")


class TooManyRowsError(Exception):
    """An expectation asked for the rows themselves."""


class _Cursor:
    """One statement; its rows are read at once, for the connection answers one at a time."""

    arraysize = 1
    rowcount = -1

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: list[tuple[Any, ...]] | None = None

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        # A float is bound as the decimal of its shortest text: 0.1 is compared as 0.1, and money never as a float.
        bound = [Decimal(repr(value)) if isinstance(value, float) else value for value in parameters]
        try:
            self._connection.execute(sql, bound)
        except duckdb.Error:
            with suppress(duckdb.Error):
                self._connection.rollback()
            _begin(self._connection)  # one that cannot be answered must not take the others with it
            raise
        told = self._connection.description or []
        self.description = [(column[0], str(column[1]), None, None, None, None, None) for column in told] or None
        self._rows = self._connection.fetchmany(MOST_ROWS + 1)
        if len(self._rows) > MOST_ROWS:
            raise TooManyRowsError(f"more than {MOST_ROWS} rows would be fetched")

    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def close(self) -> None:
        self._rows = []


class _Connection:
    """The session's connection. Whoever opened it ends it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def cursor(self) -> _Cursor:
        return _Cursor(self._connection)

    def commit(self) -> None:
        """Nothing was written."""

    def rollback(self) -> None:
        """As above."""

    def close(self) -> None:
        """As above."""


class _Compiler(PGCompiler):
    """PostgreSQL's `~` finds a match anywhere in a text; DuckDB's wants the whole text to match."""

    def visit_custom_op_binary(self, element: Any, operator: Any, **more: Any) -> str:
        if operator.opstring not in {"~", "!~"}:
            return str(super().visit_custom_op_binary(element, operator, **more))  # type: ignore[no-untyped-call]
        found = f"regexp_matches({self.process(element.left, **more)}, {self.process(element.right, **more)})"
        return found if operator.opstring == "~" else f"NOT {found}"


class LookingDialect(PGDialect):
    """See the module."""

    driver = SCHEME
    default_paramstyle = "qmark"
    supports_statement_cache = False
    statement_compiler = _Compiler
    # The catalogue's questions about many tables at once, put as questions about each.
    get_multi_columns = DefaultDialect.get_multi_columns  # type: ignore[assignment]
    get_multi_pk_constraint = DefaultDialect.get_multi_pk_constraint  # type: ignore[assignment]
    get_multi_foreign_keys = DefaultDialect.get_multi_foreign_keys  # type: ignore[assignment]
    get_multi_indexes = DefaultDialect.get_multi_indexes  # type: ignore[assignment]
    get_multi_unique_constraints = DefaultDialect.get_multi_unique_constraints  # type: ignore[assignment]
    get_multi_check_constraints = DefaultDialect.get_multi_check_constraints  # type: ignore[assignment]

    @classmethod
    def import_dbapi(cls) -> Any:
        return SimpleNamespace(paramstyle="qmark", apilevel="2.0", threadsafety=1, Error=duckdb.Error)

    @classmethod
    def get_pool_class(cls, url: sa.URL) -> type[pool.Pool]:  # noqa: ARG003 - the interface
        return pool.NullPool

    def create_connect_args(self, url: sa.URL) -> tuple[list[str], dict[str, Any]]:
        return [str(url.host)], {}

    def connect(self, *arguments: Any, **_: Any) -> DBAPIConnection:
        return _Connection(_open[arguments[0]])  # type: ignore[return-value] # as much of one as is used

    def initialize(self, connection: sa.Connection) -> None:  # noqa: ARG002 - the interface
        self.server_version_info = (15, 0)
        self.default_schema_name = "main"

    def on_connect(self) -> None:
        return None

    def get_columns(self, connection: sa.Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:  # noqa: ARG002
        # What is asked of is a view of the session, in no schema: a library that names schemas warns that it does.
        found = connection.exec_driver_sql(
            "select column_name, data_type, is_nullable from duckdb_columns() where database_name = 'temp'"
            " and table_name = ? order by column_index",
            (table_name,),
        ).fetchall()
        return [
            {"name": name, "type": _type(kind), "nullable": bool(may), "default": None, "comment": None}
            for name, kind, may in found
        ]

    def get_pk_constraint(self, *_: Any, **__: Any) -> Any:
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(self, *_: Any, **__: Any) -> Any:
        return []

    get_indexes = get_unique_constraints = get_check_constraints = get_foreign_keys


def _type(kind: str) -> sa.types.TypeEngine[Any]:
    exact = _DECIMAL.fullmatch(kind)
    if exact:
        return sa.Numeric(int(exact[1]), int(exact[2]))
    return _TYPES.get(kind, sa.String)()


registry.register(SCHEME, __name__, "LookingDialect")
