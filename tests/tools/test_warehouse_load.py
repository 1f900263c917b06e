"""`warehouse.load`: landed files become rows, or the load fails with the code of the first row that does not."""

from __future__ import annotations

import gzip
from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.errors import PortError
from dagster_planexec.tools.warehouse.load import LoadArgs, LoadResult, WarehouseLoad
from tests.support.loading import TARGET, Loading, invoice_contract
from tests.support.loads import case_file

GOOD = "id,day,amount\nA1,2026-03-01,10.00\nA2,2026-03-02,20.50\n"


@pytest.fixture
def loading(tmp_path):
    return Loading(tmp_path)


def test_rows_are_in_the_table_and_every_check_passes(loading):
    """The one good path, judged by all that the contract names."""
    loading.land(GOOD)

    outcome = loading.load()

    assert outcome == Done(LoadResult(table=TARGET, rows=2, files=1))
    for phase, names in (
        ("pre", WarehouseLoad.contract.preconditions),
        ("post", WarehouseLoad.contract.postconditions),
    ):
        for name in names:
            assert [v.text for v in loading.judge(name, phase=phase) if not v.opens] == [], name


def test_the_second_load_replaces_the_first(loading):
    loading.land(GOOD)
    loading.load()
    loading.landed.clear()
    loading.land("id,day,amount\nB1,2026-03-05,7.00\n", "vendor/2026-03-b.csv")

    loading.load(create=False)

    assert loading.sql(f"select id, amount from {TARGET}") == [("B1", Decimal("7.00"))]


def test_several_files_with_other_headers_are_one_table(loading):
    """An optional column may be missing from any of them; each may use its own alias and order."""
    loading.land(GOOD)
    loading.land("Amount GBP ,Invoice Id,note,day\n7.00,B1,hello,2026-03-05\n", "vendor/2026-03-b.csv")

    assert loading.load() == Done(LoadResult(table=TARGET, rows=3, files=2))
    assert loading.sql(f"select id, amount, note from {TARGET} order by id") == [
        ("A1", Decimal("10.00"), None),
        ("A2", Decimal("20.50"), None),
        ("B1", Decimal("7.00"), "hello"),
    ]


def test_the_suffix_of_the_delivered_key_says_that_it_is_compressed(loading):
    """A landed copy has no suffix of its own."""
    parts = [gzip.compress(part.encode()) for part in GOOD.splitlines(keepends=True)]
    loading.land(b"".join(parts), "vendor/2026-03.csv.gz")

    assert loading.load() == Done(LoadResult(table=TARGET, rows=2, files=1))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("A3,2026-03-03,12.345", "SCALE_OVERFLOW"),
        ("A3,03/03/2026,12.34", "BAD_DATE"),
        ("A3,2026-03-03,twelve", "BAD_AMOUNT"),
        ("A3,2026-03-03,", "BAD_AMOUNT"),
        ("A3,2026-03-03,1.00,x", "RAGGED_ROW"),
        ("A3,2026-03-03", "RAGGED_ROW"),
    ],
)
def test_a_refused_row_fails_the_load_with_its_code(loading, line, code):
    """It names the line, and every reject is in a table beside the target."""
    loading.land(GOOD + line + "\n")

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert "line 4" in outcome.message
    assert f"{TARGET}__rejects" in outcome.message
    assert loading.sql(f"select line, reason from {TARGET}__rejects") == [(4, code)]


def test_the_first_reject_gives_the_code(loading):
    """In the order of files and lines, not of the alphabet."""
    loading.land(GOOD + "A3,x,1.00\nA4,2026-03-03,x\nA5,x,x\n")

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "BAD_DATE"
    assert outcome.message.startswith("3 rows were refused (1 BAD_AMOUNT, 2 BAD_DATE); the first: ")


def test_a_value_cannot_forge_the_code(loading):
    """What stands in a cell is quoted, and the code is read behind it."""
    loading.land(GOOD + '"A3",2026-03-03,"x (RAGGED_ROW"\n')

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "BAD_AMOUNT"


def test_undecodable_bytes_fail_the_load(loading):
    loading.land(GOOD.encode() + b"B\xfcrger,2026-03-01,1.00\n")

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "BAD_ENCODING"


