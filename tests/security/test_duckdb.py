"""SQL of a plan against the file system, the network, settings, and other tables: refused twice, by text and by port.

The static check reads with one parser, DuckDB with another. So every attack is made on both: the text is refused before
it runs, and the locked-down connection refuses it when nobody has read it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dagster_planexec.checks.sql_lint import lint_sql
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.errors import PortError
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from tests.support.hostile import contents
from tests.support.reconciling import Bench, bench, make_world

REACHES_OUT = (
    "select * from read_csv('{f}/secret.csv')",
    "select * from read_csv_auto('/etc/passwd')",
    "select * from read_text('{f}/secret.csv')",
    "select * from read_blob('{f}/secret.csv')",
    "select * from read_json('{f}/secret.csv')",
    "select * from read_ndjson_objects('{f}/secret.csv')",
    "select * from read_parquet('{f}/x.parquet')",
    "select * from parquet_metadata('{f}/x.parquet')",
    "select * from sniff_csv('{f}/secret.csv')",
    "select * from glob('{f}/*')",
    "select * from '{f}/secret.csv'",
    "from '{f}/secret.csv'",
    "select * from ledger union all by name select * from '{f}/secret.csv'",
    "select * from 'https://127.0.0.1:9/x.csv'",
    "select * from 's3://bucket/x.parquet'",
    "copy (select 42) to '{f}/out.csv'",
    "copy (select 42) to '/dev/stdout'",
    "copy staging.ledger from '{f}/secret.csv'",
    "export database '{f}/dump'",
    "import database '{f}/dump'",
    "attach '{f}/other.duckdb' as other",
    "attach 'postgres:host=127.0.0.1' as pg (type postgres)",
    "install httpfs",
    "force install httpfs from '{f}'",
    "load '{f}/x.so'",
    "load httpfs",
    "create secret x (type s3)",
    "create or replace persistent secret x (type s3, key_id 'a')",
    "select * from duckdb_secrets()",
    "select * from which_secret('s3://x', 's3')",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "reset lock_configuration",
    "set temp_directory = '{f}/t'",
    "set home_directory = '{f}'",
    "set profiling_output = '{f}/p.json'",
    "pragma enable_profiling = 'json'",
    "pragma memory_limit = '100GB'",
    "set threads = 64",
    "select getenv('AWS_SECRET_ACCESS_KEY')",
)
"""Each is refused by the connection itself: FORBIDDEN, or a function that is not there."""

HIDDEN = (
    "select 1 as a from ledger; drop table books.charges",
    "select 1 as a from ledger; insert into credits.issued values (1)",
    "select 1 as a from ledger -- ;\n; drop table books.charges",
    "select 1 as a from ledger -- \r; drop table books.charges",
    "select 1 as a from ledger /* ; */ ; drop table books.charges",
    "select 1 as a from ledger /* /* */ ; drop table books.charges -- */",
    "select 1 as a from ledger /*/**/; drop table books.charges; --*/",
    "select 1 as a from ledger {# #}; drop table books.charges",
    "select 1 as a from ledger {# ; drop table books.charges #}",
    "select $$;$$ as a from ledger; drop table books.charges",
    "select $x$ ; $x$ as a from ledger; drop table books.charges; select $x$ $x$",
    "select e'\\'' as a from ledger; drop table books.charges; --'",
    "select '\\' as a from ledger; drop table books.charges; --'",
    'select "a"";" from ledger; drop table books.charges',
    "select 1 as a from ledger\ufeff; drop table books.charges",
    "select 1 as a from ledger\u00a0;\u00a0drop table books.charges",
    "select 1 as a from ledger\x0b; drop table books.charges",
    "select 1 as a from ledger) x; drop table books.charges; select * from (select 1 as a",
    "select 1 as a from ledger;;;; drop table books.charges",
    "begin; drop table books.charges; commit",
    "with x as (delete from books.charges returning *) select * from x",
    "explain analyze delete from books.charges",
    "prepare p as delete from books.charges; execute p",
    "create macro ledger() as table select 1",
    "execute immediate 'drop table books.charges'",
    "select * from query('delete from books.charges returning *')",
    "select * from query_table('books.charges')",
    "call enable_logging()",
    "select 1 as a from ledger # ; drop table books.charges",
    "select 1 as a from ledger // ; drop table books.charges",
)
"""Statements behind comments, quotes and marks that parsers read in different ways."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the task lies, beside a file that nobody may read."""
    made = tmp_path_factory.mktemp("world")
    (made / "secret.csv").write_text("k,a\nX,1\n")
    return made


