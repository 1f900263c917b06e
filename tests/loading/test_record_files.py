"""X12 invoices and NACHA payments through a load and its checks: exact figures, control values that close or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.file.column import Column
from dagster_planexec.contract.file_contract import FileContract
from tests.support.judged import judged

FILES = Path(__file__).parents[1] / "data" / "record_files"


def contract(headers: dict[str, str], **more: Any) -> FileContract:
    """Columns by the element or field that holds them; `amount` is money."""
    how = more.pop("how", {})
    columns = tuple(
        Column(name=name, headers=(header,), type="decimal" if name == "amount" else "text",
               **(how if name == "amount" else {}))
        for name, header in headers.items()
    )  # fmt: skip
    return FileContract(
        name="records", version="1", columns=columns, amount="amount", date=None, currency="USD",
        **{"key": tuple(name for name in headers if name != "amount"), **more},
    )  # fmt: skip


LINES = contract(
    {"invoice": "BIG02", "line": "IT101", "amount": "IT102*IT104"}, format="x12", compression="none", record="IT1"
)
TOTALS = contract(
    {"invoice": "BIG02", "amount": "TDS01"}, how={"minor_units": 2}, format="x12", compression="none", record="TDS"
)
PAYMENTS = contract(
    {"trace": "trace_number", "code": "transaction_code", "amount": "amount"}, how={"minor_units": 2}, key=("trace",),
    format="nacha", compression="none",
)  # fmt: skip
CLOSED = (
    (FILES / "x12_810_0.edi").read_bytes().replace(b"SE*18*", b"SE*19*").replace(b"IEA*1*000001320", b"IEA*1*000003438")
)


@pytest.mark.parametrize(
    ("declared", "name", "rows", "total"),
    [
        (TOTALS, "moov_4010_810.txt", 2, "2223.25"),
        (PAYMENTS, "ppd-debit.ach", 1, "2000000.00"),
        (PAYMENTS, "ppd-mixedDebitCredit.ach", 3, "4000000.00"),
        (PAYMENTS, "ctx-debit.ach", 1, "1000000.00"),
        (PAYMENTS, "iat-mixedCreditDebit.ach", 2, "2000.00"),
    ],
)
def test_published_files_load_to_their_exact_sums(tmp_path: Path, declared, name: str, rows: int, total: str) -> None:
    """Counted and added up by a second reading, and every control value closes."""
    found = judged(tmp_path, declared, [(name, (FILES / name).read_bytes())])

    assert (found.outcome, found.rows, str(found.total)) == ("accept", rows, total), found.text


def test_lines_of_an_invoice_whose_controls_close(tmp_path: Path) -> None:
    """The published file with its two control values set right: eight lines of 217.40."""
    found = judged(tmp_path, LINES, [("v.edi", CLOSED)])

    assert (found.outcome, found.rows, str(found.total)) == ("accept", 8, "217.40"), found.text


def test_what_an_envelope_says_holds_for_its_invoices(tmp_path: Path) -> None:
    """The kind of the document stands in GS, above every ST: both readings see it there."""
    kinds = {"invoice": "BIG02", "line": "IT101", "kind": "GS01", "sender": "ISA06", "amount": "IT102*IT104"}
    declared = contract(
        kinds, format="x12", compression="none", record="IT1",
        sign={"column": "kind", "positive": ("CN",), "negative": ("IN",)},
    )  # fmt: skip

    found = judged(tmp_path, declared, [("v.edi", CLOSED)])

    assert (found.outcome, found.rows, str(found.total)) == ("accept", 8, "-217.40"), found.text


def test_an_invoice_whose_segment_count_does_not_close_is_refused(tmp_path: Path) -> None:
    """As published: it states 18 segments and has 19."""
    found = judged(tmp_path, LINES, [("v.edi", (FILES / "x12_810_0.edi").read_bytes())])

    assert (found.outcome, found.code) == ("refuse", "CONTROL_TOTAL_MISMATCH")
    assert "states 18 for SE01, segments from ST to SE; found 19" in found.text


@pytest.mark.parametrize(
    ("declared", "raw", "code"),
    [
        (LINES, CLOSED.replace(b"IT1*8*6*EA*1.50**UP*999999330641\n", b""), "CONTROL_TOTAL_MISMATCH"),
        (LINES, CLOSED.replace(b"*8.60*", b"*8.6O*"), "BAD_AMOUNT"),
        (LINES, CLOSED.replace(b"*8.60*", b"*8.605*"), "SCALE_OVERFLOW"),
        (LINES, CLOSED[: CLOSED.index(b"TDS")], "CONTROL_TOTAL_MISMATCH"),
        (LINES, b"id,amount\na,1.00\n", "RAGGED_ROW"),
        (LINES, CLOSED.replace(b"IT1*2*", b"IT1*1*"), "DUPLICATE_KEY"),
        (LINES, CLOSED.replace(b"IT1*", b"XX1*"), "EMPTY_EXTRACT"),
        (
            PAYMENTS,
            (FILES / "ppd-debit.ach").read_bytes().replace(b"0200000000", b"0300000000", 1),
            "CONTROL_TOTAL_MISMATCH",
        ),
        (PAYMENTS, (FILES / "ppd-debit.ach").read_bytes().replace(b" ", b"", 1), "RAGGED_ROW"),
        (PAYMENTS, (FILES / "ppd-debit.ach").read_bytes().replace(b"\n627", b"\n627 ", 1), "RAGGED_ROW"),
        (PAYMENTS, (FILES / "ppd-debit.ach").read_bytes().replace(b"\n6272313", b"\n627231X", 1), "BAD_AMOUNT"),
    ],
)
def test_what_does_not_close_or_cannot_be_read_is_refused(tmp_path: Path, declared, raw: bytes, code: str) -> None:
    """A line that is gone, a letter in a price, a cut, another kind of file, a repeated key, no line at all.

    And a line that is too long, a letter in the number of a bank.
    """
    found = judged(tmp_path, declared, [("v.edi" if declared is LINES else "v.ach", raw)])

    assert (found.outcome, found.code) == ("refuse", code), found.text


@pytest.mark.parametrize(
    "change",
    [{"record": None}, {"trailers": ({"equals": "TOTAL"},)}, {"skip_lines": 1}],
)
def test_words_of_other_formats_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Also where the suffix says which format it is: a word that would be ignored in silence makes no contract."""
    declared = FileContract.model_validate({**LINES.model_dump(), "format": None, "compression": None, **change})

    found = judged(tmp_path, declared, [("v.edi", CLOSED)])

    assert (found.outcome, found.code) == ("refuse", "BAD_CONTRACT")
