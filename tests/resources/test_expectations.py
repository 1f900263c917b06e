"""Suites asked of a real DuckDB file by Great Expectations itself: what is fetched, compared, shown and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.expectations.suite import parse_suite
from dagster_planexec.world.suite import SuiteTold, Told

SCRIPT = "<script>alert(1)</script>"
ROWS = 1_000


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> DuckDbWarehouse:
    """A table of a thousand rows, the same without rows, and one of awkward amounts."""
    made = DuckDbWarehouse(tmp_path_factory.mktemp("suites") / "w.duckdb")
    with made.session() as session:
        session.execute("create schema staging")
        session.execute(
            "create table staging.lines as select i as line, 'A' || i as code, (i / 10)::decimal(12,2) as amount, "
            f"case when i = 3 then '{SCRIPT} $x' else 'fine' end as note, null::varchar as nothing "
            f"from range({ROWS}) t(i)"
        )
        session.execute("create table staging.none as select * from staging.lines where false")
        session.execute(
            "create table staging.odd as select 0.10::decimal(38,2) as tenth, 0.30::decimal(38,2) as three, "
            "123456789.01::decimal(38,2) as large, 9007199254740993::bigint as id, date '2026-03-31' as day"
        )
    return made


def ask(
    warehouse: DuckDbWarehouse, *expectations: dict[str, Any], table: str = "staging.lines", **more: Any
) -> SuiteTold:
    """What a suite of these says."""
    raw = json.dumps({"name": "lines", "expectations": [{**one, "meta": {}} for one in expectations], "meta": {}})
    return warehouse.expectations(parse_suite(raw.encode(), "lines.json"), table, **more)


def of(kind: str, **kwargs: Any) -> dict[str, Any]:
    """One expectation."""
    return {"type": f"expect_{kind}", "kwargs": kwargs}


@pytest.fixture(scope="module")
def told(warehouse: DuckDbWarehouse) -> dict[str, Told]:
    """One look with an expectation of each sort, by its type."""
    seen = ask(
        warehouse,
        of("column_values_to_be_unique", column="line"),
        of("column_values_to_be_between", column="amount", min_value="0.30", max_value=50.1),
        of("column_values_to_match_regex", column="code", regex="9$"),
        of("column_values_to_not_be_null", column="no_such_column"),
        of("column_values_to_match_like_pattern", column="line", like_pattern="A%"),
        of("column_values_to_be_in_set", column="note", value_set=["fine"], mostly=0.9),
        of("column_values_to_be_null", column="nothing"),
        of("column_value_lengths_to_be_between", column="nothing", min_value=3),
        of("compound_columns_to_be_unique", column_list=["line", "code"]),
        of("column_pair_values_a_to_be_greater_than_b", column_A="line", column_B="amount", or_equal=True),
        of("multicolumn_sum_to_equal", column_list=["line", "amount"], sum_total=0),
        of("table_row_count_to_be_between", min_value=1, max_value=10),
        of("table_columns_to_match_set", column_set=["line", "code"], exact_match=False),
        of("column_unique_value_count_to_be_between", column="note", max_value=2),
    )
    assert seen.rows == ROWS
    assert len(seen.outcomes) == 14
    assert "alert(1)" in seen.page
    PAGE.append(seen.page)
    return {one.expectation.partition("(")[0].removeprefix("expect_"): one for one in seen.outcomes}


PAGE: list[str] = []


def test_each_sort_is_answered_with_numbers(told: dict[str, Told]) -> None:
    """How many rows break it, of how many that were looked at, with a few of the values."""
    between = told["column_values_to_be_between"]
    assert (between.success, between.looked_at, between.unexpected) == (False, ROWS, 3 + 498)
    assert between.examples[:4] == ("0.00", "0.10", "0.20", "50.20")  # 0.30 itself is inside, and so is 50.10
    assert len(between.examples) == 5
    regex = told["column_values_to_match_regex"]
    assert (regex.success, regex.unexpected) == (False, 900)  # found anywhere in the text, not the whole of it
    holds = [name for name, one in told.items() if one.success]
    assert holds == [
        "column_values_to_be_unique", "column_values_to_be_in_set", "column_values_to_be_null",
        "column_value_lengths_to_be_between", "compound_columns_to_be_unique",
        "column_pair_values_a_to_be_greater_than_b", "table_columns_to_match_set",
        "column_unique_value_count_to_be_between",
    ]  # fmt: skip
    assert told["table_row_count_to_be_between"].observed == str(ROWS)
    assert told["multicolumn_sum_to_equal"].unexpected == ROWS - 1


def test_what_cannot_be_answered_is_errored_by_itself(told: dict[str, Told]) -> None:
    """A column that is not there, and a comparison that SQL refuses. The others are answered all the same."""
    raised = {name: one.raised for name, one in told.items() if one.raised}
    assert set(raised) == {"column_values_to_not_be_null", "column_values_to_match_like_pattern"}
    assert "no_such_column" in raised["column_values_to_not_be_null"]
    assert not any(told[name].success for name in raised)


def test_what_raises_is_not_logged(warehouse: DuckDbWarehouse, caplog: pytest.LogCaptureFixture) -> None:
    """A library that logs it would write what a cell holds into somebody's log."""
    seen = ask(warehouse, of("column_values_to_match_like_pattern", column="line", like_pattern="A%"))
    assert seen.outcomes[0].raised
    assert caplog.text == ""


