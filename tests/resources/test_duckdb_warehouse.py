"""DuckDB as a warehouse: turns, lock-down, deadlines, fingerprints, and what its errors mean."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_session import port_error
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.ingest import FileFormat, TextColumn, TextIngest
from dagster_planexec.world.ports import ColumnFacts

HOLD = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(60)"
LONG = "select count(*) from range(10000000) a, range(10000000) b where (a.range * b.range) % 7 = 3"


@pytest.fixture
def warehouse(tmp_path):
    """A warehouse with one table, `s.t`: three rows of key and money."""
    out = DuckDbWarehouse(tmp_path / "books.duckdb", wait_s=1.0)
    with out.session() as session:
        session.execute("create schema s")
        session.execute("create table s.t (k varchar, a decimal(18,2))")
        session.execute("insert into s.t values ('A', 10), ('B', 20), ('C', 0.05)")
    return out


@pytest.fixture
def holder(warehouse):
    """Another process that holds the file."""
    command = [sys.executable, "-c", HOLD, str(warehouse.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "held"
        yield process
        process.kill()


def caught(call):
    with pytest.raises(PortError) as error:
        call()
    return error.value


# -------------------------------------------------------------------------------------------- who holds the file


def test_a_file_held_by_another_process_is_locked_and_its_pid_named(warehouse, holder):
    """LOCKED names the file and the PID of the holder, and the hint says what to do, after the wait."""
    began = time.monotonic()

    error = caught(lambda: warehouse.session().__enter__())

    assert error.code == "LOCKED"
    assert "books.duckdb" in error.message
    assert f"process {holder.pid}" in error.message
    assert error.hint.startswith(f"wait for it, or ask whoever runs process {holder.pid}, before you end it")
    assert 0.8 < time.monotonic() - began < 5


def test_a_short_holder_is_waited_for(warehouse, holder):
    """A holder that goes away within the wait costs time and nothing else."""
    warehouse.wait_s = 20.0
    threading.Timer(0.5, lambda: os.kill(holder.pid, signal.SIGKILL)).start()

    with warehouse.session() as session:
        assert session.rows("select count(*) from s.t") == [(3,)]


def test_the_wait_ends_with_the_deadline(warehouse, holder):
    """A call with a deadline does not wait longer for the file than the deadline."""
    warehouse.wait_s = 60.0
    began = time.monotonic()

    assert caught(lambda: warehouse.session(deadline_s=0.5).__enter__()).code == "LOCKED"
    assert time.monotonic() - began < 5


def test_sessions_of_one_process_take_turns(warehouse):
    """Two threads, two warehouse objects, one file: the second session starts after the first has ended."""
    other = DuckDbWarehouse(warehouse.path, wait_s=10.0)
    events = []

    def second():
        with other.session():
            events.append("second")

    with warehouse.session():
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        events.append("first ends")
    thread.join()

    assert events == ["first ends", "second"]


def test_a_turn_that_does_not_come_is_locked(warehouse):
    """A session that outlasts the wait of another thread's session is LOCKED there."""
    seen = []
    with warehouse.session():
        thread = threading.Thread(target=lambda: seen.append(caught(lambda: warehouse.session().__enter__())))
        thread.start()
        thread.join()

    assert [error.code for error in seen] == ["LOCKED"]


def test_a_session_inside_a_session_is_refused_at_once(warehouse):
    """Nesting would wait for itself; it is an error of the program and says so."""
    patient = DuckDbWarehouse(warehouse.path, wait_s=60)
    began = time.monotonic()
    with patient.session():
        error = caught(lambda: patient.session().__enter__())

    assert (error.code, "inside another" in error.message) == ("INTERNAL", True)
    assert time.monotonic() - began < 30


def test_a_file_that_is_no_database_is_not_waited_for(tmp_path):
    """Only a held file is worth waiting for."""
    (tmp_path / "notes.duckdb").write_text("these are notes, and quite a few of them " * 100)
    began = time.monotonic()

    error = caught(lambda: DuckDbWarehouse(tmp_path / "notes.duckdb").session().__enter__())

    assert (error.code, "notes.duckdb" in error.message) == ("INTERNAL", True)
    assert time.monotonic() - began < 5


