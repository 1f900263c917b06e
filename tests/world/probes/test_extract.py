"""The independent counter: records and exact sums of a delivered file, without any loader."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.ingest import ingest_text
from dagster_planexec.world.ingest import Counted, FileFormat, TextColumn
from dagster_planexec.world.ports import Ports, Roots
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract, CountExtracts, HeaderOfExtract
from tests.support.loads import amounts, case_file, create, ingest_of
from tests.support.reconciling import WallClock

HERE = Path()
PORTS = Ports(None, None, None, WallClock(), Roots(HERE, HERE, HERE))  # type: ignore[arg-type]


@pytest.fixture
def count(tmp_path):
    """Write bytes, count them."""

    def _count(raw: bytes, *, form: FileFormat | None = None, **how: object) -> dict[str, object]:
        path = tmp_path / "landed"
        path.write_bytes(raw)
        declared = {"counted": amounts()} | how
        return dict(CountExtract(path, form or FileFormat(), **declared).observe(PORTS).facts)  # type: ignore[arg-type]

    return _count


CASES = [
    ("09", FileFormat(), {}, 3, "60.00"),
    ("11", FileFormat(), {}, 0, "0"),
    ("12", FileFormat(), {}, 0, "0"),
    ("14", FileFormat(compression="gzip"), {}, 6, "23.10"),
    ("18", FileFormat(), {}, 2, "30.00"),
    ("19", FileFormat("latin-1"), {}, 4, "101.00"),
    ("21", FileFormat(), {}, 3, "60.00"),
    ("27", FileFormat(), {"thousands": ","}, 4, "102134.55"),
    ("30", FileFormat(), {}, 3, "60.00"),
    ("32", FileFormat(), {}, 20600, "205993.24"),
    ("33", FileFormat(), {}, 3, "60.00"),
]


@pytest.mark.parametrize(("number", "form", "marks", "rows", "total"), CASES, ids=[case[0] for case in CASES])
def test_published_faults_count_to_their_exact_figures(number, form, marks, rows, total):
    """Each case's `expected` was computed by a third reading."""
    path = case_file(number, "vendor.csv.gz" if form.compression == "gzip" else "vendor.csv")

    seen = CountExtract(path, form, amounts(**marks)).observe(PORTS)

    assert (seen["rows"], seen["sum"], seen["unparsable"]) == (rows, Decimal(total), 0)


@pytest.mark.parametrize(
    ("raw", "rows"),
    [
        (b"id,amount\r\na,1\r\nb,2\r\n", 2),
        (b"id,amount\ra,1\rb,2\r", 2),
        (b"id,amount\r\na,1\nb,2\rc,3\r\n", 3),
        (b"id,amount\na,1", 1),
        (b"id,amount\n\na,1\n\n\nb,2\n\n\n", 2),
        (b"\n\nid,amount\na,1\n", 1),
        (b'id,amount\n"a\n\nb",1\n', 1),
        (b'"i\nd",amount\na,1\n', 1),
        (b'id,amount\n"",""\n,\n', 2),
        (b"\xef\xbb\xbfid,amount\na,1\n", 1),
        (b"\xef\xbb\xbf", 0),
        (b"\n\n", 0),
        (b"id,amount", 0),
        (b'id,amount\na"b,1\n', 1),
    ],
    ids=["crlf", "cr", "mixed", "no-end", "blank", "blank-first", "quoted-blank", "quoted-header", "empty-cells",
         "mark", "only-mark", "only-blank", "header-no-end", "stray-quote"],
)  # fmt: skip
def test_a_record_is_not_a_line(count, raw, rows):
    """Lines with nothing on them are no records; line ends inside quotes end none."""
    assert count(raw)["rows"] == rows


def test_amounts_add_up_without_floats(count):
    """2^53 + 1, a cent beside a hundred million, and amounts wider than any machine number."""
    texts = [
        "9007199254740993",
        "0.1",
        "0.2",
        "123456789.01",
        "-0.000000000000000001",
        "99999999999999999999.99",
    ]
    wide = Counted(replace(amounts().amount, precision=38, scale=18))

    seen = count(("id,amount\n" + "".join(f"x,{text}\n" for text in texts)).encode(), counted=wide)

    assert seen["sum"] == Decimal("100009007199378197782.299999999999999999")


