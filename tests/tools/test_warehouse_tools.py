"""`warehouse.snapshot` and `warehouse.create_table`."""

import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.errors import PortError
from dagster_planexec.tools.warehouse.create_table import (
    CreateTableArgs,
    CreateTableResult,
    WarehouseCreateTable,
)
from dagster_planexec.tools.warehouse.snapshot import SnapshotArgs, SnapshotResult, WarehouseSnapshot
from tests.support.reconciling import bench, contract, make_world

SNAPSHOT = SnapshotArgs(source="books.charges", target="staging.ledger_202603")
CREATE = CreateTableArgs(target="staging.vendor_invoice_202603", contract="charges")


@pytest.fixture
def on(tmp_path):
    """A live ledger with rows of March and February."""
    out = bench(tmp_path)
    make_world(out, "normal")
    out.run("create schema books", "create table books.charges as select * from staging.ledger")
    return out


def test_a_snapshot_holds_the_period(on):
    """Rows of the period, first and last day included, and no other."""
    on.run(
        "insert into books.charges values ('X1', 'A', 'EU', 1, '2026-02-28'), ('X2', 'A', 'EU', 1, '2026-03-01'), "
        "('X3', 'A', 'EU', 1, '2026-03-31'), ('X4', 'A', 'EU', 1, '2026-04-01'), ('X5', 'A', 'EU', 1, null)"
    )

    outcome = on.call(WarehouseSnapshot(), SNAPSHOT)

    assert outcome == Done(SnapshotResult(table="staging.ledger_202603", rows=1002))
    assert on.rows("select charge_id from staging.ledger_202603 where charge_id like 'X%' order by 1") == [
        ("X2",),
        ("X3",),
    ]


def test_a_snapshot_stands_still(on):
    """The live table goes on; the copy, and its seal, do not change until it is made again."""
    outcome = on.call(WarehouseSnapshot(), SNAPSHOT)
    seal = WarehouseSnapshot().seal(SNAPSHOT, outcome.result, None)
    before = seal.observe(on.ports).facts
    on.run("delete from books.charges where charge_id = 'C0001'")

    assert seal.observe(on.ports).facts == before
    on.call(WarehouseSnapshot(), SNAPSHOT)
    assert seal.observe(on.ports).facts != before


def test_an_input_without_date_is_copied_whole(tmp_path):
    """A contract that declares no date column puts every row in scope."""
    on = bench(tmp_path, contracts={"charges": contract(date=None)})
    make_world(on, "normal")
    on.run("create schema books", "create table books.charges as select * from staging.ledger")

    assert (
        on.call(WarehouseSnapshot(), SNAPSHOT).result.rows == on.rows("select count(*) from books.charges")[0][0] > 1000
    )


def test_only_declared_sources_are_copied(on):
    """A table that no input names as its source has no scope."""
    outcome = on.call(WarehouseSnapshot(), SnapshotArgs(source="books.salaries", target="staging.x"))

    assert isinstance(outcome, Failed)
    assert "sources: books.charges" in outcome.message


@pytest.mark.parametrize("target", ["books.charges", "BOOKS.CHARGES"])
def test_a_live_table_is_never_written(on, target):
    """Neither tool takes a live table as its target, in whatever case it is spelled."""
    for tool, args in (
        (WarehouseSnapshot(), SnapshotArgs(source="books.charges", target=target)),
        (WarehouseCreateTable(), CreateTableArgs(target=target, contract="charges")),
    ):
        with pytest.raises(PortError, match="is a table that is read"):
            on.call(tool, args)
    assert on.rows("select count(*) > 1000 from books.charges") == [(True,)]


def test_a_missing_live_table_is_table_gone(on):
    """The code says so; there is no empty copy."""
    on.run("drop table books.charges")

    with pytest.raises(PortError) as error:
        on.call(WarehouseSnapshot(), SNAPSHOT)

    assert error.value.code == "TABLE_GONE"
    assert on.rows("select count(*) from information_schema.tables where table_name = 'ledger_202603'") == [(0,)]


def test_a_table_has_the_contract_s_columns(on):
    """Names, order and types of the contract."""
    outcome = on.call(WarehouseCreateTable(), CREATE)

    assert outcome == Done(CreateTableResult(table="staging.vendor_invoice_202603"))
    with on.ports.warehouse.session() as session:
        columns = session.describe("staging.vendor_invoice_202603")
    assert [(column.name, column.type) for column in columns] == [
        ("charge_id", "VARCHAR"),
        ("account_id", "VARCHAR"),
        ("region", "VARCHAR"),
        ("amount", "DECIMAL(18,2)"),
        ("charge_date", "DATE"),
    ]


def test_the_seal_of_a_table_is_its_columns(on):
    """Rows that a later step loads do not break it; another column does."""
    outcome = on.call(WarehouseCreateTable(), CREATE)
    seal = WarehouseCreateTable().seal(CREATE, outcome.result, None)
    before = seal.observe(on.ports).facts

    on.run("insert into staging.vendor_invoice_202603 select * from books.charges")
    assert seal.observe(on.ports).facts == before

    on.run("alter table staging.vendor_invoice_202603 add column currency varchar")
    assert seal.observe(on.ports).facts != before

    on.run("drop table staging.vendor_invoice_202603")
    assert seal.observe(on.ports).state == "absent"


def test_a_table_with_other_columns_is_replaced(on):
    """A leftover of last year's contract does not survive."""
    on.run("create table staging.vendor_invoice_202603 (old integer)")

    on.call(WarehouseCreateTable(), CREATE)

    assert on.rows("select count(*) from staging.vendor_invoice_202603 where charge_id is null") == [(0,)]


def test_an_unknown_contract_is_refused(on):
    """With the names that are known."""
    outcome = on.call(WarehouseCreateTable(), CreateTableArgs(target="staging.x", contract="invoice"))

    assert isinstance(outcome, Failed)
    assert (outcome.code, "its contracts: charges" in outcome.message) == ("VALIDATION_ERROR", True)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (Column(name="x", type="text"), "VARCHAR"),
        (Column(name="x", type="integer"), "BIGINT"),
        (Column(name="x", type="decimal", precision=12, scale=4), "DECIMAL(12,4)"),
        (Column(name="x", type="date", formats=("%Y-%m-%d",)), "DATE"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.type,
)
def test_types(column, kind):
    """One SQL type for each declared type."""
    assert column.sql_type == kind


def test_contracts_are_what_the_design_says():
    """Writes, with their checks in the order of the design; every error code is a known one."""
    snapshot, create = WarehouseSnapshot().contract, WarehouseCreateTable().contract

    assert snapshot.postconditions == (
        "snapshot_is_complete",
        "snapshot_is_as_admitted",
        "keys_are_present",
        "keys_are_unique",
    )
    assert create.postconditions == ("schema_matches_contract",)
    assert {snapshot.effect, create.effect} == {"write"}
    assert set(snapshot.errors) | set(create.errors) <= set(CODES)