# ------------------------------------------------------------------------------------------------- lock-down


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('{folder}/secret.csv')",
        "select * from '{folder}/secret.csv'",
        "select * from read_text('{folder}/secret.csv')",
        "select * from glob('{folder}/*')",
        "copy s.t to '{folder}/out.csv'",
        "copy s.t from '{folder}/secret.csv'",
        "export database '{folder}/dump'",
        "attach '{folder}/other.duckdb' as other",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "set enable_external_access = true",
        "reset lock_configuration",
        "pragma memory_limit = '1GB'",
        "create persistent secret x (type s3)",
    ],
)
def test_a_session_reaches_tables_and_nothing_else(warehouse, tmp_path, sql):
    """No file, no network, no setting: FORBIDDEN, and nothing is written."""
    (tmp_path / "secret.csv").write_text("k,a\nX,1\n")

    with warehouse.session() as session:
        error = caught(lambda: session.execute(sql.format(folder=tmp_path)))

    assert error.code == "FORBIDDEN"
    assert sorted(path.name for path in tmp_path.iterdir() if ".wal" not in path.name) == ["books.duckdb", "secret.csv"]


def test_sql_cannot_read_variables_of_the_calling_code(warehouse):
    """DuckDB takes unknown table names for data frames in the caller's frames; a session does not."""
    leaked = pd.DataFrame({"k": ["X"]})

    with warehouse.session() as session:
        assert caught(lambda: session.rows("select * from leaked")).code == "TABLE_GONE"
    assert len(leaked) == 1


def request_of(path, target="s.t"):
    columns = (TextColumn("k", "k", "text"), TextColumn("a", "a", "decimal"))
    return TextIngest((path,), FileFormat(), columns, target, "s.rejects")


def test_ingest_reads_files_in_its_turn(warehouse, tmp_path):
    """A session, a load and a session again: the load may read its file, and the sessions may not."""
    (tmp_path / "in.csv").write_text("k,a\nX,1.50\nY,2\n")
    read = f"select * from read_csv('{tmp_path}/in.csv')"
    for _ in range(2):
        with warehouse.session() as session:
            assert caught(lambda: session.rows(read)).code == "FORBIDDEN"
        assert warehouse.ingest(request_of(tmp_path / "in.csv"), deadline_s=30).rows_loaded == 2

    with warehouse.session() as session:
        assert session.rows("select k, a from s.t order by k") == [("X", Decimal("1.50")), ("Y", Decimal("2.00"))]


def test_ingest_into_a_missing_table_is_table_gone(warehouse, tmp_path):
    """The code is that of the missing target."""
    (tmp_path / "in.csv").write_text("k,a\nX,1.50\n")

    assert caught(lambda: warehouse.ingest(request_of(tmp_path / "in.csv", "s.gone"))).code == "TABLE_GONE"


def test_the_lock_down_ends_with_the_session(warehouse, tmp_path):
    """A loader opened after a session may read files again."""
    (tmp_path / "in.csv").write_text("k,a\nX,1\n")
    with warehouse.session():
        pass

    with warehouse.open_unlocked() as (connection, _):
        assert connection.execute(f"select k from read_csv('{tmp_path}/in.csv')").fetchall() == [("X",)]


# ------------------------------------------------------------------------------------------ sessions that share