def test_what_does_not_fit_the_column_is_no_amount(count):
    """The loader refuses it, so it is in no sum of either."""
    seen = count(b"id,amount\na,12.345\nb,99999999999999999.00\nc,12.500\nd,1.00\n")

    assert (seen["sum"], seen["unparsable"]) == (Decimal(1), 3)


def test_what_is_no_amount_is_counted_apart(count):
    """Empty is not unparsable, and neither is zero."""
    seen = count(b'id,amount\na,1.00\nb,\nc,  \nd,x\ne,1E5\nf,"1,000.00"\ng, 2 \n')

    assert (seen["rows"], seen["sum"], seen["empty"], seen["unparsable"]) == (7, Decimal(3), 2, 3)


@pytest.mark.parametrize("text", ["1,23.00", "1,2345.00", ",123.00", "1,,234.00", "1234,567.00"])
def test_thousands_in_the_wrong_place_are_no_amount(count, text):
    """As strict as the loader, in its own words."""
    assert count(f'id,amount\na,"{text}"\n'.encode(), counted=amounts(thousands=","))["unparsable"] == 1


def test_declared_marks_are_followed(count):
    """A German amount."""
    seen = count(
        b"id;amount\na;1.234,50\nb;-0,50\n",
        form=FileFormat(delimiter=";"),
        counted=amounts(thousands=".", decimal_mark=","),
    )

    assert seen["sum"] == Decimal(1234)


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"id,amount\na,1\nb,2,3\n", "RAGGED_ROW", "line 3 has 3 fields"),
        (b"id,amount\na,1\nb\n", "RAGGED_ROW", "line 3 has 1 fields"),
        (b"id,amount\na,1\nb,2,\n", "RAGGED_ROW", "line 3 has 3 fields"),
        (b'id,amount\n"a\nb",1\nc,2,3\n', "RAGGED_ROW", "line 4 has 3 fields"),
        (b'id,amount\na,1\n"b,2\nc,3\n', "RAGGED_ROW", "starts on line 3"),
        (b'id,amount\na,1\nb,"2\nc,3\n', "RAGGED_ROW", "starts on line 3"),
        (b"id,amount\na,1\n\xff,2\n", "BAD_ENCODING", "bytes ff"),
        (b"id,price\na,1\n", "MISSING_COLUMN", "no column for the amount"),
        (b"amount,amount\n1,1\n", "MISSING_COLUMN", "2 columns for the amount"),
    ],
    ids=["more", "fewer", "extra-empty", "below-quoted-lines", "unclosed-quote", "unclosed-last", "encoding",
         "no-amount", "two-amounts"],
)  # fmt: skip
def test_a_broken_file_is_an_error_and_no_number(count, raw, code, words):
    """The line is named where there is one."""
    with pytest.raises(PortError, match=words) as caught:
        count(raw)

    assert caught.value.code == code


def test_a_small_archive_that_holds_one_huge_line_costs_no_memory(tmp_path):
    """300 MB of one character in 300 kB: refused by its line, with a few times the longest line that is read."""
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as bomb:
        bomb.write(b"id,amount\n")
        for _ in range(300):
            bomb.write(b"0" * 1_000_000)
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from dagster_planexec.errors import PortError\n"
        "from dagster_planexec.world.ingest import FileFormat\n"
        "from dagster_planexec.world.probes.delivery.figures.extract import CountExtract\n"
        "from tests.support.loads import amounts\n"
        "import pyarrow.csv\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    CountExtract(Path(sys.argv[1]), FileFormat(compression='gzip'), amounts()).tally()\n"
        "except PortError as error:\n"
        "    print(error.code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )

    answer = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    code, grown_kb = answer.stdout.split()

    assert code == "RAGGED_ROW"
    assert int(grown_kb) < 150_000


@pytest.mark.parametrize("cut", [1, 8, 40])
def test_a_truncated_archive_is_an_error(count, cut):
    """Also if only the checksum is cut off."""
    raw = gzip.compress(b"id,amount\n" + b"a,1\n" * 5000)

    with pytest.raises(PortError) as caught:
        count(raw[:-cut], form=FileFormat(compression="gzip"))

    assert caught.value.code == "TRUNCATED_STREAM"


