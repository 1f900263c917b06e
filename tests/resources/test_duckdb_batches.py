"""Rows handed on as they come: no more of them in memory than a batch, and the same codes as of any statement."""

from __future__ import annotations

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse


@pytest.fixture
def warehouse(tmp_path):
    return DuckDbWarehouse(tmp_path / "w.duckdb")


@pytest.mark.parametrize(("rows", "sizes"), [(0, []), (3, [3]), (4, [4]), (9, [4, 4, 1])])
def test_every_row_once_and_in_order(warehouse, rows, sizes):
    """In batches of four; the last may be shorter, and none is empty."""
    with warehouse.session() as session:
        found = list(session.batches("select i from range(?) t(i) order by i", (rows,), size=4))

    assert [len(batch) for batch in found] == sizes
    assert [row[0] for batch in found for row in batch] == list(range(rows))


def test_the_first_batch_comes_before_the_last_is_made(warehouse):
    """A hundred thousand million rows would never be made: the result is not made whole first."""
    with warehouse.session(deadline_s=20) as session:
        batches = session.batches("select a.range from range(1000000) a, range(100000) b", size=10)

        assert [len(next(batches)) for _ in range(3)] == [10, 10, 10]


def test_an_error_has_its_code_at_whatever_batch(warehouse):
    """A missing table at the first; a value that cannot be converted where it stands."""
    with warehouse.session() as session:
        with pytest.raises(PortError) as error:
            list(session.batches("select * from nowhere"))
        assert error.value.code == "TABLE_GONE"
        batches = session.batches("select (case when i = 900000 then 'x' else '1' end)::int from range(1000000) t(i)")
        with pytest.raises(PortError) as error:
            assert sum(len(batch) for batch in batches) < 1_000_000
        assert error.value.code == "INTERNAL"


def test_a_deadline_ends_it_between_batches(warehouse):
    """Whoever reads slowly is stopped at the next batch."""
    with warehouse.session(deadline_s=0.3) as session:
        batches = session.batches("select a.range from range(1000000) a, range(100000) b", size=1000)
        with pytest.raises(PortError) as error:
            for _ in batches:
                pass
    assert error.value.code == "TIMEOUT"
