"""Workbooks: loaded by pandas with calamine, counted by openpyxl, bounded and looked at before either."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from dagster_planexec.checks.fetch.admitted import compression_of
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.outcome import Failed
from tests.support.judged import Judged, judged
from tests.support.loading import TARGET, Loading, invoice_contract
from tests.support.reconciling import task as task_of

DAY = dt.date(2026, 3, 1)
HEAD = ("id", "day", "amount")
GOOD = [HEAD, ("007", DAY, 1.1), ("8", DAY, -0.2)]


def book(rows: Sequence[Sequence[object]], change: Callable[[Any], None] | None = None) -> bytes:
    """A workbook whose first sheet holds these rows."""
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(list(row))
    if change is not None:
        change(made)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def edited(raw: bytes, edit: Callable[[str, bytes], bytes | None]) -> bytes:
    """The same archive, with members changed (None: left out)."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = edit(info.filename, old.read(info))
            if data is not None:
                new.writestr(info.filename, data)
    return out.getvalue()


def in_sheet(raw: bytes, pattern: str, replacement: str) -> bytes:
    """The sheet's XML, with something put in another's place."""

    def edit(name: str, data: bytes) -> bytes:
        if name != "xl/worksheets/sheet1.xml":
            return data
        text, times = re.subn(pattern, lambda _: replacement, data.decode())
        assert times, text
        return text.encode()

    return edited(raw, edit)


def style(**amount: Any) -> FileContract:
    columns = (
        Column(name="id", type="text"),
        Column(name="day", type="date", formats=("%d/%m/%Y",)),
        Column(name="amount", type="decimal", **amount),
    )
    return invoice_contract(columns=columns)


def day_numbers() -> tuple[Column, ...]:
    key, _, *rest = style().columns
    return (key, Column(name="day", type="date", formats=("EXCEL_1900",)), *rest)


def error_in(column: str) -> Callable[[Any], None]:
    def change(made: Any) -> None:
        made.active[column].value, made.active[column].data_type = "#REF!", "e"

    return change


def two_sheets(made: Any) -> None:
    made.create_sheet("Notes").append(["x"])


def hidden(made: Any) -> None:
    made.active.row_dimensions[2].hidden = True
    made.active.column_dimensions["C"].hidden = True
    made.active.merge_cells("E1:F2")


def since_1904(made: Any) -> None:
    made.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    made.active["B2"].value = DAY


