"""Amounts of several currencies have no sum: the words of the file against those of the contract."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Done
from tests.support.loading import TARGET, Loading, invoice_contract

COLUMNS = (
    Column(name="id", type="text"),
    Column(name="amount", type="decimal", scale=3),
    Column(name="money", type="text", normalise=("trim",)),
)
SEVERAL: dict[str, Any] = {"currency": None, "currencies": {"EUR": 2, "BHD": 3, "JPY": 0}}


def loaded(folder, *rows: str, **declared: Any) -> Loading:
    contract = invoice_contract(columns=COLUMNS, date=None, currency_column="money", **declared)
    loading = Loading(folder, contract)
    loading.land("id,amount,money\n" + "".join(f"K{n},{row}\n" for n, row in enumerate(rows)))
    assert isinstance(loading.load(), Done)
    return loading


@pytest.mark.parametrize(
    ("rows", "code", "says"),
    [
        (["1.00,GBP", "2.00, GBP "], None, "each of 2 rows is in GBP: GBP 3.000"),
        (["1.00,GBP", "2.00,EUR", "3.00,EUR", "4.00,"], "MIXED_CURRENCY",
         "3 of 4 rows are not in GBP: 'EUR' in 2 rows worth 5.000; no currency in 1 rows worth 4.000"),
        (["1.00,gbp"], "MIXED_CURRENCY", "'gbp' in 1 rows"),
        ([f"1.00,{'x' * 999}{n}" for n in range(30)], "MIXED_CURRENCY", "30 of 30 rows"),
    ],
)  # fmt: skip
def test_one_currency_is_the_only_one(tmp_path, rows, code, says):
    verdict = loaded(tmp_path, *rows).verdict("currency_is_declared")

    assert verdict.code == code
    assert says in verdict.text
    assert len(verdict.text) < 600


@pytest.mark.parametrize(
    ("rows", "code", "says"),
    [
        (["1.25,EUR", "2.125,BHD", "300,JPY", "-1.00,EUR"], None, "EUR 0.250"),
        (["1.25,EUR", "2.00,USD"], "MIXED_CURRENCY", "'USD' in 1 rows worth 2.000"),
        (["1.255,EUR", "2.125,BHD"], "SCALE_OVERFLOW", "1 in EUR"),
        (["0.50,JPY"], "SCALE_OVERFLOW", "1 in JPY"),
    ],
)
def test_several_are_each_as_fine_as_they_are(tmp_path, rows, code, says):
    verdict = loaded(tmp_path, *rows, **SEVERAL).verdict("currency_is_declared")

    assert verdict.code == code
    assert says in verdict.text


def test_several_add_up_each_for_itself(tmp_path):
    """What moves from one currency to another leaves the plain sum as it is."""
    loading = loaded(tmp_path, "1.25,EUR", "2.00,BHD", "0,JPY", **SEVERAL)

    assert (
        loading.verdict("amounts_agree").text
        == "the amounts add up to BHD 2.000, EUR 1.250 in the files and in the table"
    )
    loading.sql(f"update {TARGET} set money = 'BHD'")
    assert loading.verdict("amounts_agree").code == "CONTROL_TOTAL_MISMATCH"


def test_no_column_no_question(tmp_path):
    loading = Loading(tmp_path)
    loading.land("id,day,amount\nA,2026-03-01,1\n")
    loading.load()

    assert loading.verdict("currency_is_declared").status == "not-applicable"
    assert loading.verdict("amounts_agree").observed.value == Decimal(1)
