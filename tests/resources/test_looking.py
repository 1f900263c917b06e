"""Ports for looks that must change nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import Credit


@pytest.fixture
def warehouse(tmp_path):
    """A warehouse with one table."""
    made = DuckDbWarehouse(tmp_path / "w.duckdb")
    with made.session() as session:
        session.execute("create table t as select 1 as a")
    return made


def test_a_look_reads_what_is_there(warehouse):
    """Rows, columns, fingerprint."""
    with warehouse.session() as session:
        written = session.fingerprint("select * from t")
    with warehouse.looking().session() as session:
        assert session.rows("select a from t") == [(1,)]
        assert session.fingerprint("select * from t") == written


@pytest.mark.parametrize("statement", ["insert into t values (2)", "drop table t", "create table u as select 1"])
def test_a_look_cannot_write(warehouse, statement):
    """Whatever the statement is; the table is as it was."""
    with pytest.raises(PortError), warehouse.looking().session() as session:
        session.execute(statement)

    with warehouse.session() as session:
        assert session.rows("select * from t") == [(1,)]


def test_a_look_makes_no_file(tmp_path):
    """A warehouse that is not there is TABLE_GONE, and so are the credits in it."""
    absent = DuckDbWarehouse(tmp_path / "none" / "w.duckdb")
    credit_system = DuckDbCredits(absent, SystemClock())

    with pytest.raises(PortError) as gone, absent.looking().session():
        pass
    with pytest.raises(PortError) as no_credits:
        credit_system.looking().issued("scope", "2026-02")

    assert (gone.value.code, no_credits.value.code) == ("TABLE_GONE", "TABLE_GONE")
    assert not (tmp_path / "none").exists()


def test_looks_and_writes_take_turns_in_a_shared_block(warehouse):
    """What a block shares is opened anew when it is asked for in the other mode."""
    with warehouse.together():
        with warehouse.looking().session() as session:
            assert session.rows("select count(*) from t") == [(1,)]
        with warehouse.session() as session:
            session.execute("insert into t values (2)")
        with warehouse.looking().session() as session:
            assert session.rows("select count(*) from t") == [(2,)]


def test_credits_are_looked_up_without_being_issued(warehouse):
    """The look sees them, and can issue none."""
    credit_system = DuckDbCredits(warehouse, SystemClock())
    credit_system.issue(Credit("scope", "2026-02", "a", 1, Decimal("1.50"), "USD"))

    assert credit_system.looking().issued("scope", "2026-02") == {"a": Decimal("1.50")}
    with pytest.raises(PortError):
        credit_system.looking().issue(Credit("scope", "2026-02", "b", 1, Decimal("2.00"), "USD"))
    assert credit_system.issued("scope", "2026-02") == {"a": Decimal("1.50")}
