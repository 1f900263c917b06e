"""Published faults of framing, each with variants, through `warehouse.load` and every check of its contract."""

from __future__ import annotations

import gzip
import io
import zipfile
from decimal import Decimal
from typing import Any

import pytest

from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.world.ingest import REJECTS, TextIngest
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from tests.support.judged import Judged, judged
from tests.support.loading import TARGET, Loading
from tests.support.loads import case_file

HEAD = "invoice_id,line_no,invoice_date,amount,currency\n"


def invoices(**changes: Any) -> FileContract:
    """What the cases declare."""
    declared: dict[str, Any] = {
        "name": "charges",
        "version": "1",
        "columns": (
            Column(name="invoice_id", type="text"),
            Column(name="line_no", type="integer"),
            Column(name="invoice_date", type="date", formats=("%Y-%m-%d",)),
            Column(name="amount", type="decimal"),
            Column(name="currency", type="text"),
        ),
        "key": ("invoice_id", "line_no"),
        "amount": "amount",
        "date": "invoice_date",
        "currency": "USD",
        "every_month": False,
    }
    return FileContract.model_validate(declared | changes)


def three(middle: str = "supplier", **changes: Any) -> FileContract:
    """A key, a text and an amount."""
    columns = tuple(Column(name=name, type="text") for name in ("invoice_id", middle))
    return invoices(
        columns=(*columns, Column(name="amount", type="decimal")), key=("invoice_id",), date=None, **changes
    )


def zipped(*members: tuple[str, bytes], **how: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **how) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


LINE = "Z{n},1,2026-03-0{n},{n}0.00,USD\n"
PARTS = [HEAD + LINE.format(n=1) + LINE.format(n=2), HEAD + LINE.format(n=3)]
TRL = {"starts_with": "TRL", "rows": 2, "sums": {"amount": 3}}
TOTAL = ({"equals": "TOTAL", "sums": {"amount": 4}}, {"starts_with": "***"})
RIGHT = "TRL,2,30.00\n"
MAC = ("__MACOSX/._p", b"\0")
DECLARED = {"members": ("*.csv",), "ignored_members": ("__MACOSX/*",)}
DRIFT = FileContract.model_validate(
    {
        "name": "charges", "version": "1", "key": ("trans_no",), "amount": "amount", "date": "paid_date",
        "currency": "GBP", "every_month": False, "other_columns": "ignore",
        "normalise_headers": ("lower", "underscore_to_space", "collapse_spaces"),
        "columns": (
            Column(name="trans_no", headers=("trans no",), type="text"),
            Column(name="amount", type="decimal"),
            Column(name="paid_date", headers=("paid date",), type="date", formats=("%d/%m/%Y",)),
            Column(name="supplier", headers=("supplier name",), type="text"),
        ),
    }
)  # fmt: skip
BODY = PARTS[0]