def test_mostly_and_what_was_not_looked_at_are_told(told: dict[str, Told]) -> None:
    """A share is part of the words; rows without a value are no rows that were looked at."""
    assert "mostly=0.9" in told["column_values_to_be_in_set"].expectation
    assert told["column_values_to_be_in_set"].unexpected == 1
    assert told["column_value_lengths_to_be_between"].looked_at == 0


def test_the_page_runs_and_loads_nothing(told: dict[str, Told]) -> None:
    """A cell with a script in it is text; nothing on the page runs, and nothing is fetched from anywhere."""
    assert told
    page = PAGE[0]
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page.lower()
    assert "<link" not in page.lower()
    assert page.count("Content-Security-Policy") == 1
    assert "default-src 'none'" in page


def test_an_empty_table_is_seen_to_be_empty(warehouse: DuckDbWarehouse) -> None:
    """The library says success of every row of none; the rows are counted beside it."""
    seen = ask(
        warehouse,
        of("column_values_to_not_be_null", column="code"),
        of("column_values_to_be_unique", column="code"),
        of("column_values_to_be_between", column="amount", min_value=0),
        of("column_values_to_match_regex", column="code", regex="A"),
        table="staging.none",
    )
    assert [one.success for one in seen.outcomes] == [True] * 4
    assert {one.looked_at for one in seen.outcomes} == {0}
    assert seen.rows == 0


def test_amounts_are_compared_as_decimals(warehouse: DuckDbWarehouse) -> None:
    """Bounds at the very value; as floats, 0.30 is below 0.1 + 0.2, and 2^53 + 1 is 2^53."""
    seen = ask(
        warehouse,
        of("column_values_to_be_between", column="tenth", min_value=0.1, max_value=0.1),
        of("column_values_to_be_between", column="three", min_value="0.30", max_value="0.30"),
        of("column_values_to_be_between", column="large", max_value=123456789.01),
        of("column_values_to_be_in_set", column="large", value_set=[123456792.99]),
        of("column_values_to_be_between", column="id", max_value=9007199254740992),
        of("column_values_to_be_in_set", column="id", value_set=["9007199254740992"]),
        of("multicolumn_sum_to_equal", column_list=["tenth", "three"], sum_total=0.4),
        of("column_values_to_be_between", column="day", min_value="2026-03-01", max_value="2026-03-31"),
        of("column_values_to_be_between", column="day", max_value="2026-03-30"),
        table="staging.odd",
    )
    assert [one.success for one in seen.outcomes] == [True, True, True, False, False, False, True, True, False]


def test_the_session_stays_locked_down_and_nothing_is_written(warehouse: DuckDbWarehouse, tmp_path: Path) -> None:
    """A statement that reads a file, or writes, is refused on the connection that the library is lent."""
    from dagster_planexec.resources.expectations.dialect import reachable

    with warehouse.session() as session, session.lent() as lent:  # type: ignore[attr-defined]
        with reachable(lent) as url:
            assert str(warehouse.path) not in url
            with pytest.raises(Exception, match="read-only"):
                lent.execute("create table staging.more as select 1")
        with pytest.raises(Exception, match="disabled by configuration"):
            lent.execute(f"select * from read_csv('{tmp_path / 'x.csv'}')")
    with warehouse.session() as session:
        assert session.describe("staging.more") is None


def test_what_would_fetch_the_rows_is_cut_off(warehouse: DuckDbWarehouse) -> None:
    """Whatever an expectation turns into: a statement that gives more than a few rows raises, and it is errored."""
    import sqlalchemy as sa

    from dagster_planexec.resources.expectations.dialect import (
        TooManyRowsError,
        reachable,
    )

    with (
        warehouse.session() as session,
        session.lent() as lent,  # type: ignore[attr-defined]
        reachable(lent) as url,
        sa.create_engine(url).connect() as db,
        pytest.raises(TooManyRowsError),
    ):
        db.execute(sa.text("select * from staging.lines"))


def test_a_table_that_is_gone_and_a_deadline_are_codes(warehouse: DuckDbWarehouse) -> None:
    """As of any other look."""
    one = of("column_values_to_not_be_null", column="code")
    with pytest.raises(PortError, match="TABLE_GONE"):
        ask(warehouse, one, table="staging.absent")
    with pytest.raises(PortError, match="TIMEOUT"):
        ask(warehouse, one, deadline_s=0.0)
    assert ask(warehouse, one).outcomes[0].success


def test_a_look_that_must_change_nothing_makes_no_page(warehouse: DuckDbWarehouse) -> None:
    """`looking()` asks on a file that is opened for reading only."""
    seen = ask(warehouse.looking(), of("column_values_to_not_be_null", column="code"))
    assert (seen.outcomes[0].success, seen.page) == (True, "")
