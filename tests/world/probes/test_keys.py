"""Keys of a table: counted by hash where that decides, and as groups of trimmed text where it does not."""

from decimal import Decimal

import pytest

from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import Ports, Roots
from dagster_planexec.world.probes.table.keys import KeysOfTable

NBSP = "\u00a0"
NONE = {
    "null_rows": 0, "null_amount": Decimal(0), "duplicate_keys": 0, "duplicate_rows": 0,
    "duplicate_amount": Decimal(0), "examples": (),
}  # fmt: skip


@pytest.fixture
def facts_of(tmp_path):
    """What the probe says of a table with these keys, each row worth 1.50."""
    warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
    roots = Roots(tmp_path, tmp_path, tmp_path)
    ports = Ports(None, warehouse, None, SystemClock(), roots)

    def facts(*keys, kind="varchar"):
        width = len(keys[0]) if keys else 1
        columns = [f"k{index}" for index in range(width)]
        with warehouse.session() as session:
            session.execute(f"create table t ({', '.join(f'{c} {kind}' for c in columns)}, amount decimal(18, 2))")
            for key in keys:
                session.execute(f"insert into t values ({'?, ' * width}1.50)", list(key))
        return dict(KeysOfTable("t", tuple(columns), "amount").observe(ports).facts)

    return facts


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [("a",), ("b",), ("A",)],
        [("a ",), (" b",)],
        [("é",), ("e",), ("日本",)],
        [("a\t",), ("a",), ("\ta",)],
        [("a", "bc"), ("ab", "c"), ("abc", "x")],
    ],
    ids=["no row", "plain", "to be trimmed", "beyond ASCII", "tabs are no blanks", "two columns"],
)
def test_keys_that_differ(facts_of, keys):
    """Nothing repeats and nothing is missing, whichever way it is found out."""
    assert facts_of(*keys) == {"rows": len(keys), **NONE}


@pytest.mark.parametrize(
    ("keys", "example"),
    [
        ([("a",), ("a",), ("b",)], "'a'"),
        ([("a",), ("a ",), ("b",)], "'a'"),
        ([("a",), (f"a{NBSP}",), ("b",)], "'a'"),
        ([("a",), (f"{NBSP} a",), ("b",)], "'a'"),
        ([("é",), ("é ",), ("b",)], "'é'"),
        ([("a", "b"), ("a ", " b"), ("a", "c")], "'a', 'b'"),
    ],
    ids=["equal", "a blank", "a no-break blank", "both in front", "beyond ASCII", "two columns"],
)
def test_keys_that_are_one(facts_of, keys, example):
    """Keys that differ in blanks around them are one key, and what shares it is counted and worth something."""
    assert facts_of(*keys) == {
        **NONE, "rows": 3, "duplicate_keys": 1, "duplicate_rows": 2, "duplicate_amount": Decimal("3.00"),
        "examples": (example,),
    }  # fmt: skip


@pytest.mark.parametrize("blank", [None, "", "  ", NBSP], ids=["null", "empty", "blanks", "a no-break blank"])
def test_rows_without_a_key(facts_of, blank):
    """One such row is a row without a key, also where no two keys are equal."""
    assert facts_of(("a",), (blank,)) == {**NONE, "rows": 2, "null_rows": 1, "null_amount": Decimal("1.50")}


def test_numbers_as_keys(facts_of):
    """A key of another type is compared as its text."""
    assert facts_of((1,), (2,), (2,), kind="integer")["duplicate_keys"] == 1
