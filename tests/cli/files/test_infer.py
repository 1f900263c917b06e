"""`planexec infer`: a draft that a person can correct, in which nothing passes for known that was guessed."""

from __future__ import annotations

import datetime as dt
import gzip
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from tests.support.planexec import planexec

CSV = "Invoice No,Booked,Net Amount,Currency,Memo\nA-1,2026-03-01,1.50,USD,x\nA-2,2026-03-02,20.25,USD,\n"


def infer(folder: Path, content: str | bytes, name: str = "march.csv") -> Any:
    """The draft of a file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return planexec("infer", path).document


def column(draft: Any, name: str) -> dict[str, Any]:
    """One column of the drafted contract."""
    return next(one for one in draft["contract"]["columns"] if one["name"] == name)


def test_a_plain_file_is_drafted_whole(tmp_path: Path) -> None:
    """Names, types, key, amount, date and currency; each of them a guess with its reason."""
    draft = infer(tmp_path, CSV)

    contract = draft["contract"]
    assert [c["type"] for c in contract["columns"]] == ["text", "date", "decimal", "text", "text"]
    assert (contract["key"], contract["amount"], contract["date"], contract["currency"]) == (
        ["invoice_no"], "net_amount", "booked", "USD",
    )  # fmt: skip
    assert set(draft["guesses"]) == set(contract["unconfirmed"])
    assert all(draft["guesses"].values())


def test_a_draft_loads_nothing_until_every_guess_is_confirmed(tmp_path: Path) -> None:
    """Refused by name; `--draft` tries it, and a contract without `unconfirmed` is one like any other."""
    (tmp_path / "march.csv").write_text(CSV)
    text = CliRunner().invoke(main, ["infer", str(tmp_path / "march.csv")]).stdout
    draft = tmp_path / "draft.yaml"
    draft.write_text(text)
    given = ("ingest", tmp_path / "march.csv", "--contract", draft)

    refused, tried = planexec(*given), planexec(*given, "--draft")
    confirmed = yaml.safe_load(text)
    del confirmed["unconfirmed"]
    draft.write_text(yaml.safe_dump(confirmed))
    accepted = planexec(*given)

    assert (refused.exit_code, refused.document["code"]) == (1, "BAD_CONTRACT")
    assert "draft" in refused.document["text"]
    for answer in (tried, accepted):
        assert (answer.exit_code, answer.document["rows"], answer.document["sum_amount"]) == (0, 2, "21.75")


def test_every_guess_of_the_text_has_its_mark(tmp_path: Path) -> None:
    """A person sees beside each word why it stands there."""
    (tmp_path / "march.csv").write_text(CSV)

    lines = CliRunner().invoke(main, ["infer", str(tmp_path / "march.csv")]).stdout.splitlines()

    marked = [line for line in lines if "# GUESS: " in line]
    listed = [line for line in lines if line.startswith('  - "')]
    assert len(marked) == len(listed) > 10


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("1,234.50|-3.00", {"type": "decimal", "thousands": ",", "scale": 2}),
        ("1.234,50|-3,00", {"type": "decimal", "thousands": ".", "decimal_mark": ",", "scale": 2}),
        ("$1500.25|($900.23)", {"type": "decimal", "negatives": ["minus", "parentheses"], "currency_signs": ["$"]}),
        ("5.00 CR|7.00 DR", {"type": "decimal", "negatives": ["minus", "credit"]}),
        ("5.00-|7.00", {"type": "decimal", "negatives": ["minus", "trailing_minus"]}),
        ("1E-7|2.50", {"type": "decimal", "exponent": True, "scale": 7}),
        ("NULL|7.00", {"type": "decimal", "nulls": ["NULL"], "nullable": True}),
        ("0042|0100", {"type": "text"}),
        ("12|7", {"type": "integer"}),
        ("2026-03-01|2026-03-02", {"type": "date", "formats": ["%Y-%m-%d"]}),
        ("31/03/2026|01/03/2026", {"type": "date", "formats": ["%d/%m/%Y"]}),
        ("9007199254740993|1", {"type": "integer"}),
        ("1,234|5", {"type": "decimal", "thousands": ","}),
        ("nan|inf", {"type": "text"}),
        ("١٢|٣", {"type": "text"}),
    ],
)
def test_how_cells_are_written_is_told_from_all_of_them(tmp_path: Path, cells: str, words: dict[str, Any]) -> None:
    """One cell that does not fit makes text of a column."""
    body = "".join(f"k{n};{cell};9.99\n" for n, cell in enumerate(cells.split("|")))

    found = column(infer(tmp_path, f"id;what;amount\n{body}"), "what")

    assert {name: found.get(name) for name in words} == words


def test_a_date_that_reads_both_ways_is_left_open(tmp_path: Path) -> None:
    """No format is written: the load by it would end as AMBIGUOUS_DATE."""
    draft = infer(tmp_path, "id,day,amount\na,02/03/2026,1.00\nb,04/03/2026,2.00\n")

    assert "formats" not in column(draft, "day")
    assert "%d/%m/%Y and as %m/%d/%Y" in draft["guesses"]["columns.day.formats"]


def test_bytes_that_are_no_utf8_are_left_to_a_reader(tmp_path: Path) -> None:
    """Several encodings read them; all are shown."""
    draft = infer(tmp_path, "id,name,amount\na,Brüder,1.00\n".encode("latin-1"))

    assert "encoding" in draft["contract"]["unconfirmed"]
    assert "Brüder" in draft["notes"][0]


def test_what_stands_around_the_records_is_guessed(tmp_path: Path) -> None:
    """Lines above the header, a total below."""
    text = "Export of March\nmade 2026-04-01\nid;amount;day\na;1,50;01.03.2026\nb;2,50;02.03.2026\nTOTAL;4,00;\n"

    contract = infer(tmp_path, text)["contract"]

    assert (contract["delimiter"], contract["skip_lines"]) == (";", 2)
    assert contract["trailers"] == [{"equals": "TOTAL", "sums": {"amount": 2}}]


def test_what_a_trailer_states_is_found_where_it_is_true(tmp_path: Path) -> None:
    """A count and sums in the style of their columns; a figure that does not close is left to a person."""
    records = "Betrag;Nr;Steuer\n1.000,50;r1;(0,50)\n2,25;r2;1,00\n"

    closed = infer(tmp_path, f"{records}Summe 1.002,75;2;0,50\n".replace("Summe 1.002,75", "Summe"))["contract"]
    wrong = infer(tmp_path, f"{records}Summe;3;0,75\n")["contract"]

    assert closed["trailers"] == [{"equals": "Summe", "rows": 2, "sums": {"steuer": 3}}]
    assert wrong["trailers"] == [{"equals": "Summe"}]


def test_names_are_words_that_a_contract_takes(tmp_path: Path) -> None:
    """Letters without their marks, each name once, and a header that nobody can see is written so that all can."""
    header = "W\u00e4hrung,Stra\u00dfe,N\u00ba,a,a_6,\u00c4,\u200bnet amount,2nd,\u8cbb\u7528"
    text = f"{header}\nEUR,x,1,2,3,4,5.50,6,7\n"
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(CliRunner().invoke(main, ["infer", str(tmp_path / "m.csv")]).stdout, "utf-8")

    names = [one["name"] for one in infer(tmp_path, text)["contract"]["columns"]]
    tried = planexec("ingest", tmp_path / "m.csv", "--contract", tmp_path / "c.yaml", "--draft").document

    assert names == ["wahrung", "strasse", "no", "a", "a_6", "a_6_6", "net_amount", "c8_2nd", "c9"]
    assert (tried["outcome"], tried["sum_amount"]) == ("accept", "5.50")


@pytest.mark.parametrize("header", ["id,amount,amount", "id,,amount", f"id,{'x' * 201},amount", '"i\nd",amount,amount'])
def test_columns_whose_headers_tell_nothing_are_told_by_their_place(tmp_path: Path, header: str) -> None:
    """A contract that names one header twice, or none, is no contract."""
    (tmp_path / "m.csv").write_text(f"{header}\na,1.00,2.00\n")
    (tmp_path / "c.yaml").write_text(CliRunner().invoke(main, ["infer", str(tmp_path / "m.csv")]).stdout)

    tried = planexec("ingest", tmp_path / "m.csv", "--contract", tmp_path / "c.yaml", "--draft").document

    assert (tried["outcome"], tried["rows"], tried["sum_amount"]) == ("accept", 1, "2.00")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,w\u00e4hrung,amount\na,EUR,1.00\n", {"currency": "EUR", "currency_column": "wahrung"}),
        ("id,kind,amount\na,USD,1.00\nb,EUR,2.00\n", {"currencies": {"EUR": 2, "USD": 2}, "currency_column": "kind"}),
        ("id,kind,amount\na,INV,1.00\n", {"currency": "XXX"}),
        ("id,kind,Amount (GBP)\na,INV,1.00\n", {"currency": "GBP"}),
        ("id,booking date,amount\na,20260301,1.00\n", {"date": "booking_date"}),
        ("id,number,amount\na,20260301,1.00\n", {"date": None}),
    ],
)
def test_currency_and_date_are_told_from_cells_and_headers(tmp_path: Path, text: str, words: dict[str, Any]) -> None:
    """Three capital letters are not always a currency, nor eight digits a day."""
    contract = infer(tmp_path, text)["contract"]

    assert {word: contract.get(word) for word in words} == words
    assert words.keys() - {"date"} <= set(contract["unconfirmed"])


def test_a_total_below_and_a_title_above_a_sheet_are_no_data(tmp_path: Path) -> None:
    """Counted as a line, the total would double the bill."""
    book = openpyxl.Workbook()
    for row in (["Invoices of March"], [], ["No", "Day", "Amount"], ["a", dt.date(2026, 3, 1), 1.5],
                ["b", dt.date(2026, 3, 2), 2.25], ["Total", None, 3.75]):  # fmt: skip
        book.active.append(row)
    book.save(tmp_path / "m.xlsx")
    (tmp_path / "c.yaml").write_text(CliRunner().invoke(main, ["infer", str(tmp_path / "m.xlsx")]).stdout)

    tried = planexec("ingest", tmp_path / "m.xlsx", "--contract", tmp_path / "c.yaml", "--draft").document

    assert (tried["outcome"], tried["rows"], tried["sum_amount"], tried["dropped"]) == (
        "accept", 2, "3.75", {"trailers": 1},
    )  # fmt: skip


@pytest.mark.parametrize("packed", ["gzip", "zip"])
def test_packed_files_are_looked_into(tmp_path: Path, packed: str) -> None:
    """A resource fork is no data."""
    path = tmp_path / "x"
    if packed == "gzip":
        path.write_bytes(gzip.compress(CSV.encode()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/._march.csv", b"\0")
            archive.writestr("ReadMe.txt", "hello")
            archive.writestr("march.psv", CSV)

    contract = planexec("infer", path).document["contract"]

    assert contract["amount"] == "net_amount"
    assert contract.get("members", ["march.psv"]) == ["march.psv"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "EMPTY_EXTRACT"),
        (b"id,amount\n", "EMPTY_EXTRACT"),
        (b"\x00\x01\x02", "VALIDATION_ERROR"),
        (b"\x1f\x8bbroken", "VALIDATION_ERROR"),
        (b"PK\x03\x04broken", "VALIDATION_ERROR"),
        (None, "FILE_GONE"),
    ],
)
def test_what_cannot_be_drafted_from_is_said(tmp_path: Path, content: bytes | None, code: str) -> None:
    """A code, never a stack trace."""
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_bytes(content)

    answer = planexec("infer", path)

    assert (answer.exit_code, answer.document["code"]) == (1, code)


def test_a_header_cannot_write_into_the_draft(tmp_path: Path) -> None:
    """It stays one quoted text, whatever it holds; the YAML is read back as one contract."""
    hostile = '"x: 1\nunconfirmed: [] #\x1b[2J",amount\na,1.00\n'
    (tmp_path / "x.csv").write_text(hostile)

    text = CliRunner().invoke(main, ["infer", str(tmp_path / "x.csv")]).stdout

    assert "\x1b" not in text
    assert len(yaml.safe_load(text)["unconfirmed"]) > 3


def test_a_workbook_is_drafted_too(tmp_path: Path) -> None:
    """Of several sheets the first, and that it is a guess."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ("Rechnung", "Datum", "Betrag"),
        ("0042", dt.date(2026, 3, 1), 12.5),
        ("43", dt.date(2026, 3, 2), 1.25),
    ):
        sheet.append(row)
    book.create_sheet("Notizen")
    book.save(tmp_path / "buch.xlsx")

    draft = planexec("infer", tmp_path / "buch.xlsx").document
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(draft["contract"]))
    tried = planexec("ingest", tmp_path / "buch.xlsx", "--contract", tmp_path / "c.yaml", "--draft").document

    assert [c["type"] for c in draft["contract"]["columns"]] == ["text", "date", "decimal"]
    assert "sheet" in draft["contract"]["unconfirmed"]
    assert (tried["outcome"], tried["rows"], tried["sum_amount"], tried["draft"] > 5) == ("accept", 2, "13.75", True)