def held_by_us(path):
    """Whether another process finds the file taken."""
    command = [sys.executable, "-c", "import duckdb, sys; duckdb.connect(sys.argv[1]).close()", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or f"PID {os.getpid()}" in done.stderr
    return done.returncode != 0


def test_sessions_together_share_one_opening_that_ends_with_the_block(warehouse):
    """The file stays open between them, nobody else has it meanwhile, and it is free afterwards."""
    with warehouse.together():
        assert not held_by_us(warehouse.path)
        for _ in range(2):
            with warehouse.session() as session:
                assert session.rows("select count(*) from s.t") == [(3,)]
            assert held_by_us(warehouse.path)

    assert not held_by_us(warehouse.path)


def test_blocks_nest_and_the_outermost_ends_it(warehouse):
    """An inner block that ends closes nothing that the outer one shares."""
    with warehouse.together():
        with warehouse.together(), warehouse.session():
            pass
        assert held_by_us(warehouse.path)

    assert not held_by_us(warehouse.path)


def test_each_session_of_a_block_is_locked_down(warehouse, tmp_path):
    """Also the second: no file, no setting, no variable of the calling code."""
    (tmp_path / "in.csv").write_text("k,a\nX,1\n")
    leaked = pd.DataFrame({"k": ["X"]})
    with warehouse.together():
        for _ in range(2):
            with warehouse.session() as session:
                assert caught(lambda: session.rows(f"select * from read_csv('{tmp_path}/in.csv')")).code == "FORBIDDEN"
            with warehouse.session() as session:
                assert caught(lambda: session.execute("set threads = 1")).code == "FORBIDDEN"
            with warehouse.session() as session:
                assert caught(lambda: session.rows("select * from leaked")).code == "TABLE_GONE"
            with warehouse.session() as session:
                assert session.rows("select count(*) from s.t") == [(3,)]
    assert len(leaked) == 1


def test_sessions_of_a_block_share_tables_and_nothing_else(warehouse):
    """A view and an open transaction end with the session that made them."""
    with warehouse.together():
        with warehouse.session() as session:
            session.bind_view("mine", "select 1 as x")
            session.execute("insert into s.t values ('D', 1)")
            session.execute("begin transaction")
            session.execute("delete from s.t")
        with warehouse.session() as session:
            assert session.rows("select count(*) from s.t") == [(4,)]
            assert caught(lambda: session.rows("select * from mine")).code == "TABLE_GONE"


def test_a_load_inside_a_block_may_read_its_file(warehouse, tmp_path):
    """It does not get the locked-down database, and the session after it does not get the loader's."""
    (tmp_path / "in.csv").write_text("k,a\nX,1.50\nY,2\n")
    read = f"select * from read_csv('{tmp_path}/in.csv')"
    with warehouse.together():
        for _ in range(2):
            with warehouse.session() as session:
                assert caught(lambda: session.rows(read)).code == "FORBIDDEN"
            assert warehouse.ingest(request_of(tmp_path / "in.csv"), deadline_s=30).rows_loaded == 2
        with warehouse.session() as session:
            assert session.rows("select count(*) from s.t") == [(2,)]


def test_a_session_that_was_interrupted_does_not_harm_the_next_of_its_block(warehouse):
    """After a TIMEOUT the next session works, and has its own deadline."""
    with warehouse.together():
        assert caught(lambda: run_long(warehouse)).code == "TIMEOUT"
        with warehouse.session(deadline_s=30) as session:
            assert session.rows("select count(*) from s.t") == [(3,)]


def run_long(warehouse):
    with warehouse.session(deadline_s=0.3) as session:
        session.rows(LONG)


def test_a_session_that_outlives_its_block_closes_the_file(warehouse):
    """A thread that was given up keeps what it uses, and nothing stays open behind it."""
    inside, go_on = threading.Event(), threading.Event()

    def straggle():
        with warehouse.session() as session:
            inside.set()
            go_on.wait(10)
            assert session.rows("select count(*) from s.t") == [(3,)]

    straggler = threading.Thread(target=straggle)
    with warehouse.together():
        straggler.start()
        assert inside.wait(10)
    assert held_by_us(warehouse.path)
    go_on.set()
    straggler.join()

    assert not held_by_us(warehouse.path)


def test_a_warehouse_with_another_memory_limit_shares_nothing(warehouse):
    """Two objects for one file: each session has its own object's limit."""
    small = DuckDbWarehouse(warehouse.path, memory_limit="64MB")
    asked = "select current_setting('memory_limit')"
    with warehouse.together():
        for _ in range(2):
            with warehouse.session() as session:
                assert session.rows(asked) != [("61.0 MiB",)]
            with small.session() as session:
                assert session.rows(asked) == [("61.0 MiB",)]


# -------------------------------------------------------------------------------------------------- deadlines


def test_a_long_statement_is_interrupted(warehouse):
    """The deadline ends a running statement: TIMEOUT within a moment of it."""
    began = time.monotonic()

    with warehouse.session(deadline_s=0.5) as session:
        error = caught(lambda: session.rows(LONG))

    assert (error.code, "0.5 s" in error.message) == ("TIMEOUT", True)
    assert time.monotonic() - began < 5


def test_nothing_starts_after_the_deadline(warehouse):
    """A deadline that passes between two statements is not lost."""
    with warehouse.session(deadline_s=1.0) as session:
        assert session.rows("select 1") == [(1,)]
        time.sleep(1.1)
        assert caught(lambda: session.rows("select 1")).code == "TIMEOUT"


def test_a_passed_deadline_rolls_back(warehouse):
    """What a transaction had done before it timed out is undone."""

    def work():
        with warehouse.session(deadline_s=0.5) as session, session.transaction():
            session.execute("delete from s.t")
            session.rows(LONG)

    assert caught(work).code == "TIMEOUT"
    with warehouse.session() as session:
        assert session.rows("select count(*) from s.t") == [(3,)]


def test_the_next_session_is_not_interrupted(warehouse):
    """The timer dies with its session."""
    with suppress(PortError), warehouse.session(deadline_s=0.3) as session:
        session.rows("select 1")  # on a busy machine it may be late itself: then there is no timer left
    with warehouse.session() as session:
        time.sleep(0.5)
        assert session.rows("select count(*) from range(1000000)") == [(1000000,)]


# ----------------------------------------------------------------------------------------------- statements


def test_a_transaction_is_all_or_nothing(warehouse):
    """It commits at its end and rolls back if its block raises; the block's own error comes out."""
    with warehouse.session() as session:
        with session.transaction():
            session.execute("insert into s.t values ('D', 1)")

        def fail():
            with session.transaction():
                session.execute("delete from s.t")
                session.execute("select * from s.gone")

        assert caught(fail).code == "TABLE_GONE"
        assert session.rows("select count(*) from s.t") == [(4,)]


def test_values_are_bound(warehouse):
    """A value that looks like SQL is a value."""
    with warehouse.session() as session:
        assert session.rows("select count(*) from s.t where k = ?", ("A' or '1'='1",)) == [(0,)]


def test_describe_names_columns_and_types_in_order(warehouse):
    """From the catalogue, None for a table that is not there; a temp view of the same name is not a table."""
    with warehouse.session() as session:
        session.bind_view("u", "select 1 as x")
        assert session.describe("s.t") == (ColumnFacts("k", "VARCHAR"), ColumnFacts("a", "DECIMAL(18,2)"))
        assert session.describe("S.T") == session.describe("s.t")
        assert session.describe("s.u") is None
        assert session.describe("u") is None


def test_a_view_is_bound_again_and_gone_with_the_session(warehouse):
    """One name, two meanings in turn, and none on the next connection."""
    with warehouse.session() as session:
        session.bind_view("side", "select * from s.t")
        assert session.rows("select count(*) from side") == [(3,)]
        session.bind_view("side", "select * from s.t where false")
        assert session.rows("select count(*) from side") == [(0,)]
    with warehouse.session() as session:
        assert caught(lambda: session.rows("select * from side")).code == "TABLE_GONE"


@pytest.mark.parametrize("name", ['a"b', "a;b", "a b", "", "a.b.c", ".a", "a.", "1a", "ä", "x" * 64, "a\n", "a--"])
def test_only_plain_identifiers_are_quoted(warehouse, name):
    """Anything that would need escaping is refused, not escaped."""
    with warehouse.session() as session:
        assert caught(lambda: session.quote(name)).code == "VALIDATION_ERROR"
        assert caught(lambda: session.bind_view(name, "select 1")).code == "VALIDATION_ERROR"


def test_keywords_and_schemas_are_quoted(warehouse):
    """A plain identifier that is a keyword works as a name."""
    with warehouse.session() as session:
        assert session.quote("s.select") == '"s"."select"'
        session.execute(f"create table {session.quote('s.select')} (x integer)")
        assert session.describe("s.select") == (ColumnFacts("x", "INTEGER"),)


# ---------------------------------------------------------------------------------------------- fingerprints


def prints(warehouse, *queries):
    with warehouse.session() as session:
        return [session.fingerprint(query) for query in queries]


def test_equal_rows_in_any_order_have_one_fingerprint(warehouse):
    """It is free of order, and a text that is the same in the next session."""
    one, other = prints(warehouse, "select * from s.t order by k", "select * from s.t order by a;"[:-1])
    (again,) = prints(warehouse, "select * from s.t")

    assert one == other == again
    assert str(one) == f"3 rows, digest {one.digest}"
    assert one.digest.isdecimal()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("values ('A', 10), ('B', 20)", "values ('A', 20), ('B', 10)"),
        ("values (1, 2)", "values (2, 1)"),
        ("values (1), (1), (2)", "values (1), (2), (2)"),
        ("values (1), (1)", "values (2), (2)"),
        ("select 1 where false", "select null"),
        ("values ('a', null)", "values (null, 'a')"),
        ('select 1 as "planexec", 2 as x', 'select 1 as "planexec", 3 as x'),
        ("select 1 as r, 2 as x", "select 1 as r, 3 as x"),
    ],
    ids=["swapped", "columns", "repeats", "pairs", "empty-null", "nulls", "named-like-alias", "named-r"],
)
def test_different_rows_have_different_fingerprints(warehouse, one, other):
    """Above all two rows with swapped amounts, which XOR cannot tell apart; repeated rows do not cancel out."""
    assert len(set(prints(warehouse, one, other))) == 2