@pytest.fixture(scope="module")
def on(folder: Path) -> Bench:
    """A month of two sides. One for all tests: each of them shows that it left everything as it was."""
    out = bench(folder / "task")
    make_world(out, "normal")
    return out


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.name.endswith(".wal")}


@pytest.mark.parametrize("sql", REACHES_OUT)
def test_the_text_and_the_connection_refuse_it(on: Bench, folder: Path, sql: str) -> None:
    """By the static check, by the tool, and by the port: nothing is read, nothing is written, no setting changes."""
    text = sql.format(f=folder)
    (on.sql / "q.sql").write_text(text, encoding="utf-8")
    there, before = files(folder), contents(on.ports.warehouse)

    assert lint_sql(text, inputs=["ledger", "vendor"])
    args = RunSqlArgs(file="q.sql", inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.z")
    outcome = on.call(RunSql(), args)
    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    with on.ports.warehouse.session(deadline_s=20) as session:
        session.bind_view("ledger", "select 1 as a")
        with pytest.raises(PortError) as caught:
            session.rows(text)
    assert caught.value.code in {"FORBIDDEN", "VALIDATION_ERROR"}
    assert caught.value.code == "FORBIDDEN" or "does not exist" in caught.value.message
    assert (files(folder), contents(on.ports.warehouse)) == (there, before)


@pytest.mark.parametrize("sql", HIDDEN)
def test_a_statement_that_hides_is_never_run(on: Bench, sql: str) -> None:
    """The tool makes its own table or fails; what one parser overlooks, the other one counts."""
    (on.sql / "q.sql").write_bytes(sql.encode())
    before = contents(on.ports.warehouse)
    args = RunSqlArgs(file="q.sql", inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.z")
    try:
        outcome = on.call(RunSql(), args)
    except PortError:
        outcome = None
    after = contents(on.ports.warehouse)
    if not (outcome is None or isinstance(outcome, Failed)):
        assert after.pop("recon.z")
        with on.ports.warehouse.session() as session:
            session.execute("drop table recon.z")
    assert after == before


@pytest.mark.parametrize("sql", [sql for sql in HIDDEN if "; drop" in sql or ";\u00a0drop" in sql])
def test_the_port_runs_one_statement(on: Bench, sql: str) -> None:
    """However the text came there: several statements are refused whole, by DuckDB's own count of them."""
    before = contents(on.ports.warehouse)
    with on.ports.warehouse.session() as session:
        session.bind_view("ledger", "select 1 as a")
        for attack in (session.rows, session.execute, session.fingerprint, lambda q: session.bind_view("v", q)):
            try:
                attack(sql)  # type: ignore[operator]
            except PortError as error:
                assert error.code in {"VALIDATION_ERROR", "FORBIDDEN", "INTERNAL"}, error.message  # noqa: PT017
    assert contents(on.ports.warehouse) == before


def test_what_a_session_sets_ends_with_it(on: Bench) -> None:
    """What the lock-down leaves open (a database in memory, a variable, a schema) does not outlive the session."""
    with on.ports.warehouse.together():
        with on.ports.warehouse.session() as session:
            session.execute("set variable v = 7")
            session.execute("set schema = 'staging'")
            session.execute("create temp table left_behind as select 1 as a")
        with on.ports.warehouse.session() as session:
            assert session.rows("select getvariable('v')") == [(None,)]
            assert session.rows("select current_schema()") == [("main",)]
            assert session.describe("left_behind") is None
