"""Sums of more digits than a column has, and of more than a DECIMAL holds: stated, found, refused with a code."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagster_planexec.contract.file_contract import Column
from tests.support.loading import TARGET, Loading, invoice_contract

DAY = "2026-03-01"
MOST = "9" * 36 + ".99"
HALF = "6" + "0" * 35 + ".00"


def contract(*, trailer: str = "", **more):
    """One amount of this precision, a whole number beside it, and a trailer that states the sum of one of the two."""
    columns = (
        Column(name="id", type="text"),
        Column(name="day", type="date", formats=("%Y-%m-%d",)),
        Column(name="amount", type="decimal", precision=more.pop("precision", 18)),
        Column(name="units", type="integer"),
        Column(name="money", type="text"),
    )
    trailers = ({"equals": "TOT", "sums": {trailer: 2}},) if trailer else ()
    return invoice_contract(columns=columns, trailers=trailers, **more)


def lines(*rows: tuple[str, str, str], trailer: str = "") -> str:
    """A file of (amount, units, currency), each of its own id."""
    body = "".join(f"{n},{DAY},{a},{u},{c}\n" for n, (a, u, c) in enumerate(rows))
    return f"id,day,amount,units,money\n{body}" + (f"TOT,{trailer},,,\n" if trailer else "")


WHOLE = [("1.00", "9223372036854775807", "GBP")] * 2
BY_CURRENCY = {"currency": None, "currencies": {"EUR": 2, "USD": 2}, "currency_column": "money"}
FILES = {
    "two that are too many": (contract(precision=38), lines((MOST, "1", "GBP"), (MOST, "1", "GBP")), "SCALE_OVERFLOW"),
    "a sum of 39 digits": (contract(precision=38), lines((HALF, "1", "GBP"), (HALF, "1", "GBP")), "SCALE_OVERFLOW"),
    "below zero": (
        contract(precision=38), lines((f"-{MOST}", "1", "GBP"), (f"-{MOST}", "1", "GBP")), "SCALE_OVERFLOW"),
    "that cancel": (
        contract(precision=38),
        lines(*[(MOST, "1", "GBP")] * 2, *[(f"-{MOST}", "1", "GBP")] * 2), "SCALE_OVERFLOW"),
    "by currency": (
        contract(precision=38, **BY_CURRENCY), lines((MOST, "1", "EUR"), (MOST, "1", "EUR")), "SCALE_OVERFLOW"),
    "in rejects": (
        contract(precision=38, allowed_rejects={"codes": ("BAD_AMOUNT",), "at_most": 9}),
        lines(("1.00", "1", "GBP"), (MOST, "x", "GBP"), (MOST, "x", "GBP")), "SCALE_OVERFLOW"),
    "a stated sum of more digits than the column": (
        contract(precision=4, trailer="amount"), lines(("99.99", "1", "GBP"), ("99.99", "1", "GBP"), trailer="199.98"),
        None),
    "and another one": (
        contract(precision=4, trailer="amount"), lines(("99.99", "1", "GBP"), ("99.99", "1", "GBP"), trailer="199.97"),
        "CONTROL_TOTAL_MISMATCH"),
    "integers": (
        contract(trailer="units"), lines(*WHOLE, trailer="18446744073709551614"),
        None),
    "and other ones": (
        contract(trailer="units"), lines(*WHOLE, trailer="18446744073709551615"),
        "CONTROL_TOTAL_MISMATCH"),
    "a fraction of integers": (
        contract(trailer="units"), lines(("1.00", "1", "GBP"), trailer="1.0"), "CONTROL_TOTAL_MISMATCH"),
}  # fmt: skip


@pytest.mark.parametrize(("declared", "raw", "code"), FILES.values(), ids=list(FILES))
def test_a_sum_is_exact_or_has_a_code(tmp_path: Path, declared, raw: str, code: str | None) -> None:
    """Never INTERNAL, and no stated sum is called unreadable for its length."""
    loading = Loading(tmp_path, declared)
    loading.land(raw)

    found, said = loading.ended()

    assert found == code, said
    if code == "SCALE_OVERFLOW":
        assert "38 digits" in said
    if code is None:
        assert loading.sql(f"select count(*) from {TARGET}") == [(2,)]
