"""Text becomes rows as its contract declares, or a reject with line, column and reason. Nothing is rounded or lost."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.ingest import ingest_text
from dagster_planexec.world.ingest import FileFormat, IngestReport, NumberStyle, TextColumn
from tests.support.loads import case_file, create, ingest_of

ID = TextColumn("id", "id", "text")
AMOUNT = TextColumn("amount", "amount", "decimal")
DAY = TextColumn("day", "day", "date", formats=("%Y-%m-%d",))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(tmp_path / "w.duckdb") as opened:
        yield opened


@pytest.fixture
def load(connection, tmp_path):
    """Write bytes to a file, make the table, load the one into the other."""

    def _load(raw: bytes, *columns: TextColumn, name: str = "file.csv", **form: str) -> IngestReport:
        path = tmp_path / name
        path.write_bytes(raw)
        create(connection, columns)
        return ingest_text(connection, ingest_of(path, columns=columns, form=FileFormat(**form)))  # type: ignore[arg-type]

    return _load


def rows(connection, table: str = "staging.t") -> list[tuple[object, ...]]:
    return connection.execute(f"select * from {table} order by rowid").fetchall()


def rejects(connection) -> list[tuple[object, ...]]:
    return connection.execute(
        'select source, line, "column", value, reason from staging.t__rejects order by rowid'
    ).fetchall()


def amounts(connection) -> list[Decimal | None]:
    return [row[-1] for row in rows(connection)]


class TestAmounts:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("12.34", "12.34"),
            ("-12.34", "-12.34"),
            ("+12.34", "12.34"),
            ("7", "7.00"),
            (".5", "0.50"),
            ("-0.00", "0.00"),
            ("  12.50 ", "12.50"),
            ("0007.10", "7.10"),
            ("123456789.01", "123456789.01"),
            ("9007199254740993.00", "9007199254740993.00"),  # 2^53 + 1, which no double holds
            ("9999999999999999.99", "9999999999999999.99"),
        ],
    )
    def test_is_read_exactly(self, load, connection, text, value):
        report = load(f"id,amount\na,{text}\n".encode(), ID, AMOUNT)

        assert IngestReport(1, {}) == report
        assert [Decimal(value)] == amounts(connection)

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("12.345", "SCALE_OVERFLOW"),
            ("12.500", "SCALE_OVERFLOW"),  # may as well be twelve thousand five hundred
            ("12345678901234567.00", "SCALE_OVERFLOW"),
            ("1E-7", "BAD_AMOUNT"),
            ("1e2", "BAD_AMOUNT"),
            ("1_000", "BAD_AMOUNT"),
            ("12.", "BAD_AMOUNT"),
            ("--5", "BAD_AMOUNT"),
            ("5-", "BAD_AMOUNT"),
            ("(5.00)", "BAD_AMOUNT"),
            ("$5.00", "BAD_AMOUNT"),
            ("nan", "BAD_AMOUNT"),
            ("inf", "BAD_AMOUNT"),
            ("0x10", "BAD_AMOUNT"),
            ("٣", "BAD_AMOUNT"),
            ("1 000.00", "BAD_AMOUNT"),
            ('"1,000.00"', "BAD_AMOUNT"),
            ("n/a", "BAD_AMOUNT"),
            ("", "BAD_AMOUNT"),
            ("   ", "BAD_AMOUNT"),
        ],
    )
    def test_is_refused_rather_than_guessed(self, load, connection, text, code):
        report = load(f"id,amount\na,1.00\nb,{text}\nc,2.00\n".encode(), ID, AMOUNT)

        assert {code: 1} == report.rejects
        assert report.rows_loaded == 2
        assert [Decimal("1.00"), Decimal("2.00")] == amounts(connection)
        assert [("file.csv", 3, "amount", code)] == [(r[0], r[1], r[2], r[4]) for r in rejects(connection)]

    def test_sums_without_the_error_of_floats(self, load, connection):
        load(b"id,amount\na,0.1\nb,0.2\n", ID, AMOUNT)

        (total,) = connection.execute("select sum(amount) from staging.t").fetchone()
        assert Decimal("0.30") == total

    @pytest.mark.parametrize("text", ["", "  ", '""'])
    def test_may_be_empty_if_declared_so(self, load, connection, text):
        report = load(f"id,amount\na,{text}\n".encode(), ID, replace(AMOUNT, nullable=True))

        assert IngestReport(1, {}) == report
        assert amounts(connection) == [None]

    @pytest.mark.parametrize(
        ("text", "value"),
        [("1.234,50", "1234.50"), ("1234,50", "1234.50"), ("-1.234.567,8", "-1234567.80"), ("1.234", "1234.00")],
    )
    def test_follows_the_declared_marks(self, load, connection, text, value):
        german = replace(AMOUNT, number=NumberStyle(".", ","))

        report = load(f"id;amount\na;{text}\n".encode(), ID, german, delimiter=";")

        assert report.rejects == {}
        assert [Decimal(value)] == amounts(connection)

    @pytest.mark.parametrize(
        "text", ["1,23.00", "1,2345.00", ",123.00", "1,,234.00", "1234,567.00", "1,234,56", "1,234.50,0"]
    )
    def test_refuses_thousands_in_the_wrong_place(self, load, text):
        report = load(f'id,amount\na,"{text}"\n'.encode(), ID, replace(AMOUNT, number=NumberStyle(",")))

        assert report.rejects == {"BAD_AMOUNT": 1}

    @pytest.mark.parametrize("mark", [" ", "'"])
    def test_knows_every_declarable_thousands_mark(self, load, connection, mark):
        load(f"id,amount\na,1{mark}234.50\n".encode(), ID, replace(AMOUNT, number=NumberStyle(mark)))

        assert [Decimal("1234.50")] == amounts(connection)

    def test_of_38_digits_are_exact(self, load, connection):
        wide = replace(AMOUNT, precision=38, scale=18)

        load(b"id,amount\na,12345678901234567890.123456789012345678\n", ID, wide)

        assert [Decimal("12345678901234567890.123456789012345678")] == amounts(connection)

    def test_of_scale_zero_have_no_decimals(self, load):
        report = load(b"id,amount\na,5\nb,5.0\n", ID, replace(AMOUNT, scale=0))

        assert (report.rows_loaded, report.rejects) == (1, {"SCALE_OVERFLOW": 1})


class TestDates:
    @pytest.mark.parametrize(
        ("formats", "text", "value"),
        [
            (("%d/%m/%Y",), "02/03/2026", date(2026, 3, 2)),
            (("%m/%d/%Y",), "02/03/2026", date(2026, 2, 3)),
            (("%d/%m/%Y", "%Y-%m-%d"), "2026-03-02", date(2026, 3, 2)),
            (("%d-%b-%y",), "02-Mar-26", date(2026, 3, 2)),
            (("%d/%m/%Y %H:%M:%S",), "02/03/2026 00:00:00", date(2026, 3, 2)),
            (("%Y-%m-%d",), " 2026-03-02 ", date(2026, 3, 2)),
            (("%Y-%m-%d",), "1970-01-01", date(1970, 1, 1)),
        ],
    )
    def test_follow_the_declared_formats_in_order(self, load, connection, formats, text, value):
        report = load(f"id,day\na,{text}\n".encode(), ID, replace(DAY, formats=formats))

        assert report.rejects == {}
        assert [(value,)] == [row[1:] for row in rows(connection)]

    @pytest.mark.parametrize(
        ("formats", "text"),
        [
            (("%d/%m/%Y",), "02/03/2026 00:00:00"),
            (("%d/%m/%Y",), "02/03/26"),
            (("%d/%m/%Y",), "31/02/2026"),
            (("%d/%m/%Y",), "13/13/2026"),
            (("%d/%m/%Y",), "2026-03-02"),
            (("%Y-%m-%d",), "46082"),
            (("%Y-%m-%d",), "infinity"),
            (("%Y-%m-%d",), "epoch"),
            (("%Y-%m-%d",), " EPOCH "),
            (("%Y-%m-%d",), "0000-00-00"),
            (("%Y-%m-%d",), ""),
            (("%Y-%m-%d",), "xxx"),
        ],
    )
    def test_of_another_form_are_refused(self, load, connection, formats, text):
        report = load(f"id,day\na,{text}\n".encode(), ID, replace(DAY, formats=formats))

        assert report.rejects == {"BAD_DATE": 1}
        assert rows(connection) == []

    @pytest.mark.parametrize(
        ("formats", "zone", "says"),
        [
            (("%Y-%m-%d %Z",), "UTC", "an offset is %z"),
            (("%z %Y-%m-%d",), "UTC", "an offset is %z"),
            (("%Y-%m-%d %z",), "Europe/Nowhere", "which there is not"),
            (("%Y-%m-%d %z",), "../../etc/passwd", "which there is not"),
        ],
    )
    def test_that_cannot_be_followed_are_no_contract(self, load, formats, zone, says):
        with pytest.raises(PortError, match=says) as caught:
            load(b"id,day\na,2026-03-02\n", ID, replace(DAY, formats=formats, zone=zone))

        assert caught.value.code == "BAD_CONTRACT"


class TestOtherCells:
    @pytest.mark.parametrize("text", ["0042", " x ", "NULL", "NA", r"\N", "#x", "1e5", "=1+1", "Ünï"])
    def test_text_is_kept_as_it_is(self, load, connection, text):
        load(f"id,amount\n{text},1.00\n".encode(), ID, AMOUNT)

        assert [text] == [row[0] for row in rows(connection)]

    def test_empty_text_is_null_and_no_reject(self, load, connection):
        report = load(b'id,amount\n,1.00\n"",2.00\n', ID, AMOUNT)

        assert report.rejects == {}
        assert [row[0] for row in rows(connection)] == [None, None]

    @pytest.mark.parametrize(
        ("text", "code"),
        [("1.0", "BAD_AMOUNT"), ("1e3", "BAD_AMOUNT"), ("x", "BAD_AMOUNT"), ("9223372036854775808", "SCALE_OVERFLOW")],
    )
    def test_integers_are_read_exactly_or_refused(self, load, connection, text, code):
        report = load(f"n\n9007199254740993\n{text}\n".encode(), TextColumn("n", "n", "integer"))

        assert {code: 1} == report.rejects
        assert rows(connection) == [(9007199254740993,)]


class TestRejects:
    def test_every_bad_cell_is_kept_and_the_row_counted_once(self, load, connection):
        raw = b"id,day,amount\na,2026-03-01,1.00\nb,yesterday,lots\nc,2026-03-02,1.005\n"

        report = load(raw, ID, DAY, AMOUNT)

        assert (report.rows_loaded, report.rejects) == (1, {"BAD_DATE": 1, "SCALE_OVERFLOW": 1})
        assert rejects(connection) == [
            ("file.csv", 3, "day", "yesterday", "BAD_DATE"),
            ("file.csv", 3, "amount", "lots", "BAD_AMOUNT"),
            ("file.csv", 4, "amount", "1.005", "SCALE_OVERFLOW"),
        ]
        assert report.first_reject == "file.csv line 3, column 'day': 'yesterday' (BAD_DATE)"

    def test_lines_are_physical_lines_also_below_quoted_line_breaks_and_blank_lines(self, load, connection):
        load(b'id,amount\n"a\nb\r\nc",1.00\n\nd,2.00\ne,x\n', ID, AMOUNT)

        assert [row[1] for row in rejects(connection)] == [7]

    @pytest.mark.parametrize(("raw", "fields"), [(b"R2,Doe,20.00,x", 4), (b"R2,20.00", 2)], ids=["more", "fewer"])
    def test_a_row_of_another_width_is_ragged(self, load, connection, raw, fields):
        report = load(
            b"id,name,amount\nR1,Roe,1.00\n" + raw + b"\nR3,Poe,3.00\n", ID, TextColumn("name", "name", "text"), AMOUNT
        )

        assert (report.rows_loaded, report.rejects) == (2, {"RAGGED_ROW": 1})
        assert [("file.csv", 3, f"{fields} fields, the header has 3", raw.decode(), "RAGGED_ROW")] == rejects(
            connection
        )
        assert report.first_reject.startswith("file.csv line 3, ")

    def test_a_cell_below_a_ragged_row_keeps_its_line(self, load, connection):
        report = load(b"id,amount\na,1.00\nb,2,2\nc,x\n", ID, AMOUNT)

        assert report.rejects == {"BAD_AMOUNT": 1, "RAGGED_ROW": 1}
        assert sorted((row[1], row[4]) for row in rejects(connection)) == [(3, "RAGGED_ROW"), (4, "BAD_AMOUNT")]
        assert "line 3" in report.first_reject

    def test_a_row_that_does_not_decode_is_named(self, load, connection):
        report = load(b"id,amount\na,1.00\nB\xfcrger,2.00\n", ID, AMOUNT)

        assert (report.rows_loaded, report.rejects) == (1, {"BAD_ENCODING": 1})
        assert rejects(connection) == [("file.csv", 3, "id", r"B\xfcrger", "BAD_ENCODING")]

    def test_values_are_bounded(self, load, connection):
        load(b"id,amount\na," + b"9" * 5000 + b"\n" + b"x," * 3000 + b"\n", ID, AMOUNT)

        assert [len(row[3]) for row in rejects(connection)] == [80, 80]

    def test_a_second_load_replaces_rows_and_rejects(self, load, connection):
        load(b"id,amount\na,1.00\nb,x\n", ID, AMOUNT)
        load(b"id,amount\nc,3.00\n", ID, AMOUNT)

        assert [("c", Decimal("3.00"))] == rows(connection)
        assert rejects(connection) == []

    def test_an_unclosed_quote_is_an_error_that_names_the_line(self, load, connection):
        with pytest.raises(PortError, match="line 3") as caught:
            load(b'id,amount\na,1.00\n"b,2.00\nc,3.00\n', ID, AMOUNT)

        assert caught.value.code == "RAGGED_ROW"

    def test_a_load_that_fails_leaves_the_table_as_it_was(self, load, connection, tmp_path):
        load(b"id,amount\na,1.00\n", ID, AMOUNT)
        broken = tmp_path / "broken.csv"
        broken.write_bytes(b'id,amount\nb,2.00\n"c,3.00\n')

        with pytest.raises(PortError):
            ingest_text(connection, ingest_of(broken, columns=(ID, AMOUNT)))

        assert [("a", Decimal("1.00"))] == rows(connection)


class TestReport:
    """What a loader says of a load beyond its rows."""

    KEYED = replace(ID, normalise=("trim", "upper"))

    def test_rejected_rows_are_worth_what_can_be_read(self, connection, tmp_path):
        path = tmp_path / "file.csv"
        path.write_text("id,day,amount\na,2026-03-01,1.00\n,x,5.00\nb,x,7.00\nc,x,x\nd,x,2.00\n")
        create(connection, (ID, DAY, AMOUNT))
        request = replace(ingest_of(path, columns=(ID, DAY, AMOUNT)), key=("id",), amount="amount")

        report = ingest_text(connection, request)

        assert report.rejects == {"NULL_KEY": 1, "BAD_DATE": 3}
        assert report.reject_amounts == {"NULL_KEY": Decimal("5.00"), "BAD_DATE": Decimal("9.00")}
        assert connection.execute("select line, reason, amount from staging.t__rejects order by rowid").fetchall() == [
            (3, "NULL_KEY", Decimal("5.00")),
            (4, "BAD_DATE", Decimal("7.00")),
            (5, "BAD_DATE", None),
            (5, "BAD_AMOUNT", None),
            (6, "BAD_DATE", Decimal("2.00")),
        ]

    @pytest.mark.parametrize("last", ["d,1.00\n", "d,x\n"], ids=["fast", "record-by-record"])
    def test_cells_that_rules_changed_are_counted(self, load, connection, last):
        report = load(f"id,amount\n a,1.00\nB,1.00\n  ,1.00\n{last}".encode(), self.KEYED, AMOUNT)

        assert dict(report.normalised) == {"id": 3 if "x" not in last else 2}
        assert [row[0] for row in rows(connection)][:3] == ["A", "B", None]

    @pytest.mark.parametrize(
        ("declared", "text", "code"),
        [
            ({"values": ("INV", "CRN")}, "INV", None),
            ({"values": ("INV", "CRN")}, "inv", "UNKNOWN_VALUE"),
            ({"values": ("INV", "CRN")}, "", "UNKNOWN_VALUE"),
            ({"values": ("INV", "CRN"), "nullable": True}, "", None),
            ({"values": ("O'Hara",)}, "O'Hara", None),
            ({"length": 3}, "€uro"[:3], None),
            ({"length": 3}, "USD ", "UNKNOWN_VALUE"),
            ({"length": 3, "normalise": ("trim",)}, "USD ", None),
            ({"nulls": ("-",), "length": 3}, "-", "UNKNOWN_VALUE"),
            ({"nulls": ("-",), "length": 3, "nullable": True}, " - ", None),
        ],
    )
    def test_text_is_one_of_what_is_declared(self, load, declared, text, code):
        report = load(f"id,amount\n{text},1.00\n".encode(), replace(ID, **declared), AMOUNT)

        assert report.rejects == ({} if code is None else {code: 1})


class TestFiles:
    def test_several_append(self, connection, tmp_path):
        paths = [tmp_path / f"{n}.csv" for n in range(3)]
        for n, path in enumerate(paths):
            path.write_text(f"id,amount\n{n},{n}.50\n")
        create(connection, (ID, AMOUNT))

        report = ingest_text(connection, ingest_of(*paths, columns=(ID, AMOUNT)))

        assert IngestReport(3, {}) == report
        assert [("0", Decimal("0.50")), ("1", Decimal("1.50")), ("2", Decimal("2.50"))] == rows(connection)

    def test_one_bad_file_of_several_is_named(self, connection, tmp_path):
        good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
        good.write_text("id,amount\na,1.00\n")
        bad.write_text("id,amount\nb,x\n")
        create(connection, (ID, AMOUNT))

        report = ingest_text(connection, ingest_of(good, bad, columns=(ID, AMOUNT)))

        assert (report.rows_loaded, report.rejects) == (1, {"BAD_AMOUNT": 1})
        assert report.first_reject == "bad.csv line 2, column 'amount': 'x' (BAD_AMOUNT)"

    def test_each_may_have_its_own_alias_and_order(self, connection, tmp_path):
        paths = [case_file("25", f"q{n}.csv") for n in (1, 2, 3)]
        columns = (
            TextColumn("trans_no", "Trans No", "text", aliases=("Trans No", "trans_no")),
            TextColumn("amount", "Amount", "decimal", aliases=("Amount", "amount")),
            TextColumn("supplier", "Supplier Name ", "text", aliases=("Supplier Name", "supplier_name")),
            TextColumn("type", None, "text", aliases=("Type",)),
        )
        create(connection, columns)

        report = ingest_text(connection, ingest_of(*paths, columns=columns))

        assert IngestReport(6, {}) == report
        total = connection.execute("select sum(amount), count(supplier), count(type) from staging.t").fetchone()
        assert (Decimal("210.00"), 6, 2) == total

    @pytest.mark.parametrize("name", ["part[1].csv", "a*b.csv", "what?.csv", "it's.csv", "söme name.csv"])
    def test_names_are_not_patterns(self, load, tmp_path, name):
        (tmp_path / "part1.csv").write_text("id,amount\nother,9.00\n")

        assert IngestReport(1, {}) == load(b"id,amount\na,1.00\n", ID, AMOUNT, name=name)

    @pytest.mark.parametrize(
        "raw",
        [
            b"id,amount\r\na,1.00\r\nb,2.00\r\n",
            b"id,amount\ra,1.00\rb,2.00\r",
            b"id,amount\na,1.00\nb,2.00",
            b"id,amount\n\na,1.00\n\n\nb,2.00\n\n",
            b"id,amount\r\na,1.00\nb,2.00\r\n",
            b"\xef\xbb\xbfid,amount\na,1.00\nb,2.00\n",
            b'\xef\xbb\xbf"id","amount"\n"a","1.00"\n"b","2.00"\n',
            b"\nid,amount\na,1.00\nb,2.00\n",
        ],
        ids=["crlf", "cr", "no-last-end", "blank-lines", "mixed-ends", "mark", "mark-quoted", "blank-first"],
    )
    def test_line_ends_blank_lines_and_marks_are_not_data(self, load, connection, raw):
        assert IngestReport(2, {}) == load(raw, ID, AMOUNT)
        assert [("a", Decimal("1.00")), ("b", Decimal("2.00"))] == rows(connection)

    @pytest.mark.parametrize("codec", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
    def test_any_declared_encoding_is_followed(self, load, connection, codec):
        report = load("id,amount\nBrüder Öl,1.00\n".encode(codec), ID, AMOUNT, encoding=codec)

        assert IngestReport(1, {}) == report
        assert [("Brüder Öl", Decimal("1.00"))] == rows(connection)

    def test_an_unknown_encoding_is_no_contract(self, load):
        with pytest.raises(PortError) as caught:
            load(b"id,amount\n", ID, AMOUNT, encoding="klingon")

        assert caught.value.code == "BAD_CONTRACT"

    @pytest.mark.parametrize("cut", [1, 4, 12, 60])
    def test_a_truncated_gzip_file_is_an_error(self, load, cut):
        raw = gzip.compress(b"id,amount\n" + b"".join(b"%d,%d.00\n" % (n, n) for n in range(500)))

        with pytest.raises(PortError) as caught:
            load(raw[:-cut], ID, AMOUNT, name="file.csv.gz", compression="gzip")

        assert caught.value.code == "TRUNCATED_STREAM"

    def test_a_file_that_is_no_gzip_is_an_error(self, load):
        with pytest.raises(PortError) as caught:
            load(b"id,amount\na,1.00\n", ID, AMOUNT, name="file.csv.gz", compression="gzip")

        assert caught.value.code == "TRUNCATED_STREAM"


class TestRefusals:
    def test_two_columns_of_one_name(self, load):
        with pytest.raises(PortError, match="2 columns named 'amount'") as caught:
            load(b"id,amount,amount \na,1.00,2.00\n", ID, AMOUNT)

        assert caught.value.code == "VALIDATION_ERROR"

    def test_two_columns_that_stand_for_one(self, load):
        with pytest.raises(PortError, match="all stand for 'amount'") as caught:
            load(b"id,amount,Amount GBP\na,1.00,2.00\n", ID, replace(AMOUNT, aliases=("amount", "Amount GBP")))

        assert caught.value.code == "VALIDATION_ERROR"

    def test_a_column_that_is_not_there(self, load):
        with pytest.raises(PortError, match="has no column 'amount'") as caught:
            load(b"id,price\na,1.00\n", ID, AMOUNT)

        assert caught.value.code == "MISSING_COLUMN"

    def test_a_file_without_a_byte(self, load):
        with pytest.raises(PortError) as caught:
            load(b"", ID, AMOUNT)

        assert caught.value.code == "EMPTY_EXTRACT"

    def test_a_table_that_is_not_there(self, connection):
        with pytest.raises(PortError) as caught:
            ingest_text(connection, ingest_of(case_file("09")))

        assert caught.value.code == "TABLE_GONE"

    def test_a_table_that_would_round(self, connection):
        create(connection, (TextColumn("id", "id", "text"), TextColumn("amount", "amount", "decimal", scale=0)))

        with pytest.raises(PortError, match=r"DECIMAL\(18,2\)") as caught:
            ingest_text(connection, ingest_of(case_file("32"), columns=(ID, AMOUNT)))

        assert caught.value.code == "SCHEMA_DRIFT"


NAMES = ("invoice_id", "line_no", "invoice_date", "amount", "currency")

CASES = [
    ("09", {}, NAMES, 3, "60.00"),
    ("11", {}, NAMES, 0, None),
    ("14", {"compression": "gzip"}, NAMES, 6, "23.10"),
    ("18", {}, NAMES, 2, "30.00"),
    ("19", {"encoding": "latin-1"}, ("invoice_id", "supplier", "amount"), 4, "101.00"),
    ("21", {}, ("invoice_id", "memo", "amount"), 3, "60.00"),
    ("27", {"thousands": ","}, NAMES, 4, "102134.55"),
    ("30", {}, ("account", "amount"), 3, "60.00"),
    ("32", {}, ("invoice_id", "amount"), 20600, "205993.24"),
    ("33", {"date": "%d/%m/%Y"}, ("invoice_id", "invoice_date", "amount"), 3, "60.00"),
]


@pytest.mark.parametrize(("number", "declared", "names", "count", "total"), CASES, ids=[case[0] for case in CASES])
def test_published_faults_load_to_their_exact_figures(connection, number, declared, names, count, total):
    form = FileFormat(declared.get("encoding", "utf-8"), compression=declared.get("compression", "none"))
    kinds = {"amount": "decimal", "line_no": "integer", "invoice_date": "date"}
    columns = tuple(
        TextColumn(
            name, name, kinds.get(name, "text"),
            formats=(declared.get("date", "%Y-%m-%d"),) if name == "invoice_date" else (),
            number=NumberStyle(declared.get("thousands", "") if name == "amount" else ""),
        )
        for name in names
    )  # fmt: skip
    create(connection, columns)
    path = case_file(number, "vendor.csv.gz" if form.compression == "gzip" else "vendor.csv")

    report = ingest_text(connection, ingest_of(path, columns=columns, form=form))

    assert IngestReport(count, {}) == report
    found = connection.execute("select count(*), sum(amount) from staging.t").fetchone()
    assert (count, None if total is None else Decimal(total)) == found


def test_an_unquoted_comma_is_met_on_its_line(connection):
    columns = (TextColumn("invoice_id", "invoice_id", "text"), TextColumn("supplier", "supplier", "text"), AMOUNT)
    create(connection, columns)

    report = ingest_text(connection, ingest_of(case_file("23"), columns=columns))

    assert report.rejects == {"RAGGED_ROW": 1}
    assert (
        report.first_reject == "vendor.csv line 3, 4 fields, the header has 3: 'R2,Doe, Roe and Co,20.00' (RAGGED_ROW)"
    )


def test_spreadsheet_day_numbers_are_no_dates(connection):
    columns = (
        TextColumn("invoice_id", "invoice_id", "text"),
        TextColumn("invoice_date", "invoice_date", "date", formats=("%Y-%m-%d",)),
        AMOUNT,
    )
    create(connection, columns)

    report = ingest_text(connection, ingest_of(case_file("34"), columns=columns))

    assert (report.rows_loaded, report.rejects) == (0, {"BAD_DATE": 3})


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\",;'"), max_size=12)
MONEY = st.decimals(min_value=Decimal("-9999999999999999.99"), max_value=Decimal("9999999999999999.99"), places=2)
DAYS = st.integers(0, 20000).map(lambda n: date(1990, 1, 1) + timedelta(days=n))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXT, DAYS, MONEY), max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_what_csv_writes_is_what_the_table_holds(load, connection, written, end):
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end)
    writer.writerow(["id", "day", "amount"])
    writer.writerows((text, day.isoformat(), f"{amount:f}") for text, day, amount in written)

    report = load(out.getvalue().encode(), ID, DAY, AMOUNT)

    assert IngestReport(len(written), {}) == report
    expected = [(text or None, day, amount) for text, day, amount in written]
    assert sorted(expected, key=repr) == sorted(rows(connection), key=repr)


@pytest.mark.slow
def test_a_file_ten_times_the_memory_cap_loads(tmp_path):
    path, cap = tmp_path / "large.csv", 50_000_000
    block = "".join(
        f"QT-{n:012d}-{n * 7919 % 1000003:024d},2026-03-{1 + n % 31:02d},{n % 1000}.25\n" for n in range(100_000)
    )
    times = 10 * cap // len(block) + 1
    count = 100_000 * times
    with path.open("w") as out:
        out.write("id,day,amount\n")
        for _ in range(times):
            out.write(block)
    with duckdb.connect(tmp_path / "w.duckdb", config={"memory_limit": f"{cap}B", "threads": "2"}) as connection:
        create(connection, (ID, DAY, AMOUNT))

        report = ingest_text(connection, ingest_of(path, columns=(ID, DAY, AMOUNT)))

        assert IngestReport(count, {}) == report