TOTAL = ({"equals": "TOTAL", "rows": 2, "sums": {"amount": 3}},)
BLANK: tuple[None, ...] = (None, None, None)
ACCEPTED: dict[str, tuple[FileContract, bytes, int, str]] = {
    "good": (style(), book(GOOD), 2, "0.90"),
    "blank-rows": (style(), book([BLANK, HEAD, BLANK, GOOD[1], BLANK, GOOD[2], BLANK]), 2, "0.90"),
    "rows-of-blanks": (style(), book([HEAD, (" ",), GOOD[1], (" ", "\t", " "), (*GOOD[2], " ")]), 2, "0.90"),
    "rows-above": (style().model_copy(update={"skip_lines": 2}), book([("x", 1), ("y",), *GOOD]), 2, "0.90"),
    "trailers": (invoice_contract(trailers=TOTAL), book([*GOOD, BLANK, ("TOTAL", 2, 0.9)]), 2, "0.90"),
    "days-as-text-too": (style(), book([HEAD, ("a", "02/03/2026", 1), ("b", DAY, 2)]), 2, "3.00"),
    "numbers-whatever-the-style": (
        style(thousands=".", decimal_mark=","), book([*GOOD, ("c", DAY, "1.000,50")]), 3, "1001.40",
    ),
    "negatives-as-declared": (style(negatives=("parentheses",)), book([*GOOD[:2], ("8", DAY, -0.2)]), 2, "0.90"),
    "fifteen-digits": (style(), book([HEAD, ("a", DAY, 1234567890123.25)]), 1, "1234567890123.25"),
    "hidden-and-merged": (style(), book(GOOD, hidden), 2, "0.90"),
    "a-named-sheet": (style().model_copy(update={"sheet": "Sheet"}), book(GOOD, two_sheets), 2, "0.90"),
    "since-1904": (style(), book(GOOD[:2], since_1904), 1, "1.10"),
    "computed": (style(), in_sheet(book(GOOD), r"<v>1\.1</v>", "<f>1+0.1</f><v>1.1</v>"), 2, "0.90"),
    "a-size-that-lies": (style(), in_sheet(book(GOOD), r'<dimension ref="[^"]*"', '<dimension ref="A1:B2"'), 2, "0.90"),
    "no-positions": (style(), in_sheet(book(GOOD), r' r="[A-Z]*[0-9]+"', ""), 2, "0.90"),
    "day-numbers": (
        invoice_contract(columns=day_numbers()), book([HEAD, ("a", 46082, 1), ("b", DAY, 2), ("c", 46083.75, 4)]),
        3, "7.00",
    ),
    "debits-and-credits": (
        style(headers=("debit",), minus=("credit",), negatives=("parentheses",)),
        book([("id", "day", "debit", "credit"), ("a", DAY, 5, None), ("b", DAY, None, 2.25)]), 2, "2.75",
    ),
    "with-its-reading-beside": (  # as Japanese workbooks have it: the reading is no part of the text
        style(), in_sheet(book([*GOOD, ("c", DAY, "3")]), "<t>3</t>", '<t>3</t><rPh sb="0" eb="1"><t>9</t></rPh>'),
        3, "3.90",
    ),
    "no-header": (style().model_copy(update={"header": False}), book(GOOD[1:]), 2, "0.90"),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_is_read_exactly(tmp_path: Path, case: str) -> None:
    contract, raw, rows, total = ACCEPTED[case]

    found = judged(tmp_path, contract, [("v.xlsx", raw)])

    assert found == Judged("accept", None, rows, Decimal(total)), found.text


def test_keys_and_dates_are_kept_as_they_are_typed(tmp_path: Path) -> None:
    """Zeros in front of a text stay; a number is its shortest text; a day is a day, in either calendar."""
    for name, raw in (("a", book([HEAD, ("007", DAY, 1), (7, DAY, 2), (0.5, DAY, 3), (True, DAY, 4)])),
                      ("b", book([HEAD, ("007", DAY, 1)], since_1904))):  # fmt: skip
        loading = Loading(tmp_path / name, style())
        loading.land(raw, "vendor/v.xlsx")
        loading.load()
        rows = loading.sql(f"select id, day from {TARGET} order by amount")
        assert rows == [(key, DAY) for key in ("007", "7", "0.5", "TRUE")][: len(rows)]


REFUSED: dict[str, tuple[FileContract, bytes, str, str]] = {
    "2^53+1-as-amount": (style(scale=0), book([HEAD, ("a", DAY, 2**53 + 1)]), "SCALE_OVERFLOW", "line 2"),
    "2^53+1-as-key": (style(), book([HEAD, (2**53 + 1, DAY, 1)]), "SCALE_OVERFLOW", "more than 15 digits"),
    "a-sum-of-floats": (
        style(), in_sheet(book(GOOD), r"<v>1\.1</v>", "<v>0.30000000000000004</v>"), "SCALE_OVERFLOW", "line 2"
    ),
    "blank-key": (style(), book([HEAD, (" ", DAY, 1)]), "NULL_KEY", "line 2"),
    "no-number": (
        style(), in_sheet(book(GOOD), r"<v>1\.1</v>", "<v>0x10</v>"), "BAD_FORMAT", "row 2, column 3 is '0x10'"
    ),
    "no-number-either": (
        style(), in_sheet(book(GOOD), r"<v>-0\.2</v>", "<v>1_0</v>"), "BAD_FORMAT", "row 3, column 3 is '1_0'"
    ),
    "other-digits-than-the-file-has": (
        style(scale=0), book([HEAD, ("a", DAY, 2**53 + 1)]), "SCALE_OVERFLOW", "'a number of more than 15 digits'"
    ),
    "a-cell-stated-twice": (
        style(), in_sheet(book(GOOD), "</row></sheetData>", '<c r="C3" t="n"><v>9</v></c></row></sheetData>'),
        "BAD_FORMAT", "cell 'C3' comes in or after row 3, column 3",
    ),
    "a-cell-of-another-row": (style(), in_sheet(book(GOOD), 'r="C3"', 'r="C2"'), "BAD_FORMAT", "cell 'C2'"),
    "a-row-stated-twice": (
        style(), in_sheet(book(GOOD), r'<row r="3">', '<row r="2">'), "BAD_FORMAT", "row 2 of a sheet comes after row 2"
    ),
    "scale": (style(), book([*GOOD, ("c", DAY, 12.345)]), "SCALE_OVERFLOW", "line 4"),
    "day-number": (style(), book([HEAD, ("a", 46082, 1)]), "BAD_DATE", "46082"),
    "error-as-amount": (style(), book(GOOD, error_in("C3")), "BAD_AMOUNT", "line 3"),
    "error-as-key": (style(), book(GOOD, error_in("A3")), "UNKNOWN_VALUE", "error of the spreadsheet"),
    "never-computed": (style(), in_sheet(book(GOOD), r"<v>1\.1</v>", "<f>1+0.1</f>"), "BAD_AMOUNT", "never computed"),
    "truth-as-amount": (style(), book([HEAD, ("a", DAY, True)]), "BAD_AMOUNT", "TRUE"),
    "day-as-amount": (style(), book([HEAD, ("a", DAY, DAY)]), "BAD_AMOUNT", "2026-03-01"),
    "a-cell-too-many": (style(), book([*GOOD, ("c", DAY, 1, "x")]), "RAGGED_ROW", "line 4"),
    "merged-amount": (style(), book(GOOD, lambda made: made.active.merge_cells("C2:C3")), "BAD_AMOUNT", "line 3"),
    "no-rows": (style(), book([HEAD, BLANK]), "EMPTY_EXTRACT", "no record"),
    "two-sheets": (style(), book(GOOD, two_sheets), "AMBIGUOUS_ARCHIVE", "'Notes'"),
    "no-such-sheet": (style().model_copy(update={"sheet": "March"}), book(GOOD), "BAD_FORMAT", "'March'"),
    "total": (
        invoice_contract(trailers=TOTAL), book([*GOOD, ("TOTAL", 2, 0.91)]), "CONTROL_TOTAL_MISMATCH", "0.91"
    ),
    "cut": (style(), book(GOOD)[:-200], "TRUNCATED_STREAM", ""),
    "text": (style(), b"id,day,amount\na,b,1\n", "TRUNCATED_STREAM", ""),
    "password-or-old": (style(), bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "BAD_FORMAT", "password"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_exact_or_not_whole_is_refused(tmp_path: Path, case: str) -> None:
    contract, raw, code, words = REFUSED[case]

    found = judged(tmp_path, contract, [("v.xlsx", raw)])

    assert (found.outcome, found.code) == ("refuse", code), found.text
    assert words in found.text


def test_rejects_name_the_row_of_the_sheet(tmp_path: Path) -> None:
    """Blank rows and rows above the header count, as a person sees them."""
    loading = Loading(tmp_path, style().model_copy(update={"skip_lines": 1}))
    loading.land(book([("March",), BLANK, HEAD, GOOD[1], BLANK, ("x", DAY, "much")]), "vendor/v.xlsx")
    assert isinstance(loading.load(), Failed)
    assert loading.sql(f"select line, reason from {TARGET}__rejects") == [(6, "BAD_AMOUNT")]


@pytest.mark.parametrize("declared", [True, False])
def test_a_workbook_is_unpacked_whole_when_it_is_fetched(declared: bool) -> None:
    """Its suffix says that it is an archive, or its contract does."""
    loading = invoice_contract(format="xlsx", compression="none") if declared else invoice_contract()
    given = replace(task_of(), contracts={"charges": loading})
    assert compression_of("v.dat" if declared else "v.xlsx", given) == "zip"
    assert compression_of("v.zip", replace(given, contracts={"charges": invoice_contract()})) == "zip"
    assert compression_of("v.csv", replace(given, contracts={"charges": invoice_contract()})) == "none"
    assert (
        compression_of("v.csv", replace(given, contracts={"charges": invoice_contract(compression="gzip")})) == "gzip"
    )
