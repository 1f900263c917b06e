"""Parquet: loaded by DuckDB, counted by pyarrow; what is typed in it stays exact, or is refused."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from dagster_planexec.contract.file_contract import Column, FileContract
from tests.support.judged import Judged, judged
from tests.support.loading import TARGET, Loading, invoice_contract

DAY = dt.date(2026, 3, 1)
IDS, DAYS = pa.array(["007", "8"]), pa.array([DAY, DAY])


def written(columns: dict[str, Any], **how: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out, **how)
    return out.getvalue()


def money(*texts: str | None, precision: int = 18, scale: int = 2) -> pa.Array:
    return pa.array([None if text is None else Decimal(text) for text in texts], pa.decimal128(precision, scale))


GOOD = {"id": IDS, "day": DAYS, "amount": money("1.10", "-0.20")}
ONE = {"id": pa.array(["a"]), "day": pa.array([DAY])}


def columns(**amount: Any) -> FileContract:
    """With another amount."""
    declared = (
        Column(name="id", type="text"),
        Column(name="day", type="date", formats=("%d/%m/%Y",), zone=amount.pop("zone", "UTC")),
        Column(name="amount", type="decimal", **amount),
    )
    return invoice_contract(columns=declared)


KINDS = invoice_contract(
    columns=(*columns().columns, Column(name="kind", type="text"), Column(name="cur", type="text")),
    sign={"column": "kind", "positive": ("I",), "negative": ("C",)},
    currency=None, currencies={"EUR": 2, "USD": 2}, currency_column="cur",
)  # fmt: skip

ACCEPTED: dict[str, tuple[FileContract, dict[str, Any], int, str]] = {
    "decimals": (columns(), GOOD, 2, "0.90"),
    "text-in-the-declared-style": (
        columns(thousands=".", decimal_mark=","), {**GOOD, "amount": pa.array(["1.234,50", "-0,25"])}, 2, "1234.25"
    ),
    "numbers-whatever-the-style": (columns(thousands=".", decimal_mark=","), GOOD, 2, "0.90"),
    "integers": (columns(), {**GOOD, "amount": pa.array([3, -1], pa.int32())}, 2, "2.00"),
    "zeros-of-a-larger-scale": (columns(), {**GOOD, "amount": money("1.1", "2", scale=18, precision=38)}, 2, "3.10"),
    "a-large-number": (columns(), {**ONE, "amount": money("9007199254740993.01")}, 1, "9007199254740993.01"),
    "tiny": (columns(scale=11), {**GOOD, "amount": money("1E-11", "0E-11", scale=11)}, 2, "0.00000000001"),
    "dictionaries": (columns(), {**GOOD, "id": IDS.dictionary_encode()}, 2, "0.90"),
    "columns-of-lists-are-ignored": (
        invoice_contract(other_columns="ignore"), {**GOOD, "tags": pa.array([["x"], []]), "f": pa.array([0.1, 0.2])},
        2, "0.90",
    ),
    "names-that-differ-in-case": (invoice_contract(other_columns="ignore"), {"AMOUNT": IDS, **GOOD}, 2, "0.90"),
    "a-dot-in-a-name": (columns(headers=("line.cost",)), {**GOOD, "line.cost": GOOD["amount"]}, 0, ""),
    "debits-and-credits": (
        columns(headers=("debit",), minus=("credit",), decimal_mark=","),
        {"id": IDS, "day": DAYS, "debit": money("5", None), "credit": money(None, "2.25")}, 2, "2.75",
    ),
    "kinds-and-currencies": (KINDS, {**GOOD, "kind": pa.array(["I", "C"]), "cur": pa.array(["EUR", "EUR"])}, 2, "0.90"),
    "days-as-text": (columns(), {**GOOD, "day": pa.array(["02/03/2026", "03/03/2026"])}, 2, "0.90"),
    "instants": (columns(), {**GOOD, "day": pa.array([DAY] * 2).cast(pa.timestamp("ns"))}, 2, "0.90"),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_is_read_exactly(tmp_path: Path, case: str) -> None:
    contract, content, rows, total = ACCEPTED[case]
    if not rows:
        content = {name: column for name, column in content.items() if name != "amount"}
        rows, total = 2, "0.90"

    found = judged(tmp_path, contract, [("v.parquet", written(content, row_group_size=1))])

    assert found == Judged("accept", None, rows, Decimal(total)), found.text


def test_dates_are_days_of_the_declared_zone(tmp_path: Path) -> None:
    """An instant late on the 31st in UTC is the 1st in Berlin."""
    late = pa.array([dt.datetime(2026, 2, 28, 23, 30, tzinfo=dt.UTC)] * 2, pa.timestamp("us", tz="UTC"))
    loading = Loading(tmp_path, columns(zone="Europe/Berlin"))
    loading.land(written({**GOOD, "day": late}), "vendor/v.parquet")
    loading.load()
    assert loading.sql(f"select distinct day from {TARGET}") == [(DAY,)]


REFUSED: dict[str, tuple[FileContract, bytes, str, str]] = {
    "double": (columns(), written({**GOOD, "amount": pa.array([0.1, 0.2])}), "BAD_AMOUNT", "DOUBLE"),
    "float": (columns(), written({**GOOD, "amount": pa.array([0.1, 0.2], pa.float32())}), "BAD_AMOUNT", "FLOAT"),
    "decimal-of-76-digits": (
        columns(), written({**GOOD, "amount": pa.array([Decimal("1.10"), Decimal(2)], pa.decimal256(50, 2))}),
        "BAD_AMOUNT", "of type DECIMAL(50,2), which has more than the 38 digits",
    ),
    "key-as-double": (columns(), written({**GOOD, "id": pa.array([2.0**53, 1.0])}), "BAD_FORMAT", "DOUBLE"),
    "nested": (columns(), written({**GOOD, "id": pa.array([["a"], ["b"]])}), "BAD_FORMAT", "VARCHAR[]"),
    "bytes": (columns(), written({**GOOD, "id": pa.array([b"a", b"b"])}), "BAD_FORMAT", "BLOB"),
    "truth-as-amount": (columns(), written({**GOOD, "amount": pa.array([True, False])}), "BAD_AMOUNT", "'true'"),
    "scale": (columns(), written({**GOOD, "amount": money("1.10", "1.001", scale=3)}), "SCALE_OVERFLOW", "line 2"),
    "precision": (
        columns(precision=4), written({**GOOD, "amount": money("1.10", "100.00")}), "SCALE_OVERFLOW", "line 2",
    ),
    "null": (
        columns(), written({**GOOD, "amount": pa.array([None, Decimal(1)], pa.decimal128(9, 2))}), "BAD_AMOUNT", "",
    ),
    "no-rows": (columns(), written({name: column[:0] for name, column in GOOD.items()}), "EMPTY_EXTRACT", "no record"),
    "another-day": (columns(), written({**GOOD, "day": pa.array(["2026-03-01"] * 2)}), "BAD_DATE", "line 1"),
    "debits-of-two-types": (
        columns(headers=("debit",), minus=("credit",)),
        written({"id": IDS, "day": DAYS, "debit": money("5", None), "credit": pa.array([None, "2"])}),
        "BAD_AMOUNT", "not of the type",
    ),
    "cut": (columns(), written(GOOD)[:-7], "TRUNCATED_STREAM", "footer"),
    "nothing": (columns(), b"", "TRUNCATED_STREAM", ""),
    "page": (columns(), b"", "TRUNCATED_STREAM", ""),
    "text": (columns(), b"id,day,amount\n", "TRUNCATED_STREAM", ""),
    "too-many-rows": (
        invoice_contract(max_bytes=400), written({n: pa.concat_arrays([c] * 300) for n, c in GOOD.items()}),
        "TOO_LARGE", "400"
    ),
    "a-trailer": (invoice_contract(trailers=({"equals": "T"},)), written(GOOD), "BAD_CONTRACT", "trailers"),
    "a-header-repeated": (invoice_contract(repeated_headers="drop"), written(GOOD), "BAD_CONTRACT", "repeated headers"),
    "packed-again": (invoice_contract(compression="gzip"), written(GOOD), "BAD_CONTRACT", "compression"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_exact_or_not_whole_is_refused(tmp_path: Path, case: str) -> None:
    contract, raw, code, words = REFUSED[case]
    if case == "page":
        whole = bytearray(
            written({**GOOD, "amount": money("1234567.89", "2")}, use_dictionary=False, compression="none")
        )
        raw = bytes(whole[:4]) + b"\xff" * 40 + bytes(whole[44:])

    found = judged(tmp_path, contract, [("v.parquet", raw)])

    assert (found.outcome, found.code) == ("refuse", code), found.text
    assert words in found.text
