"""The table that is loaded: it is there, holds these columns, and is replaced in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import TextIngest

if TYPE_CHECKING:
    import duckdb


def expect_table(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> None:
    """The target is there and holds these columns: a DECIMAL of a smaller scale would round what is put into it."""
    schema, name = request.target.split(".", 1)
    found: dict[str, Any] = dict(
        connection.execute(
            "select column_name, data_type from duckdb_columns() where database_name = current_database() "
            "and schema_name = ? and table_name = ? order by column_index",
            [schema, name],
        ).fetchall()
    )
    if not found:
        raise PortError("TABLE_GONE", f"table {request.target} is not there", hint="create it before it is loaded")
    wrong = [f"{c.name} {c.sql_type}" for c in request.columns if found.get(c.name) != c.sql_type]
    if wrong:
        has = ", ".join(f"{column} {kind}" for column, kind in list(found.items())[:20])
        raise PortError(
            "SCHEMA_DRIFT",
            f"table {request.target} lacks {', '.join(wrong[:20])}; it has {has}",
            hint="create the table from the contract it is loaded by",
        )


@contextmanager
def replacing(connection: duckdb.DuckDBPyConnection, request: TextIngest) -> Iterator[None]:
    """One transaction that begins with an empty target and no rejects."""
    connection.execute("begin transaction")
    try:
        connection.execute(f"delete from {table(request.target)}")
        connection.execute(
            f"create or replace table {table(request.rejects)} "
            '(source varchar, line bigint, "column" varchar, value varchar, reason varchar, '
            f"amount {_worth(request)})"
        )
        yield
        connection.execute("commit")
    except BaseException:
        _roll_back(connection)
        raise


def _worth(request: TextIngest) -> str:
    """The type of what a rejected row is worth."""
    return next((c.sql_type for c in request.columns if c.name == request.amount), "decimal(38, 2)")


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

    # None is left when the statement or the commit has ended it, and then the first error is the one to be heard.
    with suppress(duckdb.TransactionException):
        connection.rollback()


def inserted(connection: duckdb.DuckDBPyConnection, request: TextIngest, query: str, path: Path) -> int:
    """Put what a query over one file gives into the table; how many rows that were."""
    done = connection.execute(f"insert into {table(request.target)} by name {query}", [str(path)]).fetchone()
    return int(done[0]) if done else 0


def quoted(name: str) -> str:
    """A name that a checked contract wrote, as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def table(name: str) -> str:
    """`schema.table`, each part quoted."""
    schema, table = name.split(".", 1)
    return f"{quoted(schema)}.{quoted(table)}"
