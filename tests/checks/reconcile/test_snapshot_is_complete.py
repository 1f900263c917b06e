"""A snapshot has the rows and the money that its live table has in scope."""

import pytest

from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.reconcile.snapshot_is_complete import snapshot_is_complete
from dagster_planexec.contract.outcome import Done
from dagster_planexec.tools.warehouse.snapshot import SnapshotArgs, WarehouseSnapshot
from tests.support.reconciling import bench, make_world

FEBRUARY = "select * from books.charges where charge_date < '2026-03-01'"
ARGS = SnapshotArgs(source="books.charges", target="staging.ledger_202603")


@pytest.fixture
def on(tmp_path):
    """A live ledger with rows of March and February, and its snapshot."""
    out = bench(tmp_path)
    make_world(out, "normal")
    out.run("create schema books", "create table books.charges as select * from staging.ledger")
    assert isinstance(out.call(WarehouseSnapshot(), ARGS), Done)
    return out


def verdict(on):
    (seen,) = on.verdicts(snapshot_is_complete, WarehouseSnapshot(), ARGS)
    return seen


def test_a_fresh_snapshot_passes(on):
    """Both sides are counted on their own tables, out-of-scope rows aside."""
    seen = verdict(on)

    assert seen.status == "passed"
    assert seen.observed.value == "1000 rows of ledger worth 56995.00"
    assert (seen.observed.source.subject.name, seen.expected.source.subject.name) == (
        "staging.ledger_202603",
        "books.charges",
    )


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("delete from staging.ledger_202603 where charge_id = 'C0001'", "ROWCOUNT_MISMATCH"),
        ("delete from staging.ledger_202603", "ROWCOUNT_MISMATCH"),
        (f"insert into staging.ledger_202603 {FEBRUARY}", "ROWCOUNT_MISMATCH"),
        ("update staging.ledger_202603 set amount = amount + 1 where charge_id = 'C0001'", "CONTROL_TOTAL_MISMATCH"),
        ("update books.charges set amount = 0 where charge_id = 'C0001'", "CONTROL_TOTAL_MISMATCH"),
        ("drop table staging.ledger_202603", "TABLE_GONE"),
        ("drop table books.charges", "TABLE_GONE"),
    ],
)  # fmt: skip
def test_a_snapshot_that_is_not_the_live_table_fails(on, statement, code):
    """Rows lost, rows out of scope, changed money, or a table that is gone."""
    on.run(statement)

    seen = verdict(on)

    assert (seen.status, seen.code) == ("failed", code)


def test_live_rows_out_of_scope_do_not_matter(on):
    """A late February charge changes nothing of March."""
    on.run(f"insert into books.charges {FEBRUARY}")

    assert verdict(on).status == "passed"


def test_not_applicable_to_a_table_without_contract(on):
    """A source that no input declares has no scope to be judged in; the tool refuses it anyway."""
    args = SnapshotArgs(source="books.other", target="staging.other")

    (check,) = snapshot_is_complete(on.scope(WarehouseSnapshot(), args), "post")

    assert isinstance(check, NotApplicable)