def test_a_parquet_file_is_drafted_by_its_own_names(tmp_path: Path) -> None:
    """Money in a floating type is named: it would be refused."""
    pq.write_table(pa.table({"id": ["a", "b"], "cost": [1.5, 2.25]}), tmp_path / "x.parquet")

    draft = planexec("infer", tmp_path / "x.parquet").document

    assert (draft["contract"]["format"], draft["contract"]["amount"]) == ("parquet", "cost")
    assert "double" in draft["notes"][0]


def test_what_no_column_can_be_made_of_is_left_out_beside_the_bill(tmp_path: Path) -> None:
    """A share as a double, a list: the draft loads the rest as it stands."""
    table = {"id": ["a"], "amount": pa.array([1], pa.decimal128(9, 2)), "rate": [0.5], "tags": [["x"]]}
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    (tmp_path / "c.yaml").write_text(CliRunner().invoke(main, ["infer", str(tmp_path / "x.parquet")]).stdout)

    notes = planexec("infer", tmp_path / "x.parquet").document["notes"]
    tried = planexec("ingest", tmp_path / "x.parquet", "--contract", tmp_path / "c.yaml", "--draft").document

    assert [note.split("'")[1] for note in notes] == ["rate", "tags"]
    assert (tried["outcome"], tried["sum_amount"]) == ("accept", "1.00")