def test_the_fingerprint_of_nothing_is_zero(warehouse):
    """No rows: count and digest are both 0, not null."""
    (seen,) = prints(warehouse, "select * from s.t where false")

    assert (seen.rows, seen.digest) == (0, "0")


# ------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select * from s.gone", "TABLE_GONE"),
        ("select * from gone.t", "TABLE_GONE"),
        ("create table gone.t (x integer)", "TABLE_GONE"),
        ("drop view s.gone", "TABLE_GONE"),
        ("selec 1", "VALIDATION_ERROR"),
        ("select nope from s.t", "VALIDATION_ERROR"),
        ("select no_such_function(1)", "VALIDATION_ERROR"),
        ("select cast('x' as integer)", "INTERNAL"),
    ],
)
def test_errors_of_duckdb_become_codes(warehouse, sql, code):
    """Each error has one code of the table, names the file and is bounded."""
    with warehouse.session() as session:
        error = caught(lambda: session.execute(sql + " " * 10 + "-- " + "x" * 5000))

    assert error.code == code in CODES
    assert "books.duckdb" in error.message
    assert len(error.message) < 400
    assert "\n" not in error.message


@pytest.mark.parametrize("why", ["No space left on device", "File too large", "Disk quota exceeded"])
@pytest.mark.parametrize("kind", [duckdb.IOException, duckdb.TransactionException])
def test_no_space_left_is_disk_full(kind, why):
    """The text of a full disk, of a limit or of a quota, whatever class DuckDB gives it."""
    error = kind(f"Failed to commit: Could not write file: {why}")

    assert port_error(error, "books.duckdb").code == "DISK_FULL"