def test_a_declared_encoding_is_followed(tmp_path):
    contract = invoice_contract(
        encoding="latin-1",
        columns=(
            Column(name="invoice_id", type="text"),
            Column(name="supplier", type="text"),
            Column(name="amount", type="decimal"),
        ),
        key=("invoice_id",),
        date=None,
    )
    loading = Loading(tmp_path, contract)
    loading.land(case_file("19").read_bytes())

    assert loading.load() == Done(LoadResult(table=TARGET, rows=4, files=1))
    assert loading.sql(f"select supplier from {TARGET} where invoice_id = 'Q2'") == [("Brüder Öl GmbH",)]


def test_a_junk_last_line_has_no_key(tmp_path):
    """Case 48: whatever else is wrong with it, the line without a key is what stops it."""
    contract = invoice_contract(
        columns=(
            Column(name="trans_no", type="text"),
            Column(name="category", type="text"),
            Column(name="amount", type="decimal"),
        ),
        key=("trans_no",),
        date=None,
    )
    loading = Loading(tmp_path, contract)
    loading.land(case_file("48").read_bytes())

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.facts) == ("NULL_KEY", {"NULL_KEY": 1})
    assert "line 4" in outcome.message
    assert loading.sql(f"select count(*), sum(amount) from {TARGET}") == [(2, Decimal("30.00"))]


def test_a_copy_that_was_never_admitted_is_refused(loading):
    """Its format is unknown, and so is where it comes from."""
    loading.land(GOOD)
    loading.admitted.clear()

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    assert "was not admitted" in outcome.message


def test_a_key_without_a_known_suffix_is_no_contract(loading):
    """A format that cannot be counted is not loaded either."""
    loading.land(GOOD, "vendor/2026-03.xls")

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "BAD_CONTRACT"


def test_files_of_two_compressions_are_two_loads(loading):
    """One load reads one format."""
    loading.land(GOOD)
    loading.land(gzip.compress(GOOD.encode()), "vendor/2026-03-b.csv.gz")

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"


def test_a_copy_is_loaded_once(loading):
    """Twice the same file is twice the money."""
    loading.land(GOOD)
    loading.landed *= 2

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"


def test_a_vanished_copy_is_gone(loading):
    loading.ports.roots.landed_path(loading.land(GOOD)).unlink()

    outcome = loading.load()

    assert isinstance(outcome, Failed)
    assert outcome.code == "OBJECT_GONE"


@pytest.mark.parametrize(
    ("drop", "code"),
    [("drop table {t}", "TABLE_GONE"), ("alter table {t} alter amount type decimal(18,0)", "SCHEMA_DRIFT")],
)
def test_a_table_that_would_not_hold_the_rows_is_refused(loading, drop, code):
    loading.land(GOOD)
    loading.create()
    loading.sql(drop.format(t=TARGET))

    with pytest.raises(PortError) as caught:
        loading.load(create=False)

    assert caught.value.code == code


def test_the_seal_changes_with_any_value(loading):
    """Every row is in it, so also one that is changed by a cent."""
    loading.land(GOOD)
    outcome = loading.load()
    assert isinstance(outcome, Done)
    seal = WarehouseLoad().seal(loading.args, outcome.result, loading.call)
    before = seal.observe(loading.ports).facts

    assert seal.observe(loading.ports).facts == before
    loading.sql(f"update {TARGET} set amount = amount + 0.01 where id = 'A1'")
    assert seal.observe(loading.ports).facts != before


def test_the_contract_names_checks_and_codes_that_exist():
    """In the order in which failures are reported: rows, counts, totals, schema, period, keys."""
    contract = WarehouseLoad.contract

    assert {*contract.preconditions, *contract.postconditions} <= set(BINDERS)
    assert set(contract.errors) <= set(CODES)
    assert contract.preconditions[0] == "extract_has_rows"
    assert contract.postconditions[0] == "row_counts_agree"


def test_a_load_needs_a_source():
    with pytest.raises(ValueError, match="at least 1 item"):
        LoadArgs(sources=(), target=TARGET)


def test_a_deadline_ends_the_load(loading):
    """The statement is interrupted, and the table is as it was."""
    loading.land("id,day,amount\n" + "".join(f"A{n},2026-03-01,1.00\n" for n in range(400_000)))
    loading.create()

    with pytest.raises(PortError) as caught:
        WarehouseLoad().call(loading.args, replace(loading.call, deadline_s=0.02))

    assert caught.value.code == "TIMEOUT"
    assert loading.sql(f"select count(*) from {TARGET}") == [(0,)]