@pytest.mark.parametrize("mark", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, mark: str) -> None:
    """That of UTF-32 begins with that of UTF-16."""
    assert infer(tmp_path, CSV.encode(mark))["contract"]["amount"] == "net_amount"


def test_what_cannot_be_read_says_what_can(tmp_path: Path) -> None:
    """A folder, a link to itself, an archive that is encrypted, Parquet without its end."""
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"\0" * 50)
    with zipfile.ZipFile(tmp_path / "secret.zip", "w") as archive:
        archive.writestr("m.csv", CSV)
    raw = bytearray((tmp_path / "secret.zip").read_bytes())
    for head, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(head) + at] |= 1
    (tmp_path / "secret.zip").write_bytes(raw)

    answers = [planexec("infer", tmp_path / name) for name in ("loop.csv", "folder.csv", "cut.parquet", "secret.zip")]

    assert [one.document["code"] for one in answers] == [
        "VALIDATION_ERROR", "VALIDATION_ERROR", "TRUNCATED_STREAM", "VALIDATION_ERROR",
    ]  # fmt: skip
    assert not any("Errno" in one.document["text"] or "planexec check" in one.document["hint"] for one in answers)


def test_a_header_over_two_lines_is_no_line_above_it(tmp_path: Path) -> None:
    """Records are told apart, not lines: else the first line of data would become the header."""
    text = '"a","y\nz",amount\n1,2,2.50\n3,4,3.50\n'

    draft = infer(tmp_path, text)

    assert draft["records"] == 2
    assert "skip_lines" not in draft["contract"]


def test_a_file_without_an_end_of_line_is_no_text(tmp_path: Path) -> None:
    """A code, and no trace of the library's limit."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"x" * 5_000_000)

    assert planexec("infer", path).document["code"] == "VALIDATION_ERROR"


def test_a_wide_file_is_drafted_in_bounds(tmp_path: Path) -> None:
    """To another delimiter its line is one field that is too long; and nothing is looked up in a list of names."""
    wide = ",".join(f"column {n}" for n in range(30_000))

    draft = infer(tmp_path, f"{wide}\n{','.join(['1.50'] * 30_000)}\n")

    assert (len(draft["contract"]["columns"]), draft["contract"]["delimiter"]) == (30_000, ",")


def test_what_no_suffix_says_is_drafted_in_words(tmp_path: Path) -> None:
    """Without the two words no load by the contract could begin."""
    contract = infer(tmp_path, CSV, "march.dat")["contract"]

    assert (contract["format"], contract["compression"]) == ("delimited", "none")