def test_a_full_temporary_folder_is_disk_full(tmp_path):
    """A real statement that may spill nowhere."""
    warehouse = DuckDbWarehouse(tmp_path / "small.duckdb", memory_limit="20MB")
    with warehouse.open_unlocked() as (connection, _):
        connection.execute("set max_temp_directory_size = '1MB'")
        with pytest.raises(duckdb.Error) as error:
            connection.execute("select count(*) from (select distinct hash(range) from range(20000000))").fetchall()

    assert port_error(error.value, "small.duckdb").code == "DISK_FULL"


def test_money_and_counts_keep_their_types(warehouse):
    """Money comes back as Decimal, counts as int."""
    with warehouse.session() as session:
        assert session.rows("select count(*), sum(a) from s.t") == [(3, Decimal("30.05"))]


def test_the_folder_is_made(tmp_path):
    """The first session makes the file and its folder."""
    warehouse = DuckDbWarehouse(tmp_path / "a" / "b" / "w.duckdb")
    with warehouse.session() as session:
        session.execute("create table t (d date)")
        session.execute("insert into t values (?)", (date(2026, 3, 1).isoformat(),))

    assert (tmp_path / "a" / "b" / "w.duckdb").is_file()
    assert (warehouse.name, warehouse.dialect) == ("w", "duckdb")


def test_ten_threads_lose_nothing(warehouse):
    """Sessions that contend for one file each get their turn."""
    warehouse.wait_s = 30.0
    path = Path(warehouse.path)

    def add(n):
        with DuckDbWarehouse(path, wait_s=30.0).session() as session:
            session.execute("insert into s.t values (?, 1)", (f"T{n}",))

    threads = [threading.Thread(target=add, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with warehouse.session() as session:
        assert session.rows("select count(*) from s.t where k like 'T%'") == [(10,)]