def test_a_damaged_archive_is_an_error(count):
    """DuckDB does not compare the checksum; this reader does."""
    raw = bytearray(gzip.compress(b"id,amount\n" + b"a,1\n" * 5000))
    raw[-6] ^= 0xFF

    with pytest.raises(PortError) as caught:
        count(bytes(raw), form=FileFormat(compression="gzip"))

    assert caught.value.code == "TRUNCATED_STREAM"


def test_counting_stops_where_it_is_told_to(count):
    """A floor needs no more rows than the floor."""
    seen = count(b"id,amount\n" + b"a,1\n" * 10, at_most=3, counted=None)

    assert (seen["rows"], seen["whole"]) == (3, False)


def test_several_files_are_one_delivery(tmp_path):
    """Each is shown, the sum is judged."""
    for name, texts in (("one", "1.10 2.20"), ("two", "3.30")):
        (tmp_path / name).write_text("id,amount\n" + "".join(f"x,{text}\n" for text in texts.split()))
    parts = tuple(CountExtract(tmp_path / name, FileFormat(), amounts()) for name in ("one", "two"))

    seen = CountExtracts(parts).observe(PORTS)

    assert (seen["rows"], seen["sum"], seen["each"]) == (3, Decimal("6.60"), (2, 1))


def test_what_is_not_there_is_absent(tmp_path):
    """Absence is an answer."""
    assert CountExtract(tmp_path / "x", FileFormat()).observe(PORTS).state == "absent"
    assert HeaderOfExtract(tmp_path / "x", FileFormat()).observe(PORTS).state == "absent"


@pytest.mark.parametrize(
    ("raw", "header"),
    [
        (b"\xef\xbb\xbfid,Amount \na,1\n", ("id", "Amount ")),
        (b'"a ""b""","c\nd"\n', ('a "b"', "c\nd")),
        (b"\n\nid,amount\n", ("id", "amount")),
        (b"id,amount\n\xff,1\n", ("id", "amount")),
        (b"", ()),
    ],
)
def test_the_header_is_the_first_record(tmp_path, raw, header):
    """As the file has it; what is broken further down is not the header's fault."""
    path = tmp_path / "landed"
    path.write_bytes(raw)

    assert HeaderOfExtract(path, FileFormat()).observe(PORTS)["header"] == header


def test_an_undecodable_header_is_an_error(tmp_path):
    """Nobody can say which column it is."""
    path = tmp_path / "landed"
    path.write_bytes(b"id,\xffmount\n")

    with pytest.raises(PortError) as caught:
        HeaderOfExtract(path, FileFormat()).observe(PORTS)

    assert caught.value.code == "BAD_ENCODING"


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters='\r\n\t",;'), max_size=10)
MONEY = st.decimals(min_value=Decimal("-99999999999999.99"), max_value=Decimal("99999999999999.99"), places=2)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, MONEY), max_size=25),
    end=st.sampled_from(["\n", "\r\n"]),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gzip"]),
)
def test_loader_and_counter_both_find_the_truth(tmp_path, rows, end, codec):
    """Any valid file: records and exact sums by DuckDB, by the counter, and as they were written."""
    out = io.StringIO(newline="")
    # The csv module leaves a lone CR unquoted if lines end in LF, which no reader can tell from a line end.
    lone = any("\r" in cell for a, b, _ in rows for cell in (a, b))
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL if lone else csv.QUOTE_MINIMAL)
    writer.writerow(["id", "note", "amount"])
    writer.writerows((a, b, f"{amount:f}") for a, b, amount in rows)
    form = FileFormat("utf-8" if codec == "gzip" else codec, compression="gzip" if codec == "gzip" else "none")
    raw = out.getvalue().encode(form.encoding)
    path = tmp_path / "landed"
    path.write_bytes(gzip.compress(raw) if codec == "gzip" else raw)
    columns = tuple(TextColumn(n, n, k) for n, k in (("id", "text"), ("note", "text"), ("amount", "decimal")))  # type: ignore[arg-type]
    truth = (len(rows), sum((amount for *_, amount in rows), Decimal(0)))

    counted = CountExtract(path, form, amounts()).observe(PORTS)
    with duckdb.connect() as connection:
        create(connection, columns)
        report = ingest_text(connection, ingest_of(path, columns=columns, form=form))
        loaded = connection.execute("select count(*), coalesce(sum(amount), 0) from staging.t").fetchone()

    assert report.rejects == {}
    assert (counted["rows"], counted["sum"]) == truth
    assert loaded == truth