ACCEPTED: dict[str, tuple[FileContract, list[tuple[str, bytes]], int, str]] = {
    "14": (invoices(), [("v.csv.gz", case_file("14", "vendor.csv.gz").read_bytes())], 6, "23.10"),
    "14-by-line": (
        invoices(),
        [("v.csv.gz", b"".join(gzip.compress(line) for line in BODY.encode().splitlines(keepends=True)))],
        2,
        "30.00",
    ),
    "14-empty-members": (
        invoices(),
        [("v.csv.gz", gzip.compress(b"") + gzip.compress(BODY.encode()) + gzip.compress(b""))],
        2,
        "30.00",
    ),
    "15": (invoices(**DECLARED), [("v.zip", case_file("15", "vendor.zip").read_bytes())], 3, "175.00"),
    "15-one-undeclared": (invoices(), [("v.zip", zipped(("a/b.txt", BODY.encode()), ("a/", b"")))], 2, "30.00"),
    "15-other-order-and-deflate": (
        invoices(**DECLARED),
        [
            (
                "v.zip",
                zipped(
                    ("1.csv", PARTS[0].encode()),
                    MAC,
                    ("2.csv", b"currency,amount,invoice_date,line_no,invoice_id\r\nUSD,5.00,2026-03-09,1,Q\r\n"),
                    compression=zipfile.ZIP_DEFLATED,
                ),
            )
        ],
        3,
        "35.00",
    ),
    "15-path-tricks-are-only-names": (
        invoices(members=("*.csv",)),
        [("v.zip", zipped(("../../x.csv", PARTS[0].encode()), ("/abs.csv", PARTS[1].encode())))],
        3,
        "60.00",
    ),
    "15-each-its-own-trailer": (
        invoices(**DECLARED, trailers=(TRL,)),
        [("v.zip", zipped(("1.csv", (PARTS[0] + RIGHT).encode()), ("2.csv", (PARTS[1] + "TRL,1,30.00").encode())))],
        3,
        "60.00",
    ),
    "17-right": (invoices(trailers=(TRL,)), [("v.csv", (BODY + RIGHT).encode())], 2, "30.00"),
    "17-blank-lines-below": (
        invoices(trailers=(TRL,)),
        [("v.csv", (BODY + "\n\n" + RIGHT + "\n" * 70_000).encode())],
        2,
        "30.00",
    ),
    "17-like-one-in-the-middle": (
        invoices(trailers=(TRL,)),
        [("v.csv", (HEAD + "TRL9,1,2026-03-01,5.00,USD\n" + LINE.format(n=2) + "TRL,2,25.00").encode())],
        2,
        "25.00",
    ),
    "17-other-encoding": (
        invoices(trailers=(TRL,), encoding="utf-16"), [("v.csv", (BODY + RIGHT).encode("utf-16"))], 2, "30.00"
    ),
    "17-optional-and-not-there": (
        invoices(trailers=({**TRL, "required": False},)), [("v.csv", BODY.encode())], 2, "30.00",
    ),
    "17-inside-quotes-it-is-data": (
        three("memo", trailers=({**TRL, "required": False},)),
        [("v.csv", b'invoice_id,memo,amount\na,x,1.00\nb,"y\nTRL,2,3.00\n",2.00\n')],
        2,
        "3.00",
    ),
    "17-two-files": (
        invoices(trailers=(TRL,)),
        [("v-1.csv", (PARTS[0] + RIGHT).encode()), ("v-2.csv", (PARTS[1] + "TRL,1,30.00").encode())],
        3,
        "60.00",
    ),
    "18": (invoices(), [("v.csv", case_file("18").read_bytes())], 2, "30.00"),
    "18-utf-16-le-with-mark": (
        invoices(encoding="utf-16-le"), [("v.csv", ("\ufeff" + BODY).encode("utf-16-le"))], 2, "30.00"
    ),
    "18-utf-32": (invoices(encoding="utf-32"), [("v.csv", BODY.encode("utf-32"))], 2, "30.00"),
    "18-utf-32-be-with-mark": (
        invoices(encoding="utf-32-be"), [("v.csv", ("\ufeff" + BODY).encode("utf-32-be"))], 2, "30.00"
    ),
    "19": (three(encoding="latin-1"), [("v.csv", case_file("19").read_bytes())], 4, "101.00"),
    "19-cp1252-in-a-zip": (
        three(encoding="cp1252", compression="zip"),
        [("v.csv", zipped(("x", "invoice_id,supplier,amount\na,5 \u20ac,1.00\n".encode("cp1252"))))],
        1,
        "1.00",
    ),
    "19-shift-jis": (
        three(encoding="shift_jis"),
        [("v.csv", "invoice_id,supplier,amount\na,\u8868,1.00\n".encode("shift_jis"))],  # ends in a backslash
        1,
        "1.00",
    ),
    "21": (three("memo"), [("v.csv", case_file("21").read_bytes())], 3, "60.00"),
    "21-cr-only": (three("memo"), [("v.csv", b'invoice_id,memo,amount\ra,"x\ry",1.00\rb,z,2.00')], 2, "3.00"),
    "21-mixed-ends": (three("memo"), [("v.csv", b'invoice_id,memo,amount\r\na,"x\n",1.00\nb,z,2.00\r\n')], 2, "3.00"),
    "21-escaped-quotes": (
        three("memo", escape="\\"),
        [("v.csv", b'invoice_id,memo,amount\na,"x \\"y\\", z",1.00\nb,"c:\\\\",2.00\nc,"d\\n",3.00\n')],
        3,
        "6.00",
    ),
    "21-nothing-is-quoted": (
        three("memo", quote=None), [("v.csv", b'invoice_id,memo,amount\na,5" pipe,1.00\nb,"x,2.00\n')], 2, "3.00"
    ),
    "21-nul-bytes": (three("memo"), [("v.csv", b"invoice_id,memo,amount\na,x\0y,1.00\n")], 1, "1.00"),
    "21-lone-quote": (three("memo"), [("v.csv", b'invoice_id,memo,amount\na,5" pipe,1.00\nb,x,2.00\n')], 2, "3.00"),
    "21-tabs": (three("memo", delimiter="\t"), [("v.tsv", b'invoice_id\tmemo\tamount\na\t"x\ty"\t1.00\n')], 1, "1.00"),
    "23-lines-above": (
        three(skip_lines=3),
        [("v.csv", b'Report "x\n\n,,\ninvoice_id,supplier,amount\na,b,1.00\n')],
        1,
        "1.00",
    ),
    "23-no-header": (three(header=False), [("v.csv", b"\na,b,1.00\nc,d,2.00")], 2, "3.00"),
    "23-repeated-headers": (
        three(repeated_headers="drop"),
        [("v.csv", b"invoice_id,supplier,amount\na,b,1.00\ninvoice_id,supplier,amount\nc,d,2.00\n")],
        2,
        "3.00",
    ),
    "25": (DRIFT, [(f"v-{n}.csv", case_file("25", f"q{n}.csv").read_bytes()) for n in (1, 2, 3)], 6, "210.00"),
    "25-in-one-zip": (
        FileContract.model_validate(DRIFT.model_dump() | {"members": ("q?.csv",)}),
        [("v.zip", zipped(*((f"q{n}.csv", case_file("25", f"q{n}.csv").read_bytes()) for n in (1, 2, 3))))],
        6,
        "210.00",
    ),
    "25-shouted": (
        DRIFT, [("v.csv", b" PAID__DATE,Trans  No,x,x,AMOUNT,Supplier_Name\n01/02/2025,1,,,7.00,s\n")], 1, "7.00"
    ),
    "26": (invoices(trailers=TOTAL), [("v.csv", case_file("26").read_bytes())], 3, "350.00"),
    "26-in-the-other-order": (
        invoices(trailers=TOTAL), [("v.csv", (BODY + "*** end,,,,\nTOTAL,,,30.00,\n").encode())], 2, "30.00"
    ),
    "26-quoted": (
        invoices(trailers=TOTAL[:1]), [("v.csv.gz", gzip.compress((BODY + '" TOTAL ",,,"30.00",').encode()))],
        2, "30.00",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_declared_is_read_to_its_exact_figures(tmp_path: Any, case: str) -> None:
    """Rows and sum in the table, and every check passes: the independent counter found the same."""
    contract, files, rows, total = ACCEPTED[case]

    found = judged(tmp_path, contract, files)

    assert found == Judged("accept", None, rows, Decimal(total)), found.text


CUT = zipped(("a.csv", b"x" * 5000))
SECRET = bytearray(zipped(("a.csv", BODY.encode())))
SECRET[6] |= 1
SECRET[SECRET.index(b"PK\x01\x02") + 8] |= 1
BAD_SUM = bytearray(zipped(("a.csv", BODY.encode())))
BAD_SUM[BAD_SUM.index(b"Z1,1")] ^= 1

REFUSED: dict[str, tuple[FileContract, list[tuple[str, bytes]], str, str]] = {
    "11": (invoices(), [("v.csv", case_file("11").read_bytes())], "EMPTY_EXTRACT", "no record"),
    "11-header-and-trailer": (invoices(trailers=(TRL,)), [("v.csv", (HEAD + "TRL,0,0").encode())], "EMPTY_EXTRACT", ""),
    "11-in-a-zip": (invoices(), [("v.zip", zipped(("a", HEAD.encode())))], "EMPTY_EXTRACT", "no record"),
    "11-repeated-header-only": (
        invoices(repeated_headers="drop"), [("v.csv", (HEAD * 3).encode())], "EMPTY_EXTRACT", "",
    ),
    "12": (invoices(), [("v.csv", b"")], "EMPTY_EXTRACT", "no record"),
    "12-gzip-of-nothing": (invoices(), [("v.csv.gz", gzip.compress(b""))], "EMPTY_EXTRACT", "no record"),
    "12-empty-archive": (invoices(), [("v.zip", zipped())], "EMPTY_EXTRACT", "no member that is data"),
    "12-no-header-and-no-row": (three(header=False), [("v.csv", b"\n\n")], "EMPTY_EXTRACT", "no record"),
    "14-cut": (invoices(), [("v.csv.gz", case_file("14", "vendor.csv.gz").read_bytes()[:-3])], "TRUNCATED_STREAM", ""),
    "14-no-gzip": (invoices(), [("v.csv.gz", BODY.encode())], "TRUNCATED_STREAM", ""),
    "15-undeclared": (
        invoices(), [("v.zip", case_file("15", "vendor.zip").read_bytes())], "AMBIGUOUS_ARCHIVE", "2026-03-part1.csv"
    ),
    "15-unknown-member": (
        invoices(**DECLARED), [("v.zip", zipped(("a.csv", b""), ("inner.zip", CUT)))], "AMBIGUOUS_ARCHIVE", "inner.zip"
    ),
    "15-cut": (invoices(), [("v.zip", CUT[:-30])], "TRUNCATED_STREAM", ""),
    "15-checksum": (invoices(), [("v.zip", bytes(BAD_SUM))], "TRUNCATED_STREAM", "CRC"),
    "15-password": (invoices(), [("v.zip", bytes(SECRET))], "TRUNCATED_STREAM", "password"),
    "15-bomb-over-all-members": (
        invoices(members=("*",), max_bytes=5_000),
        [("v.zip", zipped(("a", b"x" * 4000), ("b", b"x" * 4000), compression=zipfile.ZIP_DEFLATED))],
        "TOO_LARGE",
        "5,000",
    ),
    "15-a-member-is-ragged": (
        invoices(members=("*",)), [("v.zip", zipped(("a", PARTS[0].encode()), ("b", (HEAD + "x,1\n").encode())))],
        "RAGGED_ROW", ":b line 2",
    ),
    "17": (
        invoices(trailers=(TRL,)), [("v.csv", case_file("17").read_bytes())],
        "CONTROL_TOTAL_MISMATCH", "states 5 rows, amount 500.00; the table has 4 rows, amount 390.00",
    ),
    "17-sum-alone": (
        invoices(trailers=(TRL,)), [("v.csv", (BODY + "TRL,2,30.01").encode())],
        "CONTROL_TOTAL_MISMATCH", "states 2 rows, amount 30.01; the table has 2 rows, amount 30.00",
    ),
    "17-cut-off": (
        invoices(trailers=(TRL,)), [("v.csv", BODY.encode())], "CONTROL_TOTAL_MISMATCH", "no trailer 'TRL'..."
    ),
    "17-unreadable": (
        invoices(trailers=(TRL,)), [("v.csv", (BODY + "TRL,two,30.00").encode())], "CONTROL_TOTAL_MISMATCH", "'two'"
    ),
    "17-one-too-short": (
        invoices(trailers=(TRL,)), [("v.csv", (BODY + "TRL,2").encode())], "CONTROL_TOTAL_MISMATCH", "''"
    ),
    "17-two-files-that-make-up-for-each-other": (
        invoices(trailers=(TRL,)),
        [("v-1.csv", (PARTS[0] + "TRL,1,20.00").encode()), ("v-2.csv", (PARTS[1] + "TRL,2,40.00").encode())],
        "CONTROL_TOTAL_MISMATCH", "states 1 rows; found 2 rows (amount 30.00)",
    ),
    "17-twice": (
        invoices(trailers=(TRL,)), [("v.csv", (BODY + RIGHT + RIGHT).encode())], "RAGGED_ROW", "line 4",
    ),
    "18-a-mark-of-another-encoding": (
        invoices(encoding="latin-1"), [("v.csv", case_file("18").read_bytes())], "UNKNOWN_COLUMN", "",
    ),
    "19-undeclared": (three(), [("v.csv", case_file("19").read_bytes())], "BAD_ENCODING", "bytes e9"),
    "19-utf-16-undeclared": (three(), [("v.csv", "invoice_id,supplier,amount\n".encode("utf-16"))], "BAD_ENCODING", ""),
    "21-unclosed": (
        three("memo"), [("v.csv", b'invoice_id,memo,amount\na,x,1.00\nb,"y,2.00\n')], "RAGGED_ROW", "line 3",
    ),
    "23": (three(), [("v.csv", case_file("23").read_bytes())], "RAGGED_ROW", "line 3, 4 fields, the header has 3"),
    "23-too-few": (
        three(), [("v.csv", b"invoice_id,supplier,amount\na,b,1.00\nc,2.00\n")], "RAGGED_ROW", "line 3, 2 fields",
    ),
    "23-below-lines-above": (
        three(skip_lines=1), [("v.csv", b"x\ninvoice_id,supplier,amount\na,b,c,1.00\n")],
        "RAGGED_ROW", "line 3 has 4 fields"
    ),
    "23-a-repeated-header-is-data": (
        three(), [("v.csv", b"invoice_id,supplier,amount\na,b,1.00\ninvoice_id,supplier,amount\n")],
        "BAD_AMOUNT", "line 3"
    ),
    "25-unknown": (
        FileContract.model_validate(DRIFT.model_dump() | {"other_columns": "refuse"}),
        [("v.csv", case_file("25", "q3.csv").read_bytes())], "UNKNOWN_COLUMN", "'Client', 'Type'",
    ),
    "25-missing": (
        DRIFT, [("v.csv", b"paid date,trans no,supplier name\n01/02/2025,1,s\n")], "MISSING_COLUMN", "amount"
    ),
    "25-two-that-are-one": (
        DRIFT, [("v.csv", b"paid date,Paid_Date,trans no,amount,supplier name\n,,,,\n")], "UNKNOWN_COLUMN", "same"
    ),
    "26-undeclared": (invoices(), [("v.csv", case_file("26").read_bytes())], "NULL_KEY", "line 5"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_declared_or_broken_is_refused(tmp_path: Any, case: str) -> None:
    """With its code, and with the place in words; no check lets it through."""
    contract, files, code, words = REFUSED[case]

    found = judged(tmp_path, contract, files)

    assert (found.outcome, found.code) == ("refuse", code), found.text
    assert words in found.text


def test_case_17_and_26_show_what_was_stated_and_what_was_found(tmp_path: Any) -> None:
    """Both numbers, of both sides, at the scale of the column."""
    for case, stated, found in (
        ("17", "5 rows, amount 500.00", "4 rows, amount 390.00"),
        ("26", "amount 350.00", "3 rows, amount 350.00"),
    ):
        contract, files, *_ = REFUSED.get(case) or ACCEPTED[case]
        loading = Loading(tmp_path / case, contract)
        loading.land(files[0][1], "vendor/v.csv")
        loading.load()
        verdict = loading.verdict("control_totals_agree")
        assert (verdict.expected.value, verdict.observed.value) == (stated, found)


def test_members_and_records_that_are_no_data_are_counted(tmp_path: Any) -> None:
    """By the loader and by the counter, each for itself."""
    contract = three(repeated_headers="drop", trailers=(TRL,), members=("*",))
    head = b"invoice_id,supplier,amount\n"
    loading = Loading(tmp_path, contract)
    loading.land(
        zipped(("a", head + b"a,b,1.00\n" + head + b"TRL,1,1.00"), ("b", head + b"TRL,0,0.00")), "vendor/v.zip"
    )
    path, form = loading.ports.roots.landed_path(loading.landed[0]), contract.format_of("v.zip")
    columns = tuple(column.in_file(column.name, ()) for column in contract.columns)
    loading.create()
    seen = CountExtract(path, form, contract.counted).observe(loading.ports)
    report = loading.warehouse.ingest(TextIngest((path,), form, columns, TARGET, TARGET + REJECTS))
    assert (seen["rows"], seen["parts"], seen["dropped"]) == (1, 2, {"trailers": 2, "repeated headers": 1})
    assert (report.rows_loaded, report.dropped) == (1, {"trailers": 2, "repeated headers": 1})
